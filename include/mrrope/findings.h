// SPDX-License-Identifier: MIT
//
// What is wrong with a model file, in findings with stable codes.
//
//   for (const Finding& f : diagnose(*model)) …   // "R004 error: rope.scaling.factor 4 acts on top of …"
//
// Every rule is a mistake that people made in public (docs/findings.md names one thread each), checked on what the file
// says and on what engines do with it, never on a name. A healthy file has no findings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mrrope/model_file.h"

namespace mrrope {

enum class Severity { note, warning, error };
const char* to_string(Severity severity) noexcept;

struct Finding {
  std::string code;  // "R004"
  Severity severity = Severity::warning;
  std::string message;  // what is there, and what an engine makes of it
  std::string advice;   // what to do

  bool operator==(const Finding&) const = default;
};

struct FindingInfo {
  std::string_view code;
  Severity severity;
  std::string_view title;
};
// All rules in order of their codes: R0xx for GGUF, R1xx for config.json.
const std::vector<FindingInfo>& finding_catalogue();

std::vector<Finding> diagnose(const ModelFile& model);

}  // namespace mrrope
