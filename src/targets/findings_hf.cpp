// SPDX-License-Identifier: MIT
//
// R1xx: mistakes in config.json. Sources: engines run and read for docs/engines.md; threads in docs/findings.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "formats/hf_classes.h"
#include "targets/findings_hf.h"
#include "targets/hf_rules.h"

namespace mrrope::targets {

namespace {

using base::Json;

void two_names(const HfFields& c, Reporter& out) {
  const Json type = member(c.rope(), "type");
  const Json rope_type = member(c.rope(), "rope_type");
  if (!type.is_string() || !rope_type.is_string()) return;
  if (type != rope_type) {
    out.report("R102",
               fmt::format("type is {} and rope_type is {}: engines choose differently", type.dump(), rope_type.dump()),
               "keep rope_type");
  } else {
    out.report("R101", "both type and rope_type are given; ExLlamaV2 stops on it", "keep rope_type", {"exllamav2"});
  }
}

// Those that look into rope_scaling only.
std::vector<std::string_view> old_readers() {
  std::vector<std::string_view> out;
  for (const HfEngine& engine : hf_engines()) {
    if (engine.reader == Reader::transformers4 || engine.reader == Reader::scaling) out.push_back(engine.info.name);
  }
  return out;
}

void only_new_dialect(const HfFields& c, Reporter& out) {
  if (!c.parameters().is_object() || c.scaling().is_object() || c.type() == "default") return;
  out.report("R103", "the scaling stands in rope_parameters only: transformers 4 and mlx-lm run the model unscaled",
             "write rope_scaling and rope_theta too", old_readers());
}

void lost_theta_for_old_readers(const HfFields& c, Reporter& out) {
  if (!c.parameters().is_object() || !number(c.parameters(), "rope_theta") || number(c.root(), "rope_theta")) return;
  if (*number(c.parameters(), "rope_theta") == 10000) return;
  out.report("R104", "rope_theta stands in rope_parameters only: transformers 4 and mlx-lm take 10000",
             "write rope_theta at the top level too", old_readers());
}

// unsloth#7028: overwriting the dictionary drops the base. Gemma 3 is released without one: its class knows.
void lost_theta(const HfFields& c, Reporter& out) {
  if (!c.rope().is_object() || number(c.root(), "rope_theta") || number(c.parameters(), "rope_theta") ||
      number(c.scaling(), "rope_theta")) {
    return;
  }
  const formats::HfClass* known = formats::find_hf_class(c.model_type);
  if (known != nullptr && known->base != 10000) return;
  const Json nested = c.parameters();
  if (nested.is_object() && std::any_of(nested.begin(), nested.end(), [](const Json& v) { return v.is_object(); }))
    return;
  out.report("R105", "a scaling without rope_theta: the base falls back to the class default (10000 for most)",
             "write rope_theta");
}

void dialects_disagree(const HfFields& c, Reporter& out) {
  if (!c.scaling().is_object() || !c.parameters().is_object()) return;
  for (const char* key :
       {"factor", "rope_type", "original_max_position_embeddings", "attention_factor", "long_factor"}) {
    const Json a = member(c.scaling(), key);
    const Json b = member(c.parameters(), key);
    if (!a.is_null() && !b.is_null() && a != b) {
      out.report("R106", fmt::format("rope_scaling and rope_parameters differ in {}", key), "make them equal");
      return;
    }
  }
}

void linear_multiplied_again(const HfFields& c, Reporter& out) {
  if (c.type() != "linear" || !number(c.rope(), "factor") || *number(c.rope(), "factor") <= 1) return;
  if (c.model_type == "gemma3" || c.model_type == "gemma3_text") return;  // the one model where it does not
  out.report("R113", "vLLM multiplies max_position_embeddings by the factor of linear once more",
             "give vLLM --max-model-len", {"vllm"});
}

void dynamic(const HfFields& c, Reporter& out) {
  if (c.type() != "dynamic") return;
  out.report("R114", "dynamic changes nothing in vLLM, and in transformers cached keys keep an older rotation",
             "use a static method: mrrope plan");
}

void longrope(const HfFields& c, Reporter& out) {
  if (c.type() != "longrope") return;
  const Json& rope = c.rope();
  const bool top = number(c.root(), "original_max_position_embeddings").has_value();
  const bool same = member(rope, "short_factor") == member(rope, "long_factor");
  const bool phi = c.model_type.starts_with("phi");
  if (!top && !same) {
    out.report("R115",
               "original_max_position_embeddings is nested only: transformers 4 never reads it there and stays with "
               "the short list",
               "write it at the top level too", {"transformers4"});
  }
  if (!same && !phi) {
    out.report("R116",
               "short and long factors differ: keys cached before the switch keep the other rotation, and engines "
               "choose between the lists in seven different ways",
               "make the lists equal");
  }
  const bool scale = number(rope, "attention_factor").has_value();
  if (scale && !(number(rope, "short_mscale") && number(rope, "long_mscale"))) {
    out.report(
        "R117",
        "attention_factor of longrope is read by transformers only; vLLM and SGLang want short_mscale and long_mscale",
        "write all three");
  }
  if (!phi && top && c.trained() && c.original() && *c.trained() > *c.original()) {
    out.report("R118",
               "with original_max_position_embeddings at the top level vLLM serves no more than that by default",
               "give vLLM --max-model-len", {"vllm"});
  }
  if (phi && !member(rope, "type").is_string()) {
    out.report("R119", "Phi-3 in transformers 4 wants the key type, not rope_type", "write type",
               {"transformers4", "openvino"});
  }
}

// Mixtral and Mistral keep head_dim None, and three of the formulas then fail.
void missing_head_dim(const HfFields& c, Reporter& out) {
  constexpr std::array<std::string_view, 3> scaled = {"yarn", "longrope", "dynamic"};
  if (std::find(scaled.begin(), scaled.end(), c.type()) == scaled.end()) return;
  if ((c.model_type != "mistral" && c.model_type != "mixtral") || number(c.root(), "head_dim")) return;
  out.report("R120", fmt::format("no head_dim: transformers 4 fails on {} with {}", c.model_type, c.type()),
             "write head_dim", {"transformers4", "openvino"});
}

void unknown_type(const HfFields& c, Reporter& out) {
  constexpr std::array<std::string_view, 9> known = {"default", "linear",       "dynamic", "yarn", "longrope",
                                                     "llama3",  "proportional", "mrope",   "su"};
  if (!c.rope().is_object() || std::find(known.begin(), known.end(), c.type()) != known.end()) return;
  out.report("R121", fmt::format("no engine knows the rope type \"{}\" by that name", base::printable(c.type())),
             "one of linear, dynamic, yarn, longrope, llama3");
}

void no_type(const HfFields& c, Reporter& out) {
  if (!c.scaling().is_object() || c.scaling().empty() || !member(c.scaling(), "type").is_null() ||
      !member(c.scaling(), "rope_type").is_null()) {
    return;
  }
  out.report("R122", "rope_scaling without rope_type: engines treat it as plain", "write rope_type");
}

void shrinking(const HfFields& c, Reporter& out) {
  const auto factor = number(c.rope(), "factor");
  if (!factor || *factor >= 1) return;
  out.report("R123", fmt::format("factor {:g} is below 1: it may be the reciprocal", *factor),
             "factors are at least 1");
}

// R206: a scaling on a model whose rotating layers all look back a window only.
void behind_a_window(const HfFields& c, Reporter& out) {
  const Result<RopeSpec> spec = c.file.rope_spec();
  const Result<HfFacts> facts = c.file.facts();
  if (!spec || !facts || facts->sliding_window == 0 || !spec->groups.front().trained) return;
  if (facts->sliding_window >= spec->context_trained) return;
  const bool all_look_back = facts->layers > 0 && facts->sliding_layers == facts->layers;
  if (!facts->only_windows_rotate && !all_look_back) return;
  out.report("R206",
             fmt::format("every layer that rotates looks back {} tokens only: the scaling lets it see no further",
                         facts->sliding_window),
             "leave the table alone and try the longer text");
}

}  // namespace

// Their classes in transformers have no rotary embedding: state spaces, learned or relative positions, none at all.
bool never_rotates(const HfConfig& config) {
  constexpr std::string_view models =
      "bloom falcon_mamba gpt2 gpt_bigcode gpt_neo jamba mamba mamba2 mpt nemotron_h opt rwkv t5 xlstm";
  return names_model(models, config.model_type());
}

void diagnose_hf(const HfConfig& config, Reporter& out) {
  if (never_rotates(config)) return;
  if (const Result<RopeSpec> spec = config.rope_spec(); !spec) {
    out.report("R100", to_string(spec.error()), "transformers would fail on it, or run unscaled");
  }
  const HfFields c(config);
  for (const auto rule : {two_names, only_new_dialect, lost_theta_for_old_readers, lost_theta, dialects_disagree,
                          diagnose_yarn, linear_multiplied_again, dynamic, longrope, missing_head_dim, unknown_type,
                          no_type, shrinking, behind_a_window}) {
    rule(c, out);
  }
}

}  // namespace mrrope::targets
