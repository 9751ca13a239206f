// SPDX-License-Identifier: MIT
//
// The course of a search. Screening: every suspect on the statements, a text at a time, until it is out. Slopes: the
// best one is moved a little in each direction. Lines: where the server lies off, the best laws are followed along
// their factors, the best of all along its attention scale, and the slopes are taken again there. Then laws that few
// people serve are tried at its factor and, where noise hides small differences, around it. Last, the best one's factor
// is measured: 3.83 rather than 4.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "mrrope/fingerprint.h"
#include "probe/evidence.h"
#include "probe/line_search.h"
#include "probe/slopes.h"

namespace mrrope::probe {

// A plan that is moved by this is still in reach of a straight line, and far above float32's noise.
inline constexpr double kMove = 0.01;
// A factor is measured between this share of it and as many times it: far enough for rounding not to matter.
inline constexpr double kAside = 1.2;

// A suspect that is followed to where it explains the server best: along its factor, or its attention scale.
struct Line {
  Suspect from;
  bool scale;
  LineSearch search;

  [[nodiscard]] std::optional<Suspect> at(double place) const;  // a logarithm
};

struct Job {
  enum class What { suspect, single, direction, line, factor } what;
  std::size_t index;  // of the suspect, direction, line or side
  Plan plan;
  std::vector<std::size_t> which;
};

struct Fingerprint::Impl {
  explicit Impl(Evidence all) : evidence(std::move(all)) {}

  Evidence evidence;
  std::deque<Job> jobs;
  std::size_t next_text = 0;

  int rounds = 0;
  std::optional<std::size_t> slopes_at;  // the suspect that was moved
  Directions directions;
  std::vector<std::vector<std::vector<double>>> slope;
  std::optional<Slopes> found;
  double noise = 0;  // of single tokens

  int line_rounds = 0;
  bool drew_factors = false;
  std::vector<Line> lines;
  std::size_t next_line = 0;

  bool widened = false;
  bool sharpened = false;
  std::optional<std::size_t> narrowed;       // the suspect whose factor was
  std::array<std::vector<double>, 2> aside;  // distances of the texts at 1 / kAside and kAside times its factor

  // What comes next when everything that was asked is answered.
  void go_on();

  // The best one's slopes are known, and no other one has become the best since.
  [[nodiscard]] bool is_settled() const { return found && slopes_at == evidence.best; }
  // The server certainly lies further off in this direction than `allowed`, or than what a cache may do.
  [[nodiscard]] bool off(std::size_t direction, double allowed) const;
  [[nodiscard]] bool off(std::size_t direction) const;
  [[nodiscard]] bool is_off() const;
  // The table, of those that are out, that the server certainly lies towards.
  [[nodiscard]] const Tried* drawn_to() const;
  // Tokens that no table reaches disagree by more than rounding.
  [[nodiscard]] bool has_other_weights() const;
  // Distance that is left when the small steps are allowed for, and what noise may make of it.
  [[nodiscard]] double unexplained() const;
  [[nodiscard]] double explained_by_noise() const;
  // The factor of the best one's law that explains the server best, in logarithms ± a standard error; nothing: it was
  // not looked for, or the law has none.
  struct Factor {
    double log = 0;
    double error = 0;
  };
  [[nodiscard]] std::optional<Factor> factor() const;

 private:
  void screen();
  void take_slopes();
  void find_slopes();
  [[nodiscard]] bool is_improvable() const;
  void draw_lines();
  void draw_factor_lines();
  bool follow_lines();
  // Weights, caches or kernels differ so much that small differences are hidden.
  [[nodiscard]] bool is_noisy() const;
  void widen();
  void narrow();
  void sharpen();
  void add(std::optional<Suspect> one, bool now);
  [[nodiscard]] std::vector<std::size_t> some_texts() const;
};

}  // namespace mrrope::probe
