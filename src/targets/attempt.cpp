// SPDX-License-Identifier: MIT
#include "targets/attempt.h"

#include <fmt/format.h>

#include "mrrope/catalogue.h"

namespace mrrope::targets {

namespace {

constexpr std::string_view kNearest = ". Nearest that it can: ";

}  // namespace

std::string without_nearest(const std::string& refusal) { return refusal.substr(0, refusal.find(kNearest)); }

Error refusal(std::string_view engine, const Plan& plan, std::string_view model, std::string_view why,
              std::vector<Attempt> tried, double scale_tolerance) {
  std::string message = fmt::format("{} cannot run {} on {}: {}", engine, spell(plan.method), model, why);
  std::erase_if(tried, [](const Attempt& a) { return a.residual >= 1; });
  const auto nearest = std::min_element(tried.begin(), tried.end(),
                                        [](const Attempt& a, const Attempt& b) { return a.off() < b.off(); });
  if (nearest != tried.end()) {
    message += fmt::format("{}{} (largest difference {:.1f} % of an angular speed", kNearest, nearest->what,
                           100 * nearest->residual);
    if (nearest->scale_residual > scale_tolerance) {
      message += fmt::format(", {:.1f} % of the attention scale", 100 * nearest->scale_residual);
    }
    message += ")";
  }
  return {ErrorCode::unsupported, std::move(message), ""};
}

}  // namespace mrrope::targets
