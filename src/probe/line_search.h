// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace mrrope::probe {

// The least of a function of one number that has one valley: a step to either side, towards the lower one, half the
// step where neither is. It asks, and others compute.
class LineSearch {
 public:
  LineSearch(double start, double step, double least_step, double low, double high);

  [[nodiscard]] std::optional<double> ask() const;  // nothing: at() is the answer
  void tell(double value);                          // at the last ask()
  [[nodiscard]] double at() const { return at_; }
  [[nodiscard]] double step() const { return step_; }  // the last one: how well at() is known

 private:
  [[nodiscard]] std::optional<double> known(double x) const;

  double at_, step_, least_step_, low_, high_;
  std::vector<std::pair<double, double>> values_;
};

}  // namespace mrrope::probe
