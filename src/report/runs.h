// SPDX-License-Identifier: MIT
//
// Everything a page is made from: run folders and plan files, read once and brought to what pictures need.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "mrrope/answers.h"
#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/records.h"
#include "mrrope/statistics.h"
#include "report/published.h"
#include "report/tune_file.h"
#include "runs/readings.h"

namespace mrrope::report {

struct RunSource {
  std::string path;
  eval::RunInfo info;
  std::size_t records = 0;
};

// What `mrrope analyze --attention --json` wrote.
struct AttentionFile {
  struct Curve {
    eval::PlanName plan;
    std::vector<double> mean, lower, upper;  // as many as distances
  };
  std::string text;         // the name of the text
  int first = 0, last = 0;  // pairs
  std::int64_t samples = 0;
  std::vector<double> distances;  // ascending, from 1 on
  std::vector<Curve> curves;
};
// Errors: a field that is missing or not what it should be.
Result<AttentionFile> read_attention(const base::Json& json);

struct Text {
  std::string name, hash;
};
inline constexpr std::size_t kMostTexts = 1000;  // that a page names

struct Runs {
  std::vector<RunSource> sources;
  std::vector<TuneFile> tunes;  // of folders that mrrope tune wrote
  std::vector<AttentionFile> attention;
  std::vector<PublishedFile> published;
  std::vector<Plan> plans;  // of plan files
  eval::Readings passes;    // of ppl runs
  eval::Readings gaps;      // of gap runs
  std::vector<Text> texts;  // that were read, in the order of the records: the first kMostTexts
  std::size_t all_texts = 0;
  std::string label;                   // of items, that published values are told apart by; empty: none
  eval::Answers answers;               // of all tasks with answers, by `label`
  std::vector<std::string> rotations;  // rotation_hash() by scored plan; "" if its answers do not say, or disagree
  std::size_t records = 0;
  std::vector<std::string> torn;

  [[nodiscard]] std::int64_t context_trained() const;  // 0: no run says it
};

Result<Runs> read_runs(std::span<const std::string> paths);

// All plans of a page in one order, so that each keeps its colour: those of passes, of gaps, of scores.
std::vector<eval::PlanName> plans_of(const Runs& runs);

}  // namespace mrrope::report
