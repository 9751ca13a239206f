// SPDX-License-Identifier: MIT
//
// What Python holds. Values are shared and never change, so that groups and arrays can point into them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>

#include "mrrope/model_file.h"
#include "mrrope/plan.h"

namespace mrrope::python {

struct SpecValue {
  std::shared_ptr<const RopeSpec> spec;  // passes check_spec
  bool operator==(const SpecValue& other) const { return *spec == *other.spec; }
};

struct PlanValue {
  std::shared_ptr<const Plan> plan;
  bool operator==(const PlanValue& other) const { return *plan == *other.plan; }
};

// One group of layers of either.
struct SpecGroup {
  std::shared_ptr<const RopeSpec> spec;
  std::size_t index = 0;
  [[nodiscard]] const LayerGroup& group() const { return spec->groups[index]; }
};

struct PlanGroup {
  std::shared_ptr<const Plan> plan;
  std::size_t index = 0;
  [[nodiscard]] const GroupPlan& group() const { return plan->groups[index]; }
};

inline SpecValue spec_value(RopeSpec spec) { return {std::make_shared<const RopeSpec>(std::move(spec))}; }
inline PlanValue plan_value(Plan plan) { return {std::make_shared<const Plan>(std::move(plan))}; }

// One per file bind_*.cpp; classes that a signature names are bound first.
void bind_methods(nanobind::module_& m);
void bind_spec(nanobind::module_& m);
void bind_analysis(nanobind::module_& m);
void bind_plan(nanobind::module_& m);
void bind_ladder(nanobind::module_& m);
void bind_engines(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_tasks(nanobind::module_& m);
void bind_runs(nanobind::module_& m);
void bind_tune(nanobind::module_& m);
void bind_probe(nanobind::module_& m);

}  // namespace mrrope::python
