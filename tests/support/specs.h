// SPDX-License-Identifier: MIT
//
// Models with known bands, and the measures tests share.
#pragma once

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "mrrope/mrrope.h"

namespace mrrope::test {

inline Spectrum llama2_7b() { return plain_spectrum(128, 10000, 4096); }
inline Spectrum llama3_8b() { return plain_spectrum(128, 500000, 8192); }
inline Spectrum qwen25_3b() { return plain_spectrum(128, 1000000, 32768); }
inline Spectrum smollm2_135m() { return plain_spectrum(64, 100000, 8192); }

inline RopeSpec spec(const std::string& text) { return *parse_spec(text); }
inline RopeSpec llama2_spec() { return spec("dim=128,base=10000,ctx=4096"); }
// Llama 3.1: llama3 scaling by 8 from 8192, good for 131072.
inline RopeSpec llama31_spec() {
  return spec("dim=128,base=500000,ctx=128k,scaling=llama3,scaling_factor=8,scaling_ctx=8k");
}
// Gemma 3: global layers (every sixth) with linear 8, sliding layers untouched.
inline RopeSpec gemma3_spec() {
  RopeSpec s{.name = "gemma-3", .context_trained = 131072, .groups = {}};
  s.groups.push_back({.name = "global",
                      .layers = {5, 11, 17, 23},
                      .rotary_dim = 256,
                      .base = 1000000,
                      .trained = TrainedScaling{.method = Linear{}, .factor = 8, .context_original = 16384}});
  s.groups.push_back({.name = "sliding", .rotary_dim = 256, .base = 10000, .extended = false});
  return s;
}

inline Method method(const std::string& text) { return *parse_method(text); }

inline nlohmann::json vectors(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(std::string(MRROPE_VECTORS) + "/" + name));
}

// Distance in units of the last place of `value`.
inline double ulps(double value, long double reference) {
  const double ulp = std::nextafter(std::fabs(value), std::numeric_limits<double>::infinity()) - std::fabs(value);
  return static_cast<double>(std::fabs(static_cast<long double>(value) - reference) / static_cast<long double>(ulp));
}

}  // namespace mrrope::test
