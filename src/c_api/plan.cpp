// SPDX-License-Identifier: MIT
#include "mrrope/plan.h"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "c_api/boundary.h"
#include "c_api/handles.h"
#include "mrrope/catalogue.h"

using namespace mrrope;
using c_api::fail;
using c_api::guarded;

static_assert(std::is_same_v<int, std::int32_t>, "layer numbers are shown as they are kept");

mrrope_plan::mrrope_plan(Plan plan) : value(std::move(plan)) {
  tables.reserve(value.groups.size());
  for (std::size_t g = 0; g < value.groups.size(); ++g) tables.push_back(rotary_table(value, g));
}

int mrrope_plan_make(const mrrope_spec* spec, int64_t context_target, const char* method, int64_t length,
                     mrrope_plan** plan) {
  return guarded([&] {
    if (plan == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "plan: NULL");
    *plan = nullptr;
    if (spec == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "spec: NULL");
    if (method == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "method: NULL");
    const Result<Method> parsed = parse_method(method);
    if (!parsed) return fail(parsed.error());
    Result<Plan> made =
        make_plan(spec->value, context_target, *parsed, length == 0 ? std::nullopt : std::optional(length));
    if (!made) return fail(made.error());
    *plan = new mrrope_plan(*std::move(made));
    return int{MRROPE_OK};
  });
}

int mrrope_plan_from_json(const char* text, size_t size, mrrope_plan** plan) {
  return guarded([&] {
    if (plan == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "plan: NULL");
    *plan = nullptr;
    if (text == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "text: NULL");
    Result<Plan> read = plan_from_json(std::string_view(text, size));
    if (!read) return fail(read.error());
    *plan = new mrrope_plan(*std::move(read));
    return int{MRROPE_OK};
  });
}

int mrrope_plan_to_json(const mrrope_plan* plan, char* text, size_t capacity, size_t* size) {
  return guarded([&] {
    if (plan == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "plan: NULL");
    if (size == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "size: NULL");
    if (text == nullptr && capacity > 0) return fail(MRROPE_INVALID_ARGUMENT, "text: NULL, but capacity is not 0");
    const std::string json = to_json(plan->value);
    *size = json.size();
    if (json.size() < capacity) std::memcpy(text, json.c_str(), json.size() + 1);
    return int{MRROPE_OK};
  });
}

size_t mrrope_plan_group_count(const mrrope_plan* plan) { return plan == nullptr ? 0 : plan->value.groups.size(); }

int mrrope_plan_group(const mrrope_plan* plan, size_t group, mrrope_group* out) {
  return guarded([&] {
    if (plan == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "plan: NULL");
    if (out == nullptr) return fail(MRROPE_INVALID_ARGUMENT, "out: NULL");
    if (group >= plan->value.groups.size()) return fail(MRROPE_INVALID_ARGUMENT, "group: beyond the last of the plan");
    const LayerGroup& layers = plan->value.spec.groups[group];
    const GroupPlan& table = plan->value.groups[group];
    *out = {.name = layers.name.c_str(),
            .layers = layers.layers.data(),
            .layer_count = layers.layers.size(),
            .pairs = table.inv_freq.size(),
            .inv_freq = table.inv_freq.data(),
            .pair_factors = table.pair_factors.data(),
            .base = layers.base,
            .attention_scale = table.attention_scale};
    return int{MRROPE_OK};
  });
}

void mrrope_plan_free(mrrope_plan* plan) { delete plan; }
