// SPDX-License-Identifier: MIT
//
// R2xx: what each engine does wrong with a file. What the file says is what transformers 5 makes of a config.json,
// whose meaning it defines, and the plan or the trained table of a GGUF; an engine is asked what it does at the length
// that the file declares, and the two are compared.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "mrrope/provenance.h"
#include "targets/attempt.h"
#include "targets/findings.h"
#include "targets/hf_effective.h"
#include "targets/hf_encode.h"
#include "targets/llama_cpp.h"

namespace mrrope {

namespace {

using targets::HfEffect;
using targets::kExact;

// Engines that compute the scale from whole numbers miss it by up to 1.3e-4 (targets/hf_deliver.cpp).
constexpr double kScale = 2e-4;

// What the file says.
struct Reference {
  std::vector<EffectiveGroup> groups;
  std::vector<std::vector<double>> plain;  // the same groups without a scaling
  std::int64_t declared = 0;
};

struct Answer {
  Effective effect;       // started for all it offers
  Effective at_declared;  // started for what the file declares
  bool faithful = true;
  std::string source;
};

std::vector<std::vector<double>> plain_groups(const RopeSpec& spec) {
  std::vector<std::vector<double>> out;
  for (const LayerGroup& g : spec.groups) {
    out.push_back(plain_spectrum(g.rotary_dim, g.base, static_cast<double>(spec.context_trained)).inv_freq);
  }
  return out;
}

std::vector<EffectiveGroup> trained_groups(const RopeSpec& spec) {
  std::vector<EffectiveGroup> out;
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    out.push_back({spec.groups[g].name, spectrum_of(spec, g).inv_freq, trained_table(spec, g).attention_scale});
  }
  return out;
}

std::optional<Reference> reference_of(const HfConfig& config) {
  const Result<RopeSpec> spec = config.rope_spec();
  if (!spec) return std::nullopt;
  const targets::HfEngine& judge = *targets::find_hf_engine("transformers5");
  const Result<HfEffect> offered = targets::hf_effect(judge, config, std::nullopt);
  if (!offered) return std::nullopt;
  Reference out{{}, plain_groups(*spec), offered->effective.context};
  const bool by_it = offered->effective.loads && offered->effective.by_table &&
                     offered->effective.groups.size() == spec->groups.size();
  out.groups = by_it ? offered->effective.groups : trained_groups(*spec);
  return out;
}

// `plan`: of a file that was extended, or of its sidecar.
std::optional<Reference> reference_of(const formats::GgufRope& rope, const std::optional<Plan>& plan) {
  const Result<RopeSpec> spec = formats::rope_spec(rope);
  if (!spec) return std::nullopt;
  if (!plan) return Reference{trained_groups(*spec), plain_groups(*spec), rope.context_length};
  return Reference{effective_groups(*plan), plain_groups(*spec), plan->context_target};
}

Result<Answer> ask(const EngineInfo& engine, const ModelFile& model, const std::optional<Reference>& reference) {
  Answer out;
  if (const HfConfig* config = model.hf()) {
    const targets::HfEngine& rules = *targets::find_hf_engine(engine.name);
    const Result<HfEffect> offered = targets::hf_effect(rules, *config, std::nullopt);
    if (!offered) return offered.error();
    const Result<HfEffect> there =
        targets::hf_effect(rules, *config, reference ? std::optional(reference->declared) : std::nullopt);
    if (!there) return there.error();
    return Answer{offered->effective, there->effective, there->faithful,
                  offered->effective.evidence == Evidence::read ? std::string(offered->source) : ""};
  }
  const Result<Effective> effect = effective(engine.name, model);
  if (!effect) return effect.error();
  return Answer{*effect, *effect, true, ""};
}

Verdict judged(const Answer& answer, const std::optional<Reference>& reference) {
  const Effective& there = answer.at_declared;
  if (answer.effect.evidence == Evidence::unchecked) return Verdict::unchecked;
  if (!there.loads) return Verdict::no_load;
  if (!there.by_table) return Verdict::table;
  if (!reference || there.groups.empty()) return Verdict::serves;
  if (there.groups.size() != reference->groups.size()) return Verdict::table;
  bool other = false;
  bool plain = true;  // where it differs
  bool scale = false;
  for (std::size_t g = 0; g < there.groups.size(); ++g) {
    const GroupDifference off = group_difference(there.groups[g], reference->groups[g]);
    scale = scale || off.scale > kScale;
    if (off.table <= kExact) continue;
    other = true;
    plain = plain && table_difference(there.groups[g].inv_freq, reference->plain[g]) <= kExact;
  }
  if (other) return plain ? Verdict::plain : Verdict::table;
  if (!answer.faithful) return Verdict::positions;
  if (scale) return Verdict::scale;
  return answer.effect.context < reference->declared ? Verdict::shorter : Verdict::serves;
}

std::string_view code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::serves: return "";
    case Verdict::unchecked: return "R207";
    case Verdict::shorter: return "R204";
    case Verdict::scale: return "R203";
    case Verdict::positions: return "R205";
    case Verdict::table: return "R202";
    case Verdict::plain: return "R201";
    case Verdict::no_load: return "R200";
  }
  return "";
}

// The sentence that says why: what is wrong is noted last.
std::string reason(const Answer& answer) {
  const std::vector<std::string>& notes = answer.at_declared.notes;
  return notes.empty() ? "" : notes.back();
}

std::string message_of(const EngineInfo& engine, Verdict verdict, const Answer& answer, std::int64_t declared) {
  const std::string why = reason(answer);
  const std::string because = why.empty() ? "" : fmt::format(": {}", why);
  switch (verdict) {
    case Verdict::serves: return "";
    case Verdict::unchecked: return fmt::format("{} was not checked with this kind of model", engine.title);
    case Verdict::shorter:
      return fmt::format("{} serves {} tokens of {}{}", engine.title, answer.effect.context, declared, because);
    case Verdict::scale: {
      const double scale = answer.at_declared.groups.front().attention_scale;
      return why.empty() ? fmt::format("{} scales attention by {:.6g}, not as the file says", engine.title, scale)
                         : why;
    }
    case Verdict::positions:
      return why.empty() ? fmt::format("{} rotates some positions otherwise", engine.title) : why;
    case Verdict::table: return fmt::format("{} rotates by another table than the file says{}", engine.title, because);
    case Verdict::plain: return fmt::format("{} runs the model plain at {} tokens{}", engine.title, declared, because);
    case Verdict::no_load: return why.empty() ? fmt::format("{} does not load the file", engine.title) : why;
  }
  return "";
}

// What to do: a file for this engine is another command's business, which knows whether there is one.
std::string advice_of(Verdict verdict, std::int64_t declared, const std::vector<std::string_view>& serving) {
  const std::string others = serving.empty() ? "" : fmt::format("served by {}", base::join(serving));
  switch (verdict) {
    case Verdict::shorter: return fmt::format("start it for {} tokens", declared);
    case Verdict::unchecked: return "compare it with transformers on a long text first";
    case Verdict::scale: return "mrrope extend with this engine as target writes the scale as it reads it";
    default: return others.empty() ? "see mrrope extend with this engine as target" : others;
  }
}

// One engine is asked about: what it does wrong counts in full. Of all engines, as long as some serve the file, one
// that runs and is wrong is worth a warning, one that says so itself a note.
Severity severity_of(std::string_view code, Verdict verdict, bool asked, bool somebody_serves) {
  const Severity full = targets::finding_info(code).severity;
  if (asked || !somebody_serves) return full;
  return verdict == Verdict::no_load || verdict == Verdict::shorter ? Severity::note
                                                                    : std::min(full, Severity::warning);
}

bool has_error(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
}

bool reads(const EngineInfo& engine, const ModelFile& model) {
  return model.gguf() != nullptr ? engine.reads_gguf : engine.reads_hf;
}

bool never_rotates(const ModelFile& model) {
  if (const HfConfig* config = model.hf()) return targets::never_rotates(*config);
  const Result<formats::GgufRope> rope = formats::read_gguf_rope(*model.gguf());
  return rope && targets::does_not_rotate(*rope);
}

std::optional<Reference> reference_for(const ModelFile& model) {
  if (const HfConfig* config = model.hf()) return reference_of(*config);
  const Result<formats::GgufRope> rope = formats::read_gguf_rope(*model.gguf());
  return rope ? reference_of(*rope, stored_plan(model)) : std::nullopt;
}

}  // namespace

const char* to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::serves: return "serves it";
    case Verdict::unchecked: return "not checked";
    case Verdict::shorter: return "shorter";
    case Verdict::scale: return "wrong scale";
    case Verdict::positions: return "partly wrong";
    case Verdict::table: return "wrong table";
    case Verdict::plain: return "plain";
    case Verdict::no_load: return "does not load";
  }
  return "";
}

Result<Examination> examine(const ModelFile& model, std::string_view engine) {
  targets::Reporter file;
  const EngineInfo* only = nullptr;
  if (!engine.empty()) {
    const Result<const EngineInfo*> named = engine_named(engine);
    if (!named) return named.error();
    only = *named;
    if (!reads(*only, model)) {
      const char* wanted = only->reads_gguf ? "GGUF files" : "Hugging Face folders";
      return Error{ErrorCode::unsupported, fmt::format("{} reads {}", only->title, wanted), model.path};
    }
    file.target = only->name;
  }
  Examination out;
  out.rotates = !never_rotates(model);
  if (const GgufModel* gguf = model.gguf()) targets::diagnose_gguf(*gguf, file);
  if (const HfConfig* config = model.hf(); config != nullptr && out.rotates) targets::diagnose_hf(*config, file);
  out.findings = std::move(file.findings);
  if (!out.rotates && model.hf() != nullptr) return out;

  if (const HfConfig* config = model.hf()) {
    if (const auto carrier = targets::scale_carrier(*config)) out.remarks.push_back(*carrier);
  }
  const std::optional<Reference> reference = reference_for(model);
  std::vector<Result<Answer>> answers;
  std::vector<std::string_view> serving;
  for (const EngineInfo& info : engine_catalogue()) {
    if (!reads(info, model)) continue;
    Result<Answer> answer = ask(info, model, reference);
    const Verdict verdict = answer ? judged(*answer, reference) : Verdict::no_load;
    if (verdict == Verdict::serves) serving.push_back(info.title);
    if (only != nullptr && only != &info) continue;
    out.engines.push_back(
        {&info, verdict, answer ? Result<Effective>(answer->effect) : answer.error(), answer ? answer->source : ""});
    answers.push_back(std::move(answer));
  }
  // What a GGUF does wrong is said of llama.cpp, which all its engines are inside
  if (model.gguf() != nullptr && has_error(out.findings)) return out;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const EngineVerdict& row = out.engines[i];
    if (row.verdict == Verdict::serves || !answers[i]) continue;  // a config that nobody can read is R100
    const std::string_view code = code_of(row.verdict);
    const std::int64_t declared = reference ? reference->declared : answers[i]->effect.context;
    out.findings.push_back({std::string(code), severity_of(code, row.verdict, only != nullptr, !serving.empty()),
                            message_of(*row.engine, row.verdict, *answers[i], declared),
                            advice_of(row.verdict, declared, serving), std::string(row.engine->name)});
  }
  return out;
}

}  // namespace mrrope
