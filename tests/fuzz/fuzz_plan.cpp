// SPDX-License-Identifier: MIT
//
// Any bytes are refused by the name of a field, or are a plan that can be written, read again and explained.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mrrope/plan.h"

namespace {

void require(bool truth) {
  if (!truth) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const mrrope::Result<mrrope::Plan> plan = mrrope::plan_from_json(text);
  if (!plan) {
    require(!plan.error().message.empty());
    return 0;
  }
  require(mrrope::check_spec(plan->spec).has_value());
  require(plan->groups.size() == plan->spec.groups.size());
  const std::string written = mrrope::to_json(*plan);
  const mrrope::Result<mrrope::Plan> again = mrrope::plan_from_json(written);
  require(again.has_value() && *again == *plan);
  require(mrrope::to_json(*again) == written);
  require(!mrrope::explain(*plan).reasons.empty());
  return 0;
}
