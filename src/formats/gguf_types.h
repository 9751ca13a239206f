// SPDX-License-Identifier: MIT
//
// Sizes of the tensor types of ggml 0.25.1 (llama.cpp v0.5.0): enum ggml_type in ggml.h, type_traits in ggml.c, block
// structs in ggml-common.h. tests/formats/independent_reader_test.py compares the table with gguf-py.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mrrope::formats {

// A row is stored in blocks of `elements` values that take `bytes` bytes. elements == 0: no such type, or one that was
// removed from ggml.
struct TensorType {
  std::string_view name;
  std::uint32_t elements = 0;
  std::uint32_t bytes = 0;
};

inline constexpr std::uint32_t kF32 = 0;

// Index: ggml_type.
inline constexpr std::array<TensorType, 43> kTensorTypes = {{
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"q4_0", 32, 18},
    {"q4_1", 32, 20},
    {},
    {},
    {"q5_0", 32, 22},
    {"q5_1", 32, 24},
    {"q8_0", 32, 34},
    {"q8_1", 32, 36},
    {"q2_K", 256, 84},
    {"q3_K", 256, 110},
    {"q4_K", 256, 144},
    {"q5_K", 256, 176},
    {"q6_K", 256, 210},
    {"q8_K", 256, 292},
    {"iq2_xxs", 256, 66},
    {"iq2_xs", 256, 74},
    {"iq3_xxs", 256, 98},
    {"iq1_s", 256, 50},
    {"iq4_nl", 32, 18},
    {"iq3_s", 256, 110},
    {"iq2_s", 256, 82},
    {"iq4_xs", 256, 136},
    {"i8", 1, 1},
    {"i16", 1, 2},
    {"i32", 1, 4},
    {"i64", 1, 8},
    {"f64", 1, 8},
    {"iq1_m", 256, 56},
    {"bf16", 1, 2},
    {},
    {},
    {},
    {"tq1_0", 256, 54},
    {"tq2_0", 256, 66},
    {},
    {},
    {},
    {"mxfp4", 32, 17},
    {"nvfp4", 64, 36},
    {"q1_0", 128, 18},
    {"q2_0", 64, 18},
}};

// nullptr for a type we do not know the size of.
constexpr const TensorType* tensor_type(std::uint32_t type) noexcept {
  return type < kTensorTypes.size() && kTensorTypes[type].elements != 0 ? &kTensorTypes[type] : nullptr;
}

}  // namespace mrrope::formats
