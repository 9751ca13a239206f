// SPDX-License-Identifier: MIT
//
// Engines: what each really does with a file, and how a plan is delivered to it.
//
//   Result<ModelFile> model = read_model("model.gguf");
//   Result<Effective> now = effective("llama.cpp", *model);      // table, magnitude, usable length, what is ignored
//   Result<Delivery> how = deliver("llama.cpp", plan, *model);   // the edits, or a reasoned refusal
//   Result<Delivery> all = deliver(kUniversal, plan, *config);   // for config.json: one file for most engines
//
// Engines silently ignore half of what files say. Every statement here is data with a source: verified by running the
// engine, or read in its code, for the versions named (engine_catalogue). Nothing is written or run by these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/model_file.h"
#include "mrrope/plan.h"
#include "mrrope/result.h"

namespace mrrope {

enum class Evidence {
  run,        // the engine was run and its table compared
  read,       // its source was read
  unchecked,  // neither, for this kind of model: what the engine does with others is taken for granted
};
const char* to_string(Evidence evidence) noexcept;  // "run", "read", "not checked"

struct EngineInfo {
  std::string_view name;      // "llama.cpp", "vllm": as typed
  std::string_view title;     // for people
  std::string_view versions;  // for which the statements were verified
  Evidence evidence = Evidence::read;
  std::string_view verified = {};  // the day of the last comparison, "2026-11-15"; empty for what was only read
  std::string_view models = {};    // the model types it was made with, between blanks; of others the source was read
  bool reads_gguf = false;
  bool reads_hf = false;
  std::string_view source = {};  // where its behaviour stands in its code
};
const std::vector<EngineInfo>& engine_catalogue();

// By its name or title in any case ("vLLM", "lm studio"); every function below takes names as this one does. The error
// names the engine that was probably meant, or all.
Result<const EngineInfo*> engine_named(std::string_view name);

// ---- File -> what the engine does ----------------------------------------------------------------------------------

struct EffectiveGroup {
  std::string name;              // as in the spec
  std::vector<double> inv_freq;  // radians per token
  double attention_scale = 1;
};

struct Effective {
  bool loads = true;                   // false: the engine refuses the file; `notes` say why
  bool by_table = true;                // false: it loads, and computes something else than `groups`; `notes` say what
  std::vector<EffectiveGroup> groups;  // as in the spec
  std::int64_t context = 0;            // the longest text it serves without further flags
  Evidence evidence = Evidence::read;  // for this engine and this kind of model
  std::vector<std::string> notes;      // what it ignores, caps or gets wrong, in sentences
};

// `context`: the length the engine is started with, where its choice depends on it; default: all it offers.
Result<Effective> effective(std::string_view engine, const ModelFile& model,
                            std::optional<std::int64_t> context = std::nullopt);

// ---- Plan -> file --------------------------------------------------------------------------------------------------

struct DeliverOptions {
  bool relabel = false;  // allow another architecture name whose graph is the same (docs/gguf.md)
};

// What one config.json does for one engine.
struct Service {
  std::string_view engine;  // as in the catalogue
  std::string_view title;
  bool served = false;    // the plan's table and scale come out
  bool checked = true;    // false: nobody has looked at this engine with this kind of model
  bool own_file = false;  // not by this file, but by one that deliver() makes for this engine
  std::string why = {};   // for people, where it is not served
};

struct Delivery {
  GgufEdits gguf;                     // for GGUF files
  std::vector<HfChange> hf;           // for config.json
  double residual = 0;                // largest relative difference of an angular speed to the plan's
  double scale_residual = 0;          // of the attention scale
  std::vector<Service> services;      // of kUniversal: every engine that reads config.json
  std::vector<std::string> notes;     // what the user should know: K-shift, limits, …
  std::vector<std::string> commands;  // for a shell, with the file's name as {}
  std::string_view flags = {};        // without which that engine does not start; `commands` have them
};

// A target of deliver() for config.json: a file for as many engines as possible. Delivery::services names them.
inline constexpr std::string_view kUniversal = "universal";

// Refusals (ErrorCode::unsupported) say why and name the nearest thing that would work with its residual.
Result<Delivery> deliver(std::string_view engine, const Plan& plan, const ModelFile& model,
                         const DeliverOptions& options = {});

// The JSON of vLLM's --hf-overrides: the plan without a change of the file. Errors: as deliver("vllm", …).
Result<std::string> hf_overrides(const Plan& plan, const HfConfig& config);

// ---- Differences ---------------------------------------------------------------------------------------------------

// The largest relative difference between the angular speeds of two groups; 0 if equal. Pairs that stand still in both
// are equal; a pair that stands still in one only is a difference of 1, and so is one that is no number (NaN).
double table_difference(const std::vector<double>& a, const std::vector<double>& b);

struct GroupDifference {
  double table = 0;  // table_difference(); 1 for another number of pairs
  int pair = 0;      // where it is
  double scale = 0;  // relative difference of the attention scales; 1 where one is no number

  bool operator==(const GroupDifference&) const = default;
};
GroupDifference group_difference(const EffectiveGroup& a, const EffectiveGroup& b);

// A plan as an engine that obeys it.
std::vector<EffectiveGroup> effective_groups(const Plan& plan);

}  // namespace mrrope
