// SPDX-License-Identifier: MIT
#include "cli/tune_space.h"

#include <vector>

#include "mrrope/targets.h"

namespace mrrope::cli {

Result<tune::SpaceOptions> space_for(const std::string& engine, const ModelFile& file, const RopeSpec& spec,
                                     std::int64_t target) {
  if (engine.empty()) return tune::SpaceOptions{};
  Error last;
  for (const tune::Family family : {tune::Family::any_table, tune::Family::yarn_keys}) {
    for (const bool any_scale : {true, false}) {
      tune::SpaceOptions options{.family = family};
      if (!any_scale) options.attention_scale = 1;
      const Result<tune::Space> space = tune::Space::of(spec, target, options);
      if (!space) return space.error();
      const std::vector<double> somewhere(space->axes().size(), 0.4);
      const Result<Plan> plan = make_plan(spec, target, space->at(somewhere));
      if (!plan) return plan.error();
      const Result<Delivery> delivery = deliver(engine, *plan, file);
      if (delivery) return options;
      last = delivery.error();
    }
  }
  return Error{last.code, last.message, "--target"};
}

}  // namespace mrrope::cli
