// SPDX-License-Identifier: MIT
#include "probe/distance.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mrrope::probe {

std::vector<double> roots(std::span<const double> log_p) {
  std::vector<double> out;
  out.reserve(log_p.size() + 1);
  double rest = 1;
  for (const double value : log_p) {
    out.push_back(std::exp(value / 2));
    rest -= std::exp(value);
  }
  out.push_back(std::sqrt(std::max(0.0, rest)));  // rounding can take all of it
  return out;
}

namespace {

void append(std::vector<double>& all, std::span<const double> log_p) {
  const std::vector<double> row = roots(log_p);
  all.insert(all.end(), row.begin(), row.end());
}

}  // namespace

std::vector<double> roots_of(const Statement& statement) {
  std::vector<double> out;
  for (const Row& row : statement.rows) append(out, row.log_p);
  return out;
}

std::vector<double> roots_of(const std::vector<std::vector<double>>& log_p) {
  std::vector<double> out;
  for (const std::vector<double>& row : log_p) append(out, row);
  return out;
}

double distance(std::span<const double> a, std::span<const double> b, std::size_t rows) {
  assert(a.size() == b.size() && rows > 0);
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return squares / 2 / static_cast<double>(rows);
}

double mean_distance(const std::vector<Statement>& statements, const Echo& echo) {
  double sum = 0;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    sum += distance(roots_of(statements[i]), roots_of(echo[i]), statements[i].rows.size());
  }
  return sum / static_cast<double>(statements.size());
}

}  // namespace mrrope::probe
