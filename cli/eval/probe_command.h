// SPDX-License-Identifier: MIT
//
// What was typed after `mrrope probe`, and what it asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/eval/endpoint.h"
#include "cli/eval/eval.h"
#include "mrrope/fingerprint.h"
#include "mrrope/result.h"

namespace mrrope::cli {

// Tokens of the longest prompt for the table.
inline constexpr std::int64_t kTableTokens = 1024;  // if nobody says
inline constexpr std::int64_t kLeastTableTokens = 64;
inline constexpr std::int64_t kMostTableTokens = 2048;

struct ProbeCommand {
  EvalOptions eval;  // of which -m, --trained, --json and how to run the model
  std::string url;
  std::string served_model;
  bool chat = false;
  std::string only;
  std::vector<std::string> plans;
  std::string expect;
  std::string length;
  std::string max_tokens;
  std::string table_tokens;
  std::string fail_on = "error";
  std::uint64_t seed = 1;
  double deadline = 600;
  std::string key_variable = kKeyVariable;
};

struct Parts {
  bool length = false, table = false, health = false;
};

struct Wanted {
  Parts parts;
  std::int64_t length = 0;  // --length
  std::int64_t max_tokens = 0;
  std::int64_t table_tokens = kTableTokens;
};

// Errors: a flag that cannot be, or that another one contradicts.
Result<Wanted> wanted_of(const ProbeCommand& command);

// Tables that the server may run, besides those of the published methods.
struct Candidates {
  RopeSpec spec;
  std::int64_t reach = 0;                 // tokens that the trained table is good for; of windows alone, all there are
  std::string path;                       // of the weights
  std::vector<probe::Suspect> also = {};  // what the file and the user name
  std::optional<probe::Suspect> expected = {};
  std::string expected_by = {};
};

// Errors: of the files; a plan of another model.
Result<Candidates> candidates_of_files(const ProbeCommand& command);

}  // namespace mrrope::cli
