// SPDX-License-Identifier: MIT
#include "formats/gguf_windows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "mrrope/spec.h"
#include "mrrope/units.h"

namespace mrrope::formats {

namespace {

constexpr int kListed = -1;  // sliding_window_pattern has to be a list with an element for each layer
constexpr int kAll = -2;     // every layer slides, and sliding_window_pattern is not read

struct WindowedArchitecture {
  std::string_view name;
  int period;                // default of sliding_window_pattern: every period-th layer is full
  bool full_first = false;   // the full layer opens its period instead of closing it
  int by_default = 0;        // tokens, where the file names none
  int fixed = 0;             // tokens, whatever the file names, unless that is 0
  int only_with_layers = 0;  // slides in the model with this many layers alone
};
constexpr std::array<WindowedArchitecture, 26> kWindowed = {{
    {.name = "afmoe", .period = 4},
    {.name = "cohere2", .period = 4},
    {.name = "cohere2moe", .period = 4, .full_first = true},
    {.name = "deepseek4", .period = kAll},
    {.name = "dots3note", .period = kListed},
    {.name = "exaone-moe", .period = 4},
    {.name = "exaone4", .period = 4, .by_default = 4096, .only_with_layers = 64},
    {.name = "gemma-embedding", .period = 6},
    {.name = "gemma2", .period = 2, .by_default = 4096},
    {.name = "gemma3", .period = 6},
    {.name = "gemma3n", .period = 5},
    {.name = "gemma4", .period = kListed},
    {.name = "gpt-oss", .period = 2},
    {.name = "granite_swa", .period = kListed},
    {.name = "laguna", .period = 4, .full_first = true},
    {.name = "lfm2", .period = kAll},
    {.name = "llama4", .period = 4, .by_default = 8192, .fixed = 8192},
    {.name = "maple", .period = kListed},
    {.name = "mellum", .period = 4},
    {.name = "mimo2", .period = kListed},
    {.name = "muse-glimmer", .period = 4},
    {.name = "olmo2", .period = 4},
    {.name = "plamo3", .period = 8},
    {.name = "smallthinker", .period = 4, .full_first = true, .fixed = 4096},
    {.name = "spark2_5", .period = kListed},
    {.name = "step35", .period = kListed},
}};

// Without a period every layer slides.
bool slides_in(int period, bool full_first, int layer) {
  return period == 0 || layer % period != (full_first ? 0 : period - 1);
}

}  // namespace

GgufWindows read_windows(const GgufModel& model, KeyReader& keys, int layers) {
  const auto* known =
      std::find_if(kWindowed.begin(), kWindowed.end(), [&](const auto& a) { return a.name == model.architecture(); });
  if (known == kWindowed.end()) return {};
  // Those that predict further tokens see everything, unless the file lists them
  const int trunk = layers - static_cast<int>(std::min<double>(keys.u32("nextn_predict_layers", 0), layers));
  if (known->only_with_layers != 0 && known->only_with_layers != trunk) return {};
  const double written = keys.u32("attention.sliding_window", known->by_default);
  if (!(written > 0)) return {};
  GgufWindows out;
  out.tokens =
      known->fixed != 0 ? known->fixed : static_cast<std::int64_t>(std::min(written, static_cast<double>(kMaxContext)));
  out.slides.resize(static_cast<std::size_t>(layers));

  const GgufValue* pattern = known->period == kAll ? nullptr : model.find("attention.sliding_window_pattern");
  const auto listed = pattern != nullptr ? pattern->numbers() : std::nullopt;
  const double number = listed || known->period < 0 ? 0 : keys.u32("attention.sliding_window_pattern", known->period);
  // A period beyond the last layer: all of them slide
  const int period = number <= kMaxLayers ? static_cast<int>(number) : kMaxLayers + 1;
  for (int i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (listed) out.slides[at] = at < listed->size() && (*listed)[at] != 0;
    else if (known->period == kAll) out.slides[at] = true;
    else if (known->period != kListed) out.slides[at] = i < trunk && slides_in(period, known->full_first, i);
  }
  return out;
}

}  // namespace mrrope::formats
