// SPDX-License-Identifier: MIT
//
// The ladder and its rungs, which point into it.
#include <fmt/format.h>

#include "mrrope/catalogue.h"
#include "mrrope/ladder.h"
#include "mrrope/units.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

struct LadderValue {
  std::shared_ptr<const Ladder> ladder;
  bool operator==(const LadderValue& other) const { return *ladder == *other.ladder; }
};

struct RungValue {
  std::shared_ptr<const Rung> rung;  // keeps its ladder alive
  bool operator==(const RungValue& other) const { return *rung == *other.rung; }
};

LadderValue ladder_value(Ladder ladder) { return {std::make_shared<const Ladder>(std::move(ladder))}; }

std::string repr(const RungValue& self) {
  return fmt::format("<rung {}, {}>", self.rung->name, spell(self.rung->plan.method));
}

std::string repr(const LadderValue& self) {
  std::string rungs;
  for (const Rung& rung : self.ladder->rungs) {
    rungs += fmt::format("{}{} {}", rungs.empty() ? "" : ", ", rung.name, spell(rung.plan.method));
  }
  return fmt::format("<ladder {}>", rungs);
}

// 0 … kMaxContext: an answer may have no tokens, and a prompt none.
std::int64_t count(nb::handle tokens_wanted, const char* where) {
  const nb::object number = nb::steal(PyNumber_Index(tokens_wanted.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const std::int64_t out = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  require(overflow == 0 && out >= 0 && out <= kMaxContext, where, "expected a number of tokens between 0 and 2^40");
  return out;
}

std::optional<RungValue> rung_of(const LadderValue& self, nb::object prompt, nb::object answer) {
  std::optional<std::int64_t> asked;
  if (!answer.is_none()) asked = count(answer, "answer");
  const Rung* rung = rung_for(*self.ladder, count(prompt, "prompt"), asked);
  if (rung == nullptr) return std::nullopt;
  return RungValue{std::shared_ptr<const Rung>(self.ladder, rung)};
}

std::optional<std::int64_t> reserve_of(nb::handle reserve) {
  if (reserve.is_none()) return std::nullopt;
  return count(reserve, "reserve");
}

LadderValue made(const SpecValue& spec, nb::object context, const std::optional<Method>& method, nb::object reserve,
                 std::string source) {
  std::vector<std::int64_t> lengths;
  if (nb::isinstance<nb::list>(context)) {
    for (const nb::handle length : nb::cast<nb::list>(context)) lengths.push_back(tokens(length, "context"));
  } else {
    lengths = value(choose_rungs(*spec.spec, tokens(context, "context"), method));
  }
  Ladder ladder = value(make_ladder(*spec.spec, lengths, method, reserve_of(reserve)));
  ladder.source = std::move(source);
  return ladder_value(std::move(ladder));
}

LadderValue of_plans(const std::vector<PlanValue>& plans, nb::object reserve) {
  std::vector<Plan> values;
  for (const PlanValue& plan : plans) values.push_back(*plan.plan);
  return ladder_value(value(ladder_of_plans(std::move(values), reserve_of(reserve))));
}

}  // namespace

void bind_ladder(nb::module_& m) {
  nb::class_<RungValue>(m, "Rung", "One serving of a model: a plan, and the texts that it takes.")
      .def_prop_ro("name", [](const RungValue& self) { return text(self.rung->name); })
      .def_prop_ro(
          "length", [](const RungValue& self) { return self.rung->length; },
          "Tokens of prompt and answer that it takes.")
      .def_prop_ro("plan",
                   [](const RungValue& self) {
                     return PlanValue{{self.rung, &self.rung->plan}};
                   })
      .def_prop_ro(
          "why", [](const RungValue& self) { return text(self.rung->why); }, "What it costs, in a sentence.")
      .def("__repr__", [](const RungValue& self) { return text(repr(self)); })
      .def("__eq__", &equal<RungValue>, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const RungValue& self) { return std::hash<std::string>()(repr(self)); });

  nb::class_<LadderValue>(m, "Ladder", R"(Several servings of the same weights; a text goes to the lowest that holds it.

ladder() makes one. Short texts then pay nothing for long ones: the first rung is the model as it is. Ladders are values:
equal if everything is, and the same in JSON as on the command line.)")
      .def_prop_ro(
          "rungs",
          [](const LadderValue& self) {
            std::vector<RungValue> rungs;
            for (const Rung& rung : self.ladder->rungs) rungs.push_back({{self.ladder, &rung}});
            return rungs;
          },
          "By length, ascending.")
      .def_prop_ro(
          "reserve", [](const LadderValue& self) { return self.ladder->reserve; },
          "Tokens kept for an answer whose length nobody named.")
      .def_prop_ro("source", [](const LadderValue& self) { return text(self.ladder->source); })
      .def("rung_for", &rung_of, "prompt"_a, "answer"_a = nb::none(),
           nb::sig("def rung_for(self, prompt: int, answer: int | None = None) -> Rung | None"),
           "The lowest rung that holds a prompt and its answer, in tokens; without an answer the reserve is kept for "
           "one, and on the last rung what is left. None: beyond the last.")
      .def(
          "to_json", [](const LadderValue& self) { return text(to_json(*self.ladder)); },
          "A ladder file (docs/ladder.md), which every command reads.")
      .def_static(
          "from_json", [](std::string_view json) { return ladder_value(value(ladder_from_json(json))); }, "json"_a,
          "The ladder of a ladder file. Strict: Error.where is the path of the field that is wrong.")
      .def_static("of_plans", &of_plans, "plans"_a, "reserve"_a = nb::none(),
                  nb::sig("def of_plans(plans: collections.abc.Sequence[Plan], reserve: int | None = None) -> Ladder"),
                  "A rung per plan of one model, shorter ones first: tuned plans, for example.")
      .def("__repr__", [](const LadderValue& self) { return text(repr(self)); })
      .def("__eq__", &equal<LadderValue>, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const LadderValue& self) { return std::hash<std::string>()(repr(self)); })
      .def("__getstate__", [](const LadderValue& self) { return text(to_json(*self.ladder)); })
      .def("__setstate__", [](LadderValue& self, std::string_view json) {
        new (&self) LadderValue(ladder_value(value(ladder_from_json(json))));
      });

  m.def("make_ladder", &made, "spec"_a, "context"_a, "method"_a = nb::none(), "reserve"_a = nb::none(), "source"_a = "",
        nb::sig("def make_ladder(spec: Spec, context: int | str | list[int | str], method: Method | "
                "None = None, reserve: int | None = None, source: str = '') -> Ladder"),
        "Of one length: the rungs that cost least up to it; of several: those.");
}

}  // namespace mrrope::python
