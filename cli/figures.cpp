// SPDX-License-Identifier: MIT
#include "cli/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/curves.h"

namespace mrrope::cli {

using report::grid;

Figure scale_figure(const std::vector<Plan>& plans) {
  Figure figure{.name = "scale",
                .caption = "s_i, how much each pair is slowed down: methods differ only inside the band",
                .x_label = "pair",
                .x = {},
                .series = {}};
  for (std::size_t i = 0; i < plans[0].groups[0].pair_factors.size(); ++i) figure.x.push_back(static_cast<double>(i));
  for (const Plan& plan : plans) figure.series.push_back({spell(plan.method), plan.groups[0].pair_factors});
  return figure;
}

Figure bound_figure(const std::vector<Plan>& plans, std::size_t points) {
  const std::int64_t limit = std::min(report::kLongestBound, 2 * plans[0].context_target);
  Figure figure{.name = "bound",
                .caption = "B(m): where it falls to 0, similar tokens no longer attract each other",
                .x_label = "distance",
                .x = grid(1, static_cast<double>(limit), points),
                .series = {}};
  for (const Plan& plan : plans) {
    const GroupPlan& group = plan.groups[0];
    const std::string name = spell(plan.method);
    const std::vector<double> whole = bound_curve(group.inv_freq, limit + 256);
    figure.series.push_back({name, report::picked(whole, figure.x)});
    figure.series.push_back({name + " smoothed", report::smoothed(whole, figure.x)});
    const auto n = group.inv_freq.size();
    const auto low = std::min(n, static_cast<std::size_t>(std::ceil(group.band.low)));
    const auto high = std::clamp(static_cast<std::size_t>(std::ceil(group.band.high)), low, n);
    const std::span band(group.inv_freq.begin() + static_cast<std::ptrdiff_t>(low), high - low);
    figure.series.push_back({name + " band", report::picked(bound_curve(band, limit), figure.x)});
  }
  return figure;
}

Figure decay_figure(const std::vector<Plan>& plans, std::size_t points) {
  Figure figure{.name = "decay",
                .caption = "the factor in RoFormer's bound on attention scores, relative to distance 0",
                .x_label = "distance",
                .x = grid(0, static_cast<double>(plans[0].context_target), points),
                .series = {}};
  for (const Plan& plan : plans) {
    Series series{spell(plan.method), {}};
    for (const double m : figure.x) series.y.push_back(attention_decay(plan.groups[0].inv_freq, m));
    figure.series.push_back(std::move(series));
  }
  return figure;
}

Figure position_figure(const RopeSpec& spec, std::int64_t length, const std::vector<double>& bases,
                       std::size_t points) {
  Figure figure{.name = "position",
                .caption = "the position read back from plain RoPE's angles: linear as far as the base reaches",
                .x_label = "position",
                .x = grid(0, static_cast<double>(length), points),
                .series = {}};
  for (const double base : bases) {
    const Spectrum spectrum =
        plain_spectrum(spec.groups[0].rotary_dim, base, static_cast<double>(spec.context_trained));
    Series series{fmt::format("base {}", format_number(base)), {}};
    for (const double m : figure.x) series.y.push_back(position_estimate(spectrum.inv_freq, m));
    figure.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace mrrope::cli
