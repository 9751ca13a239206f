// SPDX-License-Identifier: MIT
//
// What is wrong with a model file, in findings with stable codes, and what each engine makes of it, in a word.
//
//   for (const Finding& f : diagnose(*model)) …     // "R004 error: rope.scaling.factor 4 acts on top of …"
//   Result<Examination> all = examine(*model);      // the same and every engine's verdict
//   Result<Examination> one = examine(*model, "vLLM");
//
// Every rule of the file (R0xx, R1xx) is a mistake that people made in public (docs/findings.md names one thread each),
// checked on what the file says and on what engines do with it, never on a name. A healthy file has none of these.
// R2xx says what one engine does wrong with a file that others may well serve.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/model_file.h"
#include "mrrope/targets.h"

namespace mrrope {

enum class Severity { note, warning, error };
const char* to_string(Severity severity) noexcept;

struct Finding {
  std::string code;  // "R004"
  Severity severity = Severity::warning;
  std::string message;      // what is there, and what an engine makes of it
  std::string advice;       // what to do
  std::string engine = {};  // the engine that does it, as in the catalogue; empty: the file itself

  bool operator==(const Finding&) const = default;
};

struct FindingInfo {
  std::string_view code;
  Severity severity;  // of R2xx: where examine() is asked about that engine
  std::string_view title;
  std::string_view explanation;  // what it means, why it hurts, what to do: paragraphs
};
// All rules in order of their codes: R0xx for GGUF, R1xx for config.json, R2xx for what an engine does with either.
const std::vector<FindingInfo>& finding_catalogue();

// The file's own findings: R0xx, R1xx and R206.
std::vector<Finding> diagnose(const ModelFile& model);

// What an engine makes of a file, the mildest first.
enum class Verdict {
  serves,     // rotates as the file says, to the length it declares
  unchecked,  // nobody has looked at this engine with this kind of model
  shorter,    // serves fewer tokens than the file declares, unless told
  scale,      // the table is right, the attention scale is not
  positions,  // some positions are rotated otherwise
  table,      // rotates by something else than the file says
  plain,      // rotates as if no scaling were there
  no_load,    // refuses the file
};
const char* to_string(Verdict verdict) noexcept;  // "serves it", "plain", "wrong table", …

struct EngineVerdict {
  const EngineInfo* engine = nullptr;
  Verdict verdict = Verdict::serves;
  Result<Effective> effect;  // started for all it offers
  std::string source = {};   // where in its code that stands; empty: it was run, or is the documentation's word
};

struct Examination {
  std::vector<Finding> findings;       // of the file, then of the engines
  std::vector<EngineVerdict> engines;  // that read this format, or the one that was asked about
  bool rotates = true;                 // false: no layer does, so that no table limits its length
  std::vector<std::string> remarks;    // what looks odd in the file and is meant, in sentences
};

// `engine`: one only, by its name or title in any case. What it does wrong has the severity of the catalogue then, and
// what the file does wrong for others only is left out. Without a name, what an engine does wrong is at most a warning
// (it runs, and wrongly) or a note (it says so itself, or nobody looked) as long as some engine serves the file.
// Errors: an engine that nobody knows, or one that reads another format.
Result<Examination> examine(const ModelFile& model, std::string_view engine = {});

}  // namespace mrrope
