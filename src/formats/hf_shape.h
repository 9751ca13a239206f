// SPDX-License-Identifier: MIT
//
// The language model inside a config: where its fields stand, its class, its sizes and the kinds of its layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hf_classes.h"
#include "formats/hf_scope.h"
#include "mrrope/hf_config.h"

namespace mrrope::formats {

struct HfModel {
  const base::Json* object = nullptr;  // the language model
  Scope fields;                        // of it
  std::string path;
  std::string model_type;
  HfClass cls{};  // of an unknown model_type: no defaults, and every spelling is read

  [[nodiscard]] bool known() const noexcept { return !cls.model_type.empty(); }
  // Where a default comes from, for people: "default of llama".
  [[nodiscard]] std::string by_default() const;
};

// Throws base::Rejected, as all readers here.
HfModel find_model(const base::Json& root);

struct HfShape {
  HfFacts facts;
  std::int64_t context = 0;  // M
  std::vector<std::string>
      kinds;  // per layer: "full_attention", "sliding_attention", …; empty: unknown number of layers
};

HfShape read_shape(const HfModel& model);

// The size of the heads of a layer of some kind.
int head_dim(const HfModel& model, std::string_view kind, int layer, std::vector<HfFact>* sources = nullptr);

// Layers with a rotary embedding; empty: all of them.
std::vector<int> rotating_layers(const HfModel& model, const HfShape& shape);

// A layer that sees a bounded distance only.
bool is_local(std::string_view kind) noexcept;

}  // namespace mrrope::formats
