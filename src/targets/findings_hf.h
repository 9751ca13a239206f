// SPDX-License-Identifier: MIT
//
// The fields of a config.json as the rules of findings_hf*.cpp look at them.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "targets/findings.h"

namespace mrrope::targets {

// Null if there is none, or `of` is no object.
inline base::Json member(const base::Json& of, const char* key) {
  return of.is_object() && of.contains(key) ? of.at(key) : base::Json(nullptr);
}

inline std::optional<double> number(const base::Json& of, const char* key) {
  const base::Json value = member(of, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// The language model's part of the config, and the dictionary that describes the scaling in either dialect.
class HfFields {
 public:
  explicit HfFields(const HfConfig& config)
      : file(config),
        root_(object(config.value(config.text_path()), config.text())),
        scaling_(member(root_, "rope_scaling")),
        parameters_(member(root_, "rope_parameters")),
        model_type(config.model_type()) {}

  [[nodiscard]] const base::Json& root() const { return root_; }
  [[nodiscard]] const base::Json& scaling() const { return scaling_; }        // rope_scaling, an object or null
  [[nodiscard]] const base::Json& parameters() const { return parameters_; }  // rope_parameters, an object or null
  // The one that describes the scaling: rope_scaling wins, as in transformers 5.
  [[nodiscard]] const base::Json& rope() const { return scaling_.is_object() ? scaling_ : parameters_; }

  [[nodiscard]] std::string type() const {
    for (const char* key : {"rope_type", "type"}) {
      const base::Json value = member(rope(), key);
      if (value.is_string()) return value.get<std::string>() == "su" ? "longrope" : value.get<std::string>();
    }
    return "default";
  }
  [[nodiscard]] std::optional<double> trained() const { return number(root_, "max_position_embeddings"); }
  [[nodiscard]] std::optional<double> original() const {
    const auto nested = number(rope(), "original_max_position_embeddings");
    return nested ? nested : number(root_, "original_max_position_embeddings");
  }

  // The file with another value of a field of the scaling, in whichever dialects have it; empty: without the field.
  [[nodiscard]] HfConfig with(std::string_view field, const std::string& json) const {
    HfConfig out = file;
    const std::string prefix = file.text_path().empty() ? "" : file.text_path() + ".";
    for (const char* dialect : {"rope_scaling", "rope_parameters"}) {
      const std::string path = fmt::format("{}{}.{}", prefix, dialect, field);
      if (out.value(path).empty()) continue;
      const Result<void> done = json.empty() ? out.remove(path) : out.set(path, json);
      if (!done) return file;
    }
    return out;
  }

  const HfConfig& file;

 private:
  static base::Json object(const std::string& nested, const std::string& whole) {
    const Result<base::Json> json = base::parse_json(nested.empty() ? whole : nested);
    return json && json->is_object() ? *json : base::Json::object();
  }

  base::Json root_, scaling_, parameters_;

 public:
  std::string model_type;
};

// R107 to R112.
void diagnose_yarn(const HfFields& c, Reporter& out);

}  // namespace mrrope::targets
