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
#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/records.h"
#include "mrrope/statistics.h"
#include "report/published.h"
#include "report/tune_file.h"

namespace mrrope::report {

// An answer without its text. 56 bytes; there may be a million.
struct Score {
  std::uint64_t sample =
      0;  // hash of the prompt's hash: two of a million are mistaken for each other once in 10^7 runs
  std::int64_t length = 0;
  double score = 0;
  double nll = 0;          // of the right answer, nats per token; NaN: not known
  float depth = -1;        // of the (first) needle, 0 … 1; negative: none
  float asked_depth = -1;  // negative: none was asked for
  std::uint16_t task = 0;  // in Runs::tasks
  std::uint16_t plan = 0;  // in Runs::scored_plans
  bool cut = false;        // the budget of tokens ended it
  bool empty = false;      // nothing visible in it
};

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

struct Runs {
  std::vector<RunSource> sources;
  std::vector<TuneFile> tunes;  // of folders that mrrope tune wrote
  std::vector<AttentionFile> attention;
  std::vector<PublishedFile> published;
  std::vector<Plan> plans;                   // of plan files
  std::vector<eval::Record> passes;          // readings of ppl runs, whole
  std::vector<eval::Record> gaps;            // readings of gap runs, whole
  std::vector<Score> scores;                 // of all tasks with answers
  std::vector<std::string> tasks;            // in the order of the records
  std::vector<eval::PlanName> scored_plans;  // the same
  std::vector<std::string> rotations;  // rotation_hash() by scored plan; "" if its answers do not say, or disagree
  std::size_t records = 0;
  std::vector<std::string> torn;

  [[nodiscard]] std::int64_t context_trained() const;  // 0: no run says it
};

// Into the last of `sources`. Error: more tasks or plans than 16 bits count.
Result<void> add_record(Runs& runs, eval::Record record);

Result<Runs> read_runs(std::span<const std::string> paths);

// Plans of records, in their order.
std::vector<eval::PlanName> plans_of(std::span<const eval::Record> records);
// All plans of a page in one order, so that each keeps its colour: those of passes, of gaps, of scores.
std::vector<eval::PlanName> plans_of(const Runs& runs);

// As score_table(), for what is left of the answers.
std::vector<eval::ScoreRow> score_rows(const Runs& runs);
// As compare_scores() and compare_nll() over all tasks.
eval::ScoreComparison compare_plans(const Runs& runs, const eval::PlanName& a, const eval::PlanName& b,
                                    std::int64_t length);
eval::NllComparison compare_plans_nll(const Runs& runs, const eval::PlanName& a, const eval::PlanName& b,
                                      std::int64_t length);

}  // namespace mrrope::report
