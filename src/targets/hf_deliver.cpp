// SPDX-License-Identifier: MIT
//
// Several spellings are tried, the simplest first: another base, a native type, the table. Each is judged by predicting
// what the engine makes of the edited file; the first one that gives the plan's table is delivered, and if none does,
// the refusal names the nearest.
#include "targets/hf_deliver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "formats/hf_classes.h"
#include "formats/hf_scope.h"
#include "mrrope/catalogue.h"
#include "targets/attempt.h"
#include "targets/deviation.h"
#include "targets/hf_effective.h"
#include "targets/hf_encode.h"

namespace mrrope::targets {

namespace {

using base::Json;

// L* is a whole number: the formula of M and L* misses a by up to 1.3e-4 for a = 1.35 (engines.md).
constexpr double kFormula = 2e-4;

struct Judgement {
  bool served = false;
  bool checked = true;
  double residual = 1;
  double scale_residual = 1;
  std::string why;  // for people, where it is not served
  std::vector<std::string> notes;
};

Judgement judge(const HfEngine& engine, const Plan& plan, const HfConfig& edited) {
  Judgement out;
  const Result<HfEffect> effect = hf_effect(engine, edited, plan.context_target);
  if (!effect) {
    out.why = to_string(effect.error());
    return out;
  }
  const Effective& e = effect->effective;
  out.notes = e.notes;
  out.checked = e.evidence != Evidence::unchecked;
  if (e.groups.size() != plan.groups.size()) {
    out.why = "the file has other groups of layers";
    return out;
  }
  const Deviation off = deviation(e, plan);
  out.residual = off.table;
  out.scale_residual = off.scale;
  out.served = e.loads && effect->faithful && out.residual <= kExact && out.scale_residual <= kFormula;
  if (out.served) return out;
  if ((!e.loads || !effect->faithful) && !e.notes.empty()) {
    out.why = e.notes.back();
    if (!e.loads) out.residual = 1;
  } else if (out.residual > kExact) {
    out.why =
        e.notes.empty() ? fmt::format("speeds would differ by up to {:.2g} %", 100 * out.residual) : e.notes.back();
  } else {
    out.why = fmt::format("the attention scale would be off by {:.2g} %", 100 * out.scale_residual);
  }
  return out;
}

struct Candidate {
  std::string what;  // for people
  HfConfig config;
  Judgement judgement;
};

Json yarn_type(double factor, std::int64_t original, const BandEdges& band, double scale) {
  // The ends are stated though most engines know them: vLLM's gpt-oss fails without
  Json rope{{"rope_type", "yarn"},
            {"factor", factor},
            {"original_max_position_embeddings", original},
            {"beta_fast", band.beta_fast},
            {"beta_slow", band.beta_slow}};
  if (!band.truncate) rope["truncate"] = false;
  rope["attention_factor"] = scale;
  return rope;
}

// Native types. On a model that was released with YaRN: more of the same.
std::vector<std::pair<std::string, Json>> native_types(const HfEngine& engine, const Plan& plan) {
  std::vector<std::pair<std::string, Json>> types;
  const GroupPlan& group = plan.groups.front();
  const double last = group.pair_factors.back();
  const std::int64_t original = plan.spec.context_trained;
  if (last > 1 && last < kNoRotation) {
    types.emplace_back(fmt::format("linear, factor {:.6g}", last), Json{{"rope_type", "linear"}, {"factor", last}});
  }
  const double own = table_factor(plan);
  if (!(own > 1)) return types;
  const auto add_yarn = [&](double factor, std::int64_t from, BandEdges band) {
    const std::string what = fmt::format("yarn, factor {:.6g} from {}", factor, from);
    types.emplace_back(what, yarn_type(factor, from, band, group.attention_scale));
    if (engine.yarn.sections_times == 1) return;
    // The ramp depends on L / beta alone
    band.beta_fast *= engine.yarn.sections_times;
    band.beta_slow *= engine.yarn.sections_times;
    types.emplace_back(what, yarn_type(factor, from, band, group.attention_scale));
  };
  if (const std::optional<TrainedScaling>& trained = plan.spec.groups.front().trained) {
    const auto* yarn = std::get_if<Yarn>(&trained->method.law);
    if (yarn != nullptr) add_yarn(trained->factor * own, trained->context_original, yarn->band);
    return types;
  }
  if (const auto* llama3 = std::get_if<Llama3>(&plan.method.law)) {
    types.emplace_back("llama3", Json{{"rope_type", "llama3"},
                                      {"factor", own},
                                      {"low_freq_factor", llama3->low_freq_factor},
                                      {"high_freq_factor", llama3->high_freq_factor},
                                      {"original_max_position_embeddings", original}});
  }
  const auto* yarn = std::get_if<Yarn>(&plan.method.law);
  add_yarn(own, original, yarn != nullptr ? yarn->band : BandEdges{});
  return types;
}

// The base that gives the last pair its factor; the others follow or they do not.
std::optional<double> other_base(const Plan& plan) {
  const GroupPlan& group = plan.groups.front();
  const auto n = static_cast<double>(group.pair_factors.size());
  const double last = group.pair_factors.back();
  if (plan.spec.groups.front().trained || n < 2 || !(last > 1) || last >= kNoRotation) return std::nullopt;
  return plan.spec.groups.front().base * std::pow(last, n / (n - 1));
}

// The engines a file must serve: transformers, where it knows the model and takes a table for it.
std::vector<const HfEngine*> judges(const HfEngine* engine, const HfConfig& config) {
  if (engine != nullptr) return {engine};
  const HfEngine* old = find_hf_engine("transformers4");
  const HfException* row = exception_for(*old, config.model_type(), kLongRope);
  if (row != nullptr && row->outcome == Outcome::refused) return {find_hf_engine("transformers5")};
  return {find_hf_engine("transformers5"), old};
}

void add(std::vector<Candidate>& out, const HfEngine* engine, const Plan& plan, std::string what,
         Result<HfConfig> config) {
  if (!config) return;
  Judgement worst{.served = true, .checked = true, .residual = 0, .scale_residual = 0, .why = {}, .notes = {}};
  for (const HfEngine* one : judges(engine, *config)) {
    const Judgement judgement = judge(*one, plan, *config);
    worst.residual = std::max(worst.residual, judgement.residual);
    worst.scale_residual = std::max(worst.scale_residual, judgement.scale_residual);
    if (worst.served && !judgement.served) worst.why = judgement.why;
    worst.served = worst.served && judgement.served;
    worst.checked = worst.checked && judgement.checked;
    if (worst.notes.empty()) worst.notes = judgement.notes;
  }
  out.push_back({std::move(what), *std::move(config), std::move(worst)});
}

// Best first; the table last, because it is the longest to read and the only one that always fits.
std::vector<Candidate> candidates(const HfEngine* engine, const Plan& plan, const HfConfig& config) {
  std::vector<Candidate> out;
  if (std::holds_alternative<None>(plan.method.law)) add(out, engine, plan, "the length", with_length(config, plan));
  if (const auto base = other_base(plan)) {
    add(out, engine, plan, fmt::format("another base ({:.6g})", *base), with_base(config, plan, *base));
  }
  const bool served = !out.empty() && out.back().judgement.served;
  if (engine != nullptr && !served) {
    for (auto& [what, rope] : native_types(*engine, plan)) {
      // An engine that multiplies the length by the factor would offer too much
      if ((engine->length.multiplied & kLinear) != 0 && rope["rope_type"] == "linear") continue;
      add(out, engine, plan, what, with_type(config, plan, rope));
    }
  }
  add(out, engine, plan, "the table", with_table(config, plan, table_form(engine, config, plan)));
  return out;
}

// Changes count from what is given, not from what that was edited from.
Result<HfConfig> fresh_config(const Plan& plan, const HfConfig& given) {
  Result<HfConfig> config = HfConfig::parse(given.text());
  if (!config) return config;
  const Result<RopeSpec> spec = config->rope_spec();
  if (!spec) return spec.error();
  if (spec->groups.size() != plan.spec.groups.size() ||
      spec->groups.front().rotary_dim != plan.spec.groups.front().rotary_dim) {
    return Error{ErrorCode::inconsistent, "the plan was made for another model", "plan"};
  }
  return config;
}

// What vLLM would be told on its command line to run `edited`, if that says it all. vLLM puts the overrides into the
// config that transformers 5 has read, where rope_parameters holds everything: rope_scaling and the bases beside it
// have no effect any more.
std::optional<std::string> overrides_for(const Plan& plan, const HfConfig& config, const HfConfig& edited) {
  const std::string path = config.text_path();
  HfConfig overridden = config;
  for (const char* key : {"max_position_embeddings", "rope_parameters"}) {
    const std::string field = formats::join_path(path, key);
    const std::string value = edited.value(field);
    if (value.empty() || !overridden.set(field, value)) return std::nullopt;
  }
  const std::string scaling = formats::join_path(path, "rope_scaling");
  if (!overridden.value(scaling).empty() && !overridden.remove(scaling)) return std::nullopt;
  if (!judge(*find_hf_engine("vllm"), plan, overridden).served) return std::nullopt;
  return overrides_of(edited);
}

// The class of transformers that loads the whole model; empty: neither of the two does.
std::string_view auto_class(const HfConfig& config) {
  constexpr std::string_view pictures = "AutoModelForImageTextToText";
  const std::string path = config.text_path();
  if (path.empty()) {
    // Older files of such models keep the fields of the text part at the top
    const formats::HfClass* cls = formats::find_hf_class(config.model_type());
    return cls != nullptr && cls->model_type != config.model_type() ? pictures : "AutoModelForCausalLM";
  }
  const bool sound_only = !config.value("audio_config").empty() && config.value("vision_config").empty();
  return path == "text_config" && !sound_only ? pictures : "";
}

void add_commands(const HfEngine* engine, const Plan& plan, const HfConfig& config, const HfConfig& edited,
                  Delivery& out) {
  const std::string context = std::to_string(plan.context_target);
  const auto needed = [&](const HfEngine& one) {
    const Result<HfEffect> effect = hf_effect(one, edited, plan.context_target);
    return effect ? effect->flags : std::string_view();
  };
  const auto flags = [&](const HfEngine& one) {
    const std::string_view words = needed(one);
    return words.empty() ? std::string() : fmt::format(" {}", words);
  };
  if (engine != nullptr) out.flags = needed(*engine);
  const auto command = [&](const HfEngine& one) {
    const std::string_view loader = auto_class(config);
    if (one.command.empty() || (loader.empty() && one.command.find("{class}") != std::string_view::npos)) return;
    std::string line = base::replaced(std::string(one.command), "{class}", loader);
    line = base::replaced(std::move(line), "{model}", "{}");
    out.commands.push_back(base::replaced(std::move(line), "{context}", context) + flags(one));
  };
  if (engine != nullptr) command(*engine);
  else command(*find_hf_engine("transformers5"));
  const HfEngine& vllm = *find_hf_engine("vllm");
  if (engine == nullptr) {
    const Judgement judgement = judge(vllm, plan, edited);
    if (judgement.served && judgement.checked) command(vllm);
  }
  if (engine == &vllm) {
    // The same without touching the file
    if (const Result<std::string> overrides = vllm_overrides(plan, config)) {
      out.commands.push_back(fmt::format("vllm serve {{}} --max-model-len {} --hf-overrides {}{}", context,
                                         base::shell_quoted(*overrides), flags(vllm)));
    }
  }
}

// Whom the file serves, and what serves the others.
std::vector<Service> services_of(const Plan& plan, const HfConfig& original, const HfConfig& edited) {
  std::vector<Service> out;
  for (const HfEngine& engine : hf_engines()) {
    const Judgement judgement = judge(engine, plan, edited);
    Service service{.engine = engine.info.name,
                    .title = engine.info.title,
                    .served = judgement.served,
                    .checked = judgement.checked};
    if (!judgement.served) {
      service.own_file = static_cast<bool>(hf_deliver(&engine, plan, original));
      std::string_view why = judgement.why;
      if (why.starts_with(engine.info.title)) why.remove_prefix(std::min(why.size(), engine.info.title.size() + 1));
      service.why = why;
    }
    out.push_back(std::move(service));
  }
  return out;
}

Error refused(const HfEngine* engine, const Plan& plan, const HfConfig& config, std::span<const Candidate> tried) {
  const std::string_view title = engine != nullptr ? engine->info.title : "transformers";
  std::vector<Attempt> attempts;
  for (const Candidate& c : tried) attempts.push_back({c.what, c.judgement.residual, c.judgement.scale_residual});
  const std::string why = tried.empty() ? "the config cannot be written" : tried.back().judgement.why;
  Error error = refusal(title, plan, config.model_type(), why, std::move(attempts), kFormula);
  if (engine != nullptr && !engine->remark.empty()) error.message += fmt::format(". {}", engine->remark);
  return error;
}

}  // namespace

Result<Delivery> hf_deliver(const HfEngine* engine, const Plan& plan, const HfConfig& given) {
  const Result<HfConfig> fresh = fresh_config(plan, given);
  if (!fresh) return fresh.error();
  const HfConfig& config = *fresh;
  const std::vector<Candidate> tried = candidates(engine, plan, config);
  const auto chosen = std::find_if(tried.begin(), tried.end(), [](const Candidate& c) { return c.judgement.served; });
  if (chosen == tried.end()) return refused(engine, plan, config, tried);

  Delivery out;
  out.hf = chosen->config.changes();
  out.residual = chosen->judgement.residual;
  out.scale_residual = chosen->judgement.scale_residual;
  if (engine != nullptr) {
    out.notes = chosen->judgement.notes;
    if (!chosen->judgement.checked) {
      out.notes.push_back(fmt::format("{} was not checked with {}: this is what it does with other models.",
                                      engine->info.title, config.model_type()));
    }
    if (!engine->remark.empty()) out.notes.emplace_back(engine->remark);
  }
  if (out.scale_residual > kExact) {
    out.notes.push_back(fmt::format(
        "The attention scale comes out of a formula of whole numbers, {:.1e} from the plan's.", out.scale_residual));
  }
  if (chosen->what == "the table") {
    if (const auto said = scale_carrier(chosen->config)) out.notes.push_back(*said);
  }
  if (engine == nullptr) {
    out.services = services_of(plan, config, chosen->config);
    if (chosen->what == "the table") {
      out.notes.emplace_back(
          "llama.cpp's convert_hf_to_gguf drops such a table on all models but Phi-3: extend the GGUF instead.");
    }
  }
  add_commands(engine, plan, config, chosen->config, out);
  return out;
}

Result<std::string> vllm_overrides(const Plan& plan, const HfConfig& given) {
  const Result<HfConfig> config = fresh_config(plan, given);
  if (!config) return config.error();
  // Overrides never reach the config of a draft that comes with the model, which then fails beyond the trained length
  // (vllm-project/vllm#58080). A folder reaches both.
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}) {
    const std::string field = formats::join_path(config->text_path(), key);
    const std::string layers = config->value(field);
    if (layers.empty() || layers == "0" || layers == "null") continue;
    return Error{ErrorCode::unsupported,
                 "vLLM does not give overrides to the draft layers of this model; extend a second folder instead",
                 field};
  }
  const HfEngine* vllm = find_hf_engine("vllm");
  const std::vector<Candidate> tried = candidates(vllm, plan, *config);
  for (const Candidate& candidate : tried) {
    if (!candidate.judgement.served) continue;
    if (auto overrides = overrides_for(plan, *config, candidate.config)) return *std::move(overrides);
  }
  return refused(vllm, plan, *config, tried);
}

}  // namespace mrrope::targets
