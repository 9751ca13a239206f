// SPDX-License-Identifier: MIT
//
// The radix view and what theory says of a table: mrrope.analysis. Domains of the headers are checked here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mrrope/analysis.h"
#include "mrrope/radix.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

// A scan of 2^26 distances takes seconds and its curve half a gigabyte.
constexpr std::int64_t kMaxDistances = std::int64_t{1} << 26;
constexpr int kMaxWindow = 1 << 20;

std::span<const double> factors_of(const Numbers& numbers, const char* where) {
  const auto span = span_of(numbers);
  require(!span.empty(), where, "expected at least one number");
  require(std::all_of(span.begin(), span.end(), [](double s) { return s > 0 && std::isfinite(s); }), where,
          "expected finite numbers above 0");
  return span;
}

std::span<const double> speeds_of(const Numbers& numbers) {
  const auto span = span_of(numbers);
  require(!span.empty(), "inv_freq", "expected at least one number");
  require(std::all_of(span.begin(), span.end(), [](double t) { return t >= 0 && std::isfinite(t); }), "inv_freq",
          "expected finite numbers, not below 0");
  return span;
}

void finite(double number, const char* where) { require(std::isfinite(number), where, "expected a finite number"); }

// f(inv_freq, position) of analysis.h.
template <double (*F)(std::span<const double>, double) noexcept>
double at(const Numbers& inv_freq, double where) {
  finite(where, "distance");
  return F(speeds_of(inv_freq), where);
}

void bind_radix(nb::module_& m) {
  nb::class_<Conversion>(m, "Conversion", "How a table spreads its extension over the digits of the number system.")
      .def_prop_ro(
          "kind", [](const Conversion& c) { return to_string(c.kind); },
          "none, uniform, progressive, regressive, mixed or \"not a conversion\".")
      .def_ro("first", &Conversion::first, "Digits whose radix changes, inclusive; none if last < first.")
      .def_ro("last", &Conversion::last)
      .def_ro("edge_first", &Conversion::edge_first, "The radix factor of digit `first`.")
      .def_ro("edge_last", &Conversion::edge_last)
      .def_ro("lambda_first", &Conversion::lambda_first, "The ends of the run that shows `kind`.")
      .def_ro("lambda_last", &Conversion::lambda_last)
      .def_ro("still", &Conversion::still, "Pairs at the slow end that stand still.")
      .def("__str__", &describe)
      .def("__repr__", [](const Conversion& c) { return fmt::format("<{}>", describe(c)); });

  m.def(
      "classify", [](const Numbers& s) { return classify(factors_of(s, "pair_factors")); }, "pair_factors"_a,
      "The kind of conversion a table makes.");
  m.def(
      "radix_factors", [](const Numbers& s) { return taken(radix_factors(factors_of(s, "pair_factors"))); },
      "pair_factors"_a, "lambda_i = s_{i+1} / s_i: by how much each digit's radix grows. [T4]");
  m.def(
      "pair_factors_from_radix",
      [](const Numbers& lambda) { return taken(pair_factors_from_radix(factors_of(lambda, "radix_factors"))); },
      "radix_factors"_a, "The inverse, starting at 1. [T5]");
  m.def(
      "digits",
      [](double base, const Numbers& s, double position) {
        require(base > 1 && std::isfinite(base), "base", "expected a number above 1");
        require(position >= 0 && std::isfinite(position), "position", "expected a number, not below 0");
        return taken(digits(base, factors_of(s, "pair_factors"), position));
      },
      "base"_a, "pair_factors"_a, "position"_a, "The digits of a position in the system of a table. [T6]");
  m.def(
      "range",
      [](double base, const Numbers& s) {
        require(base > 1 && std::isfinite(base), "base", "expected a number above 1");
        return range(base, factors_of(s, "pair_factors"));
      },
      "base"_a, "pair_factors"_a, "How many positions the system tells apart. [T7]");
}

void bind_bound(nb::module_& m) {
  nb::class_<BoundZeros>(m, "BoundZeros", "The first distances at which B is not above 0; None: none up to the limit.")
      .def_ro("first_zero", &BoundZeros::first_zero, "Of the sum over all pairs.")
      .def_ro("band_first_zero", &BoundZeros::band_first_zero, "Of the band's pairs only.")
      .def_ro("smoothed_first_zero", &BoundZeros::smoothed_first_zero, "Of the running mean: where the trend crosses.")
      .def("__repr__", [](const BoundZeros& z) {
        const auto shown = [](const std::optional<std::int64_t>& n) { return n ? fmt::to_string(*n) : "None"; };
        return fmt::format("BoundZeros(first_zero={}, band_first_zero={}, smoothed_first_zero={})", shown(z.first_zero),
                           shown(z.band_first_zero), shown(z.smoothed_first_zero));
      });

  m.def("bound", &at<bound>, "inv_freq"_a, "distance"_a,
        "B(m): how much more a query attracts an equal key than a random one at a distance. [T30]");
  m.def("score_correlation", &at<score_correlation>, "inv_freq"_a, "distance"_a, "B(m) / n. [T32]");
  m.def("attention_decay", &at<attention_decay>, "inv_freq"_a, "distance"_a,
        "RoFormer's bound on a score, relative to distance 0. [T33]");
  m.def("position_estimate", &at<position_estimate>, "inv_freq"_a, "position"_a,
        "The position read back from its angles. [T8]");
  m.def(
      "bound_curve",
      [](const Numbers& inv_freq, std::int64_t limit) {
        require(limit >= 0 && limit <= kMaxDistances, "limit", "expected a number of distances up to 2^26");
        const auto theta = speeds_of(inv_freq);
        std::vector<double> curve;
        {
          const nb::gil_scoped_release unlocked;
          curve = bound_curve(theta, limit);
        }
        return taken(std::move(curve));
      },
      "inv_freq"_a, "limit"_a, "B(1) ... B(limit), the data of a plot.");
  m.def(
      "bound_zeros",
      [](const Numbers& inv_freq, const Band& band, std::int64_t limit, int window) {
        require(limit >= 1 && limit <= kMaxDistances, "limit", "expected a number of distances from 1 to 2^26");
        require(window >= 2 && window % 2 == 0 && window <= kMaxWindow, "window",
                "expected an even number from 2 to 2^20");
        const auto theta = speeds_of(inv_freq);
        const nb::gil_scoped_release unlocked;
        return bound_zeros(theta, band, limit, window);
      },
      "inv_freq"_a, "band"_a, "limit"_a = std::int64_t{1} << 20, "window"_a = 512,
      "Where B first crosses zero, by an exact scan of all distances. [T30]");
}

}  // namespace

void bind_analysis(nb::module_& m) {
  bind_radix(m);
  bind_bound(m);

  nb::class_<Exposure>(m, "Exposure", "What is new to a model, and how far phases move from training.")
      .def_ro("unseen_pairs", &Exposure::unseen_pairs, "Pairs that meet angles beyond their training. [T34]")
      .def_ro("unseen_ratio", &Exposure::unseen_ratio, "The largest such angle over the largest trained one.")
      .def_ro("short_drift_turns", &Exposure::short_drift_turns,
              "Over a text of the trained length, phases move from training by up to this many turns. [T35]")
      .def_ro("short_drift_pair", &Exposure::short_drift_pair)
      .def("__repr__", [](const Exposure& e) {
        return fmt::format(
            "Exposure(unseen_pairs={}, unseen_ratio={:.4g}, short_drift_turns={:.4g}, short_drift_pair={})",
            e.unseen_pairs, e.unseen_ratio, e.short_drift_turns, e.short_drift_pair);
      });
  m.def(
      "exposure",
      [](const SpecValue& spec, const Numbers& pair_factors, double factor) {
        const Spectrum spectrum = spectrum_of(*spec.spec, 0);
        const auto s = factors_of(pair_factors, "pair_factors");
        require(s.size() == spectrum.inv_freq.size(), "pair_factors", "expected one factor per pair");
        require(factor >= 1 && factor <= kMaxFactor, "factor", "expected a number from 1 to 2^20");
        return exposure(spectrum, s, factor);
      },
      "spec"_a, "pair_factors"_a, "factor"_a,
      "Of a table relative to what the model was trained with; for a plan: Plan.exposure.");
}

}  // namespace mrrope::python
