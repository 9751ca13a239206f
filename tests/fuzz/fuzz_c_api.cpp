// SPDX-License-Identifier: MIT
//
// Bytes from anywhere through the C API, as a model and as a plan: refused with a sentence, or usable to the end.
//
//   fuzz_c_api tests/fuzz/corpus/gguf tests/fuzz/corpus/hf_config tests/fuzz/corpus/plan
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "mrrope/c.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::string json_of(const mrrope_plan* plan) {
  std::size_t size = 0;
  require(mrrope_plan_to_json(plan, nullptr, 0, &size) == MRROPE_OK);
  std::string text(size + 1, '?');
  require(mrrope_plan_to_json(plan, text.data(), text.size(), &size) == MRROPE_OK);
  text.pop_back();
  return text;
}

// Every table finite, every rotation inside its memory, and the file of the plan leads back to it.
void use(const mrrope_plan* plan) {
  for (std::size_t g = 0; g < mrrope_plan_group_count(plan); ++g) {
    mrrope_group group;
    require(mrrope_plan_group(plan, g, &group) == MRROPE_OK && group.pairs > 0);
    for (std::size_t i = 0; i < group.pairs; ++i) {
      require(std::isfinite(group.inv_freq[i]) && group.inv_freq[i] >= 0 && group.pair_factors[i] > 0);
    }
    require(std::isfinite(group.attention_scale) && group.attention_scale > 0);
    const std::array<std::int32_t, 2> positions = {1 << 20, -3};
    std::vector<float> vectors(2 * 2 * group.pairs, 1.0F);
    const mrrope_vectors dense = {
        vectors.data(), vectors.size() * sizeof(float), MRROPE_F32, MRROPE_HALF_SPLIT, 1, 2 * group.pairs, 0, 0};
    require(mrrope_rotate(plan, g, positions.data(), positions.size(), &dense) == MRROPE_OK);
  }
  const std::string text = json_of(plan);
  mrrope_plan* again = nullptr;
  require(mrrope_plan_from_json(text.data(), text.size(), &again) == MRROPE_OK);
  require(json_of(again) == text);
  mrrope_plan_free(again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;  // data is NULL then
  mrrope_spec* spec = nullptr;
  mrrope_plan* plan = nullptr;
  if (mrrope_spec_from_model(data, size, &spec) == MRROPE_OK) {
    const std::int64_t trained = mrrope_spec_context_trained(spec);
    require(trained > 0);
    for (const char* method : {"none", "mrrope-pro", "dynamic-yarn"}) {
      if (mrrope_plan_make(spec, 4 * trained, method, 0, &plan) == MRROPE_OK) use(plan);
      mrrope_plan_free(plan);
    }
  } else {
    require(spec == nullptr && *mrrope_last_error() != '\0');
  }
  mrrope_spec_free(spec);
  if (mrrope_plan_from_json(reinterpret_cast<const char*>(data), size, &plan) == MRROPE_OK) use(plan);
  mrrope_plan_free(plan);
  return 0;
}
