// SPDX-License-Identifier: MIT
//
// The search for a plan and its verdict. Whoever has the model is in Python and answers what is asked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/tune.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

// A search that knows how many items it has, for the checks that the header leaves to callers.
struct Searching {
  tune::Search search;
  std::size_t items = 0;
};

tune::Prefer preference(std::string_view name) {
  for (const tune::Prefer one : {tune::Prefer::long_texts, tune::Prefer::balanced, tune::Prefer::short_texts}) {
    if (name == tune::to_string(one)) return one;
  }
  raise({ErrorCode::invalid_argument, "expected \"long\", \"balanced\" or \"short\"", "prefer"});
}

tune::Metric metric(std::string_view name) {
  for (const tune::Metric one :
       {tune::Metric::ppl_long, tune::Metric::ppl_short, tune::Metric::answer_nll, tune::Metric::score}) {
    if (name == tune::to_string(one)) return one;
  }
  raise({ErrorCode::invalid_argument, "expected \"ppl_long\", \"ppl_short\", \"answer_nll\" or \"score\"", "deciding"});
}

void bind_space(nb::module_& m) {
  nb::class_<tune::Axis>(m, "Axis", "A side of the unit cube that is searched.")
      .def_prop_ro("name", &read_text<&tune::Axis::name, tune::Axis>)
      .def_ro("low", &tune::Axis::low, "The value at 0.")
      .def_ro("high", &tune::Axis::high, "The value at 1; of \"factor\" both are logarithms.")
      .def("__repr__",
           [](const tune::Axis& a) { return fmt::format("<{} from {:.6g} to {:.6g}>", a.name, a.low, a.high); });

  nb::class_<tune::Space>(m, "Space", "The methods that a search tries for one model and length, as points of a cube.")
      .def(
          "__init__",
          [](tune::Space* self, const SpecValue& spec, nb::object context) {
            new (self) tune::Space(value(tune::Space::of(*spec.spec, tokens(context, "context"))));
          },
          "spec"_a, "context"_a, nb::sig("def __init__(self, spec: Spec, context: int | str) -> None"))
      .def_prop_ro(
          "axes",
          [](const tune::Space& self) { return std::vector<tune::Axis>(self.axes().begin(), self.axes().end()); })
      .def_prop_ro(
          "fixed",
          [](const tune::Space& self) { return std::vector<Method>(self.fixed().begin(), self.fixed().end()); },
          "Methods from papers, which a search tries first and must beat.")
      .def("point_of", &tune::Space::point_of, "method"_a,
           "Where a method lies; None: it is of another law. mrrope-pro, mrrope-uni and mrrope-power have a point.")
      .def(
          "at",
          [](const tune::Space& self, const std::vector<double>& point) {
            const bool finite = std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
            require(finite && point.size() == self.axes().size(), "point", "expected a finite number for each axis");
            return self.at(point);
          },
          "point"_a, "The method of a point; coordinates outside 0 to 1 are clamped.");
}

void bind_candidates(nb::module_& m) {
  nb::class_<tune::Loss>(m, "Loss", R"(What one item loses under one method, lower is better.

beyond the trained length, and within; 0 for every method where an item says nothing about one of them.)")
      .def(
          "__init__",
          [](tune::Loss* self, double beyond, double within) {
            require(std::isfinite(beyond) && std::isfinite(within), "loss", "expected finite numbers");
            new (self) tune::Loss{beyond, within};
          },
          "beyond"_a, "within"_a)
      .def_ro("beyond", &tune::Loss::beyond)
      .def_ro("within", &tune::Loss::within)
      .def("__repr__",
           [](const tune::Loss& l) { return fmt::format("Loss(beyond={:.6g}, within={:.6g})", l.beyond, l.within); });

  nb::class_<tune::Candidate>(m, "Candidate", "A method that a search has tried.")
      .def_ro("method", &tune::Candidate::method)
      .def_prop_ro("name", &tune::Candidate::name, "The method as it is spelt.")
      .def_ro("point", &tune::Candidate::point, "Of the space; empty: it lies outside.")
      .def_ro("losses", &tune::Candidate::losses, "Of every item; empty: not measured.")
      .def_ro("fixed", &tune::Candidate::fixed, "Whether it is a method from a paper.")
      .def_prop_ro(
          "mean", [](const tune::Candidate& c) { return c.losses.empty() ? std::nullopt : std::optional(c.mean()); },
          "Over the items; None: not measured.")
      .def("__repr__",
           [](const tune::Candidate& c) { return fmt::format("<{} on {} items>", c.name(), c.losses.size()); });

  m.def(
      "front", [](const std::vector<tune::Candidate>& candidates) { return tune::front(candidates); }, "candidates"_a,
      "Indices of the measured candidates that no other beats on one side without losing on the other.");
}

void construct(Searching* self, const tune::Space& space, std::size_t items, std::int64_t method_tokens,
               std::int64_t token_budget, std::string_view prefer, std::uint64_t seed) {
  require(items > 0, "items", "expected at least one item");
  require(method_tokens > 0, "tokens", "expected a positive cost");
  const tune::SearchOptions options{.items = items,
                                    .tokens = method_tokens,
                                    .token_budget = token_budget,
                                    .prefer = preference(prefer),
                                    .seed = seed};
  new (self) Searching{tune::Search(space, options), items};
}

void tell(Searching& self, std::vector<tune::Loss> losses) {
  require(self.search.ask() && losses.size() == self.items, "losses", "expected what was asked for, a Loss per item");
  self.search.tell(std::move(losses));
}

// best() and best_fixed() are of what was measured.
const tune::Search& measured(const Searching& self) {
  require(self.search.tokens() > 0, "search", "nothing has been measured yet");
  return self.search;
}

void bind_search(nb::module_& m) {
  nb::class_<Searching>(m, "Search", R"(Finds a method by asking for losses (docs/tune.md); measures nothing itself.

    search = Search(Space(spec, "32k"), items=6, tokens=6 * 16384, token_budget=3_000_000)
    while method := search.ask():
        search.tell([loss_of(method, item) for item in range(6)])
    search.best, search.best_fixed

The same search for the same options and answers: one that was interrupted goes on by being told again.)")
      .def("__init__", &construct, "space"_a, nb::kw_only(), "items"_a, "tokens"_a, "token_budget"_a,
           "prefer"_a = "balanced", "seed"_a = 1)
      .def(
          "ask", [](const Searching& self) { return self.search.ask(); },
          "A method; the same until tell() is called. None: the budget is spent, or nothing new can be tried.")
      .def("tell", &tell, "losses"_a)
      .def_prop_ro("candidates",
                   [](const Searching& self) {
                     const auto all = self.search.candidates();
                     return std::vector<tune::Candidate>(all.begin(), all.end());
                   })
      .def_prop_ro(
          "tokens", [](const Searching& self) { return self.search.tokens(); }, "Told so far.")
      .def_prop_ro(
          "best", [](const Searching& self) { return measured(self).best(); },
          "Of what was measured; a method from a paper wins a draw.")
      .def_prop_ro("best_fixed", [](const Searching& self) { return measured(self).best_fixed(); });
}

tune::Measured made(std::string name, std::vector<double> ppl_long, std::vector<double> ppl_short,
                    std::vector<double> answer_nll, std::vector<double> score) {
  for (const auto* list : {&ppl_long, &ppl_short, &answer_nll, &score}) {
    require(std::all_of(list->begin(), list->end(), [](double x) { return std::isfinite(x); }), "measured",
            "expected finite numbers");
  }
  return {std::move(name), std::move(ppl_long), std::move(ppl_short), std::move(answer_nll), std::move(score)};
}

tune::Verdict judged(const tune::Measured& tuned, const std::vector<tune::Measured>& fixed, std::string_view best_fixed,
                     std::string_view deciding) {
  bool known = false;
  for (const tune::Measured& other : fixed) {
    known = known || other.name == best_fixed;
    for (const auto list :
         {&tune::Measured::ppl_long, &tune::Measured::ppl_short, &tune::Measured::answer_nll, &tune::Measured::score}) {
      require((other.*list).empty() || (other.*list).size() == (tuned.*list).size(), "fixed",
              "expected as many items as the tuned method has, or none");
    }
  }
  require(known, "best_fixed", "expected the name of one of the fixed methods");
  return tune::verdict(tuned, fixed, best_fixed, metric(deciding));
}

void bind_verdict(nb::module_& m) {
  nb::class_<tune::Measured>(m, "Measured", R"(What one method lost on items that the search has not seen.

-ln p per token of each text as a whole and up to the trained length, -ln p per token of each answer, and the score of
each, 0 to 1. The k-th item is the same for all methods.)")
      .def(
          "__init__",
          [](tune::Measured* self, std::string name, std::vector<double> ppl_long, std::vector<double> ppl_short,
             std::vector<double> answer_nll, std::vector<double> score) {
            new (self) tune::Measured(made(std::move(name), std::move(ppl_long), std::move(ppl_short),
                                           std::move(answer_nll), std::move(score)));
          },
          "name"_a, nb::kw_only(), "ppl_long"_a, "ppl_short"_a, "answer_nll"_a, "score"_a)
      .def_prop_ro("name", &read_text<&tune::Measured::name, tune::Measured>)
      .def_ro("ppl_long", &tune::Measured::ppl_long)
      .def_ro("ppl_short", &tune::Measured::ppl_short)
      .def_ro("answer_nll", &tune::Measured::answer_nll)
      .def_ro("score", &tune::Measured::score);

  nb::class_<tune::Difference>(m, "TunedDifference", R"(The tuned method minus another, on items that both were given.

Of perplexities the relative difference (-0.03: 3 % lower), else that of the means. low and high are the ends of an
interval of at least 95 %; better and worse say that 0 lies outside of it.)")
      .def_prop_ro("against", &read_text<&tune::Difference::against, tune::Difference>)
      .def_prop_ro(
          "metric", [](const tune::Difference& d) { return tune::to_string(d.metric); },
          "\"ppl_long\", \"ppl_short\", \"answer_nll\" or \"score\".")
      .def_ro("difference", &tune::Difference::difference)
      .def_ro("low", &tune::Difference::low)
      .def_ro("high", &tune::Difference::high)
      .def_ro("items", &tune::Difference::items)
      .def_ro("better", &tune::Difference::better)
      .def_ro("worse", &tune::Difference::worse)
      .def("__repr__", [](const tune::Difference& d) {
        return text(fmt::format("<{} against {}: {:+.4f} ({:+.4f} to {:+.4f})>", tune::to_string(d.metric), d.against,
                                d.difference, d.low, d.high));
      });

  nb::class_<tune::Verdict>(m, "Verdict", "Whether what was found may be believed.")
      .def_ro("differences", &tune::Verdict::differences)
      .def_prop_ro("recommended", &read_text<&tune::Verdict::recommended, tune::Verdict>,
                   "\"tuned\", or the fixed method to use instead.");

  m.def("verdict", &judged, "tuned"_a, "fixed"_a, "best_fixed"_a, "deciding"_a = "ppl_long",
        R"(Compares held-out losses of the tuned method with those of others.

"tuned" is recommended only if it is better than best_fixed by the deciding metric, and not worse at answers. Which
fixed method is the best must come from the tuning items.)");
}

}  // namespace

void bind_tune(nb::module_& m) {
  bind_space(m);
  bind_candidates(m);
  bind_search(m);
  bind_verdict(m);
}

}  // namespace mrrope::python
