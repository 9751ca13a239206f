// SPDX-License-Identifier: MIT
//
// RopeSpec: what a model says about its rotary embedding, whatever file it came from.
//
//   Result<RopeSpec> llama2 = parse_spec("dim=128,base=10000,ctx=4096");
//   Spectrum s = spectrum_of(*llama2, 0);
//
// Most models have one group of layers. Models with sliding-window layers (Gemma 3) have two: only the group that looks
// far is extended. A model that ships a scaling of its own (Llama 3.1: llama3, factor 8, from 8192) was trained with
// that table; it is part of the spec, and extensions compose with it (docs/theory.md [T36]).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/methods.h"
#include "mrrope/result.h"

namespace mrrope {

// The scaling a checkpoint was released with.
struct TrainedScaling {
  Method method;
  double factor = 1;                  // S of that scaling
  std::int64_t context_original = 0;  // the length it started from, tokens

  bool operator==(const TrainedScaling&) const = default;
};

// Layers that share one rotary table.
struct LayerGroup {
  std::string name = "all";
  std::vector<int> layers = {};  // layer indices; empty: all layers that no other group names
  int rotary_dim = 0;            // rotated coordinates per head (may be less than the head's size), even
  double base = 10000;
  std::optional<TrainedScaling> trained = std::nullopt;
  bool extended = true;  // false: these layers see a bounded distance and keep their table (sliding windows)

  bool operator==(const LayerGroup&) const = default;
};

struct RopeSpec {
  std::string name = {};                // for people; may be empty
  std::int64_t context_trained = 0;     // tokens the released model is good for, its own scaling included
  std::vector<LayerGroup> groups = {};  // at least one; groups[0] is the one an extension is about

  bool operator==(const RopeSpec&) const = default;
};

// Limits that keep a hostile file from costing memory: far above any model.
inline constexpr int kMaxRotaryDim = 8192;
inline constexpr std::size_t kMaxGroups = 16;
inline constexpr int kMaxLayers = 4096;

// "dim=128,base=10000,ctx=4096" with optional name=…, and for a model with a scaling of its own
// "scaling=llama3,scaling_factor=8,scaling_ctx=8k" (scaling is a method as in catalogue.h).
// Lengths as in units.h. Errors name the key.
Result<RopeSpec> parse_spec(std::string_view text);

// The first thing that is wrong with a spec, if any; `where` is a path such as "groups[1].rotary_dim".
Result<void> check_spec(const RopeSpec& spec);

// The table the group was released with, relative to base^(-i/n): all 1 and scale 1 for a plain model.
// Domain: a spec that passes check_spec.
Table trained_table(const RopeSpec& spec, std::size_t group);

// What the group really learned: base^(-i/n) divided by its trained factors.
Spectrum spectrum_of(const RopeSpec& spec, std::size_t group);

// Whether some layers see a window only, and keep the rotation they have whatever is extended.
bool has_windows(const RopeSpec& spec);

// How far two statements of one model's speeds and scales may be apart, relatively: a plan made from config.json fits
// the GGUF of the same model, whose converter computes factors in float32. base^x is then off by 2^-24 ln(base), and
// the ramp of llama3 makes that up to 2.4 times as much: 5e-6 at a base of 1e15, the largest there may be.
inline constexpr double kSameModel = 1e-5;

}  // namespace mrrope
