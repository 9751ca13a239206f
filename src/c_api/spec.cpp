// SPDX-License-Identifier: MIT
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "c_api/boundary.h"
#include "c_api/handles.h"
#include "mrrope/model_file.h"

using namespace mrrope;
using c_api::fail;
using c_api::guarded;

int mrrope_spec_from_numbers(int32_t rotary_dim, double base, int64_t context_trained, mrrope_spec** spec) {
  return guarded([&] {
    if (spec == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "spec: NULL");
    *spec = nullptr;
    RopeSpec value{.context_trained = context_trained, .groups = {{.rotary_dim = rotary_dim, .base = base}}};
    if (const auto ok = check_spec(value); !ok) return fail(ok.error());
    *spec = new mrrope_spec{std::move(value)};
    return int{MRROPE_OK};
  });
}

int mrrope_spec_from_model(const void* bytes, size_t size, mrrope_spec** spec) {
  return guarded([&] {
    if (spec == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "spec: NULL");
    *spec = nullptr;
    if (bytes == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "bytes: NULL");
    Result<RopeSpec> value = rope_spec(std::span(static_cast<const std::byte*>(bytes), size));
    if (!value) return fail(value.error());
    *spec = new mrrope_spec{*std::move(value)};
    return int{MRROPE_OK};
  });
}

int64_t mrrope_spec_context_trained(const mrrope_spec* spec) {
  return spec == nullptr ? 0 : spec->value.context_trained;
}

void mrrope_spec_free(mrrope_spec* spec) { delete spec; }
