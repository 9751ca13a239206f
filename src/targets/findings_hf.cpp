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
#include "targets/findings.h"

namespace mrrope::targets {

namespace {

using base::Json;

// Null if there is none, or `of` is no object.
Json member(const Json& of, const char* key) { return of.is_object() && of.contains(key) ? of.at(key) : Json(nullptr); }

std::optional<double> number(const Json& of, const char* key) {
  const Json value = member(of, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// The language model's part of the config, and the dictionary that describes the scaling in either dialect.
class Config {
 public:
  explicit Config(const HfConfig& config)
      : root_(object(config.value(config.text_path()), config.text())),
        scaling_(member(root_, "rope_scaling")),
        parameters_(member(root_, "rope_parameters")),
        model_type(config.model_type()) {}

  [[nodiscard]] const Json& root() const { return root_; }
  [[nodiscard]] const Json& scaling() const { return scaling_; }        // rope_scaling, an object or null
  [[nodiscard]] const Json& parameters() const { return parameters_; }  // rope_parameters, an object or null
  // The one that describes the scaling: rope_scaling wins, as in transformers 5.
  [[nodiscard]] const Json& rope() const { return scaling_.is_object() ? scaling_ : parameters_; }

  [[nodiscard]] std::string type() const {
    for (const char* key : {"rope_type", "type"}) {
      const Json value = member(rope(), key);
      if (value.is_string()) return value.get<std::string>() == "su" ? "longrope" : value.get<std::string>();
    }
    return "default";
  }
  [[nodiscard]] std::optional<double> trained() const { return number(root_, "max_position_embeddings"); }
  [[nodiscard]] std::optional<double> original() const {
    const auto nested = number(rope(), "original_max_position_embeddings");
    return nested ? nested : number(root_, "original_max_position_embeddings");
  }

 private:
  static Json object(const std::string& nested, const std::string& whole) {
    const Result<Json> json = base::parse_json(nested.empty() ? whole : nested);
    return json && json->is_object() ? *json : Json::object();
  }

  Json root_, scaling_, parameters_;

 public:
  std::string model_type;
};

void two_names(const Config& c, Reporter& out) {
  const Json type = member(c.rope(), "type");
  const Json rope_type = member(c.rope(), "rope_type");
  if (!type.is_string() || !rope_type.is_string()) return;
  if (type != rope_type) {
    out.report("R102",
               fmt::format("type is {} and rope_type is {}: engines choose differently", type.dump(), rope_type.dump()),
               "keep rope_type");
  } else {
    out.report("R101", "both type and rope_type are given; exllamav2 stops on it", "keep rope_type");
  }
}

void only_new_dialect(const Config& c, Reporter& out) {
  if (!c.parameters().is_object() || c.scaling().is_object() || c.type() == "default") return;
  out.report("R103", "the scaling stands in rope_parameters only: transformers 4 and mlx-lm run the model unscaled",
             "write rope_scaling and rope_theta too");
}

void lost_theta_for_old_readers(const Config& c, Reporter& out) {
  if (!c.parameters().is_object() || !number(c.parameters(), "rope_theta") || number(c.root(), "rope_theta")) return;
  if (*number(c.parameters(), "rope_theta") == 10000) return;
  out.report("R104", "rope_theta stands in rope_parameters only: transformers 4 and mlx-lm take 10000",
             "write rope_theta at the top level too");
}

// unsloth#7028: overwriting the dictionary drops the base. Gemma 3 is released without one: its class knows.
void lost_theta(const Config& c, Reporter& out) {
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

void dialects_disagree(const Config& c, Reporter& out) {
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

void yarn_lengths(const Config& c, Reporter& out) {
  if (c.type() != "yarn") return;
  const auto factor = number(c.rope(), "factor");
  const auto trained = c.trained();
  const auto original = c.original();
  if (!original) {
    out.report("R107",
               "yarn without original_max_position_embeddings: max_position_embeddings is taken as the trained length",
               "write original_max_position_embeddings");
  } else if (factor && trained && *factor > 1 && *trained <= *original) {
    out.report(
        "R108",
        fmt::format("max_position_embeddings {:.0f} is not raised: vLLM and others serve no more, whatever the factor",
                    *trained),
        fmt::format("set it to {:.0f}", *original * *factor));
  } else if (factor && trained && std::fabs(*trained / *original - *factor) > 0.01 * *factor) {
    out.report(
        "R109",
        fmt::format("factor is {:g}, max_position_embeddings / original is {:g}: exllamav3 and lmdeploy use the second",
                    *factor, *trained / *original),
        "make them agree");
  }
}

void lone_mscale(const Config& c, Reporter& out) {
  if (c.type() != "yarn") return;
  const double a = number(c.rope(), "mscale").value_or(0);
  const double b = number(c.rope(), "mscale_all_dim").value_or(0);
  if ((a != 0) == (b != 0)) return;
  out.report("R110", "mscale and mscale_all_dim act only together in transformers; one alone is ignored",
             "give both, or attention_factor");
}

void yarn_scale_overridden(const Config& c, Reporter& out) {
  if (c.type() != "yarn" || !number(c.rope(), "attention_factor")) return;
  out.report("R111", "attention_factor of yarn is ignored by mlx-lm, TensorRT-LLM, SGLang and TGI",
             "use a longrope table: mrrope extend writes one");
}

void untruncated(const Config& c, Reporter& out) {
  const Json truncate = member(c.rope(), "truncate");
  if (c.type() != "yarn" || !truncate.is_boolean() || truncate.get<bool>()) return;
  out.report("R112", "truncate: false is ignored by llama.cpp and mlx-lm: they round the band's edges",
             "bake the table: mrrope extend --method yarn:truncate=false");
}

void linear_multiplied_again(const Config& c, Reporter& out) {
  if (c.type() != "linear" || !number(c.rope(), "factor") || *number(c.rope(), "factor") <= 1) return;
  if (c.model_type == "gemma3" || c.model_type == "gemma3_text") return;  // the one model where it does not
  out.report("R113", "vLLM multiplies max_position_embeddings by the factor of linear once more",
             "give vLLM --max-model-len");
}

void dynamic(const Config& c, Reporter& out) {
  if (c.type() != "dynamic") return;
  out.report("R114", "dynamic changes nothing in vLLM, and in transformers cached keys keep an older rotation",
             "use a static method: mrrope plan");
}

void longrope(const Config& c, Reporter& out) {
  if (c.type() != "longrope") return;
  const Json& rope = c.rope();
  const bool top = number(c.root(), "original_max_position_embeddings").has_value();
  const bool same = member(rope, "short_factor") == member(rope, "long_factor");
  const bool phi = c.model_type.starts_with("phi");
  if (!top && !same) {
    out.report("R115",
               "original_max_position_embeddings is nested only: transformers 4 never reads it there and stays with "
               "the short list",
               "write it at the top level too");
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
               "give vLLM --max-model-len");
  }
  if (phi && !member(rope, "type").is_string()) {
    out.report("R119", "Phi-3 in transformers 4 wants the key type, not rope_type", "write type");
  }
}

// Mixtral and Mistral keep head_dim None, and three of the formulas then fail.
void missing_head_dim(const Config& c, Reporter& out) {
  constexpr std::array<std::string_view, 3> scaled = {"yarn", "longrope", "dynamic"};
  if (std::find(scaled.begin(), scaled.end(), c.type()) == scaled.end()) return;
  if ((c.model_type != "mistral" && c.model_type != "mixtral") || number(c.root(), "head_dim")) return;
  out.report("R120", fmt::format("no head_dim: transformers 4 fails on {} with {}", c.model_type, c.type()),
             "write head_dim");
}

void unknown_type(const Config& c, Reporter& out) {
  constexpr std::array<std::string_view, 9> known = {"default", "linear",       "dynamic", "yarn", "longrope",
                                                     "llama3",  "proportional", "mrope",   "su"};
  if (!c.rope().is_object() || std::find(known.begin(), known.end(), c.type()) != known.end()) return;
  out.report("R121", fmt::format("no engine knows the rope type \"{}\" by that name", base::printable(c.type())),
             "one of linear, dynamic, yarn, longrope, llama3");
}

void no_type(const Config& c, Reporter& out) {
  if (!c.scaling().is_object() || c.scaling().empty() || !member(c.scaling(), "type").is_null() ||
      !member(c.scaling(), "rope_type").is_null()) {
    return;
  }
  out.report("R122", "rope_scaling without rope_type: engines treat it as plain", "write rope_type");
}

void shrinking(const Config& c, Reporter& out) {
  const auto factor = number(c.rope(), "factor");
  if (!factor || *factor >= 1) return;
  out.report("R123", fmt::format("factor {:g} is below 1: it may be the reciprocal", *factor),
             "factors are at least 1");
}

}  // namespace

void diagnose_hf(const HfConfig& config, Reporter& out) {
  if (const Result<RopeSpec> spec = config.rope_spec(); !spec) {
    out.report("R100", to_string(spec.error()), "transformers would fail on it, or run unscaled");
  }
  const Config c(config);
  for (const auto rule : {two_names, only_new_dialect, lost_theta_for_old_readers, lost_theta, dialects_disagree,
                          yarn_lengths, lone_mscale, yarn_scale_overridden, untruncated, linear_multiplied_again,
                          dynamic, longrope, missing_head_dim, unknown_type, no_type, shrinking}) {
    rule(c, out);
  }
}

}  // namespace mrrope::targets
