// SPDX-License-Identifier: MIT
#include "mrrope/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/unicode.h"
#include "targets/deviation.h"
#include "targets/hf_deliver.h"
#include "targets/hf_effective.h"
#include "targets/llama_cpp.h"

namespace mrrope {

const char* to_string(Evidence evidence) noexcept {
  switch (evidence) {
    case Evidence::run: return "run";
    case Evidence::read: return "read";
    case Evidence::unchecked: return "not checked";
  }
  return "";
}

const std::vector<EngineInfo>& engine_catalogue() {
  static const std::vector<EngineInfo> engines = [] {
    std::vector<EngineInfo> all = {
        {.name = "llama.cpp",
         .title = "llama.cpp",
         .versions = "0.5.0",
         .evidence = Evidence::run,
         .verified = "2026-11-15",
         .reads_gguf = true},
        {.name = "ollama",
         .title = "Ollama",
         .versions = "0.30 and later",
         .evidence = Evidence::read,
         .reads_gguf = true,
         .source = "llm/server.go:106, llm/llama_server.go:367, server/routes.go:2047 (fb30760996, 2026-08-21)"},
        {.name = "lm-studio",
         .title = "LM Studio",
         .versions = "with llama.cpp 0.5",
         .evidence = Evidence::read,
         .reads_gguf = true},
    };
    for (const targets::HfEngine& engine : targets::hf_engines()) all.push_back(engine.info);
    return all;
  }();
  return engines;
}

Result<const EngineInfo*> engine_named(std::string_view name) {
  const std::string asked = base::lower_case(name);
  std::vector<std::string_view> names;
  for (const EngineInfo& info : engine_catalogue()) {
    if (info.name == asked || base::lower_case(info.title) == asked) return &info;
    names.push_back(info.name);
  }
  const std::string_view guess = base::nearest(asked, names);
  const std::string rest =
      guess.empty() ? fmt::format(" (known: {})", base::join(names)) : fmt::format("; did you mean {}?", guess);
  return Error{ErrorCode::invalid_argument, fmt::format("unknown engine \"{}\"{}", name, rest), ""};
}

namespace {

Result<void> check_format(const EngineInfo& info, const ModelFile& model) {
  if (model.gguf() != nullptr ? info.reads_gguf : info.reads_hf) return {};
  const char* wanted = info.reads_gguf ? "GGUF files" : "Hugging Face folders";
  return Error{ErrorCode::unsupported, fmt::format("{} reads {}", info.title, wanted), model.path};
}

// GGUF engines are llama.cpp inside; what differs is how they are started.
void note_front_end(std::string_view engine, const ModelFile& model, Effective& out) {
  if (engine == "ollama") {
    out.notes.emplace_back(
        "num_ctx decides the length, up to context_length; without it the memory of the GPU does: 4096 tokens below 23 "
        "GiB, 32768 below 47, else 262144");
  }
  if (engine == "lm-studio")
    out.notes.emplace_back("the length can be set up to context_length of the file, not beyond");
  if (!model.sidecar) return;
  if (engine != "llama.cpp") out.notes.emplace_back("has no flags for keys, so it runs the model without the sidecar");
  else if (model.sidecar->script.empty())
    out.notes.emplace_back("the sidecar is not complete, its script is missing; write it anew");
  else
    out.notes.push_back("this is with the flags of " + model.sidecar->script +
                        "; without them it runs the model as it was");
}

// Keys and factors as the engine gets them. Flags for a sidecar are llama.cpp's own.
Result<formats::GgufRope> served_rope(std::string_view engine, const ModelFile& model) {
  Result<formats::GgufRope> rope = formats::read_gguf_rope(*model.gguf());
  if (!rope || !model.sidecar || engine != "llama.cpp") return rope;
  return formats::read_gguf_rope(*model.gguf(), *rope, model.sidecar->edits);
}

}  // namespace

namespace {

struct Worst {
  double difference = 0;
  std::size_t pair = 0;
};

// What no number can be compared with is as different as can be: a NaN would pass every test for "too large".
double or_one(double difference) { return std::isnan(difference) ? 1 : difference; }

Worst worst_pair(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return {.difference = 1};
  Worst worst;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double here = or_one(std::fabs(a[i] - b[i]) / std::max(std::fabs(a[i]), std::fabs(b[i])));
    if (here > worst.difference) worst = {.difference = here, .pair = i};
  }
  return worst;
}

double scale_difference(double a, double b) { return a == b ? 0 : or_one(std::fabs(a / b - 1)); }

}  // namespace

double table_difference(const std::vector<double>& a, const std::vector<double>& b) {
  return worst_pair(a, b).difference;
}

GroupDifference group_difference(const EffectiveGroup& a, const EffectiveGroup& b) {
  const Worst worst = worst_pair(a.inv_freq, b.inv_freq);
  return {.table = worst.difference,
          .pair = static_cast<int>(worst.pair),
          .scale = scale_difference(a.attention_scale, b.attention_scale)};
}

std::vector<EffectiveGroup> effective_groups(const Plan& plan) {
  std::vector<EffectiveGroup> groups;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    groups.push_back({plan.spec.groups[g].name, plan.groups[g].inv_freq, plan.groups[g].attention_scale});
  }
  return groups;
}

targets::Deviation targets::deviation(const Effective& effect, const Plan& plan) {
  Deviation out;
  for (std::size_t g = 0; g < std::min(effect.groups.size(), plan.groups.size()); ++g) {
    const EffectiveGroup& found = effect.groups[g];
    const GroupPlan& wanted = plan.groups[g];
    out.table = std::max(out.table, table_difference(found.inv_freq, wanted.inv_freq));
    out.scale = std::max(out.scale, scale_difference(found.attention_scale, wanted.attention_scale));
  }
  return out;
}

Result<Effective> effective(std::string_view engine, const ModelFile& model, std::optional<std::int64_t> context) {
  const Result<const EngineInfo*> info = engine_named(engine);
  if (!info) return info.error();
  if (const auto ok = check_format(**info, model); !ok) return ok.error();
  if (const HfConfig* config = model.hf()) {
    const Result<targets::HfEffect> found =
        targets::hf_effect(*targets::find_hf_engine((*info)->name), *config, context);
    if (!found) return found.error();
    return found->effective;
  }
  const Result<formats::GgufRope> rope = served_rope(engine, model);
  if (!rope) return rope.error();
  // A base of 0, an odd number of coordinates: no table follows from it
  if (const Result<RopeSpec> spec = formats::rope_spec(*rope); !spec && rope->rotary_dim > 0) return spec.error();
  Effective out = targets::llama_cpp_effective(*rope, context.value_or(rope->context_length));
  if ((*info)->evidence == Evidence::run) out.evidence = targets::evidence_for(rope->architecture);
  note_front_end((*info)->name, model, out);
  return out;
}

Result<Delivery> deliver(std::string_view engine, const Plan& plan, const ModelFile& model,
                         const DeliverOptions& options) {
  if (base::lower_case(engine) == kUniversal && model.hf() != nullptr)
    return targets::hf_deliver(nullptr, plan, *model.hf());
  const Result<const EngineInfo*> info = engine_named(engine);
  if (!info) return info.error();
  if (const auto ok = check_format(**info, model); !ok) return ok.error();
  if (model.hf() != nullptr) return targets::hf_deliver(targets::find_hf_engine((*info)->name), plan, *model.hf());
  const Result<formats::GgufRope> rope = formats::read_gguf_rope(*model.gguf());
  if (!rope) return rope.error();
  return targets::llama_cpp_deliver(plan, *model.gguf(), *rope, options);
}

Result<std::string> hf_overrides(const Plan& plan, const HfConfig& config) {
  return targets::vllm_overrides(plan, config);
}

}  // namespace mrrope
