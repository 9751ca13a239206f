// SPDX-License-Identifier: MIT
//
// The plan: arrays are views into it, and keep it alive.
#include <fmt/format.h>

#include "mrrope/catalogue.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

// A list of the first group, or of a group, without a copy: the Python object that is asked is its owner.
template <class Owner, auto List>
Array list(nb::pointer_and_handle<Owner> self) {
  if constexpr (std::is_same_v<Owner, PlanValue>) return view(self.p->plan->groups.front().*List, self.h);
  else return view(self.p->group().*List, self.h);
}

template <class Owner>
const GroupPlan& group_of(const Owner& self) {
  if constexpr (std::is_same_v<Owner, PlanValue>) return self.plan->groups.front();
  else return self.group();
}

// What a plan says of its first group and a group of itself.
template <class Owner>
void bind_table(nb::class_<Owner>& c) {
  c.def_prop_ro("inv_freq", &list<Owner, &GroupPlan::inv_freq>, "Radians per token of each pair; 0 stands still.")
      .def_prop_ro("pair_factors", &list<Owner, &GroupPlan::pair_factors>,
                   "By how much each pair is slower than base^(-i/n), the model's own scaling included.")
      .def_prop_ro("trained_factors", &list<Owner, &GroupPlan::trained_factors>,
                   "The model's own share of pair_factors; empty for a plain model.")
      .def_prop_ro("radix_factors", &list<Owner, &GroupPlan::lambda>, "lambda_i of what the method does. [T4]")
      .def_prop_ro(
          "attention_scale", [](const Owner& self) { return group_of(self).attention_scale; },
          "Multiplies cos and sin.")
      .def_prop_ro(
          "conversion", [](const Owner& self) { return group_of(self).radix; }, "What the method does, by its kind.")
      .def_prop_ro("band", [](const Owner& self) { return group_of(self).band; });
}

void bind_group(nb::module_& m) {
  nb::class_<PlanGroup> c(m, "PlanGroup", "What the layers of one group will use.");
  bind_table(c);
  c.def_prop_ro("name", [](const PlanGroup& self) { return text(self.plan->spec.groups[self.index].name); })
      .def_prop_ro(
          "extended", [](const PlanGroup& self) { return self.plan->spec.groups[self.index].extended; },
          "False: these layers keep their table.")
      .def_prop_ro(
          "layers", [](const PlanGroup& self) { return self.plan->spec.groups[self.index].layers; },
          "Empty: all that no other group names.")
      .def("__repr__", [](const PlanGroup& self) {
        return fmt::format("<group \"{}\", {}>", self.plan->spec.groups[self.index].name, describe(self.group().radix));
      });
}

std::string repr(const PlanValue& self) {
  const Plan& plan = *self.plan;
  return fmt::format("<plan {}, {} -> {} tokens, factor {:.6g}, attention scale {:.6g}>", spell(plan.method),
                     plan.spec.context_trained, plan.context_target, plan.factor, plan.groups[0].attention_scale);
}

PlanValue made(const SpecValue& spec, nb::object context, const std::optional<Method>& method, nb::object length,
               std::string source) {
  const std::int64_t target = tokens(context, "context");
  std::optional<std::int64_t> seen;
  if (!length.is_none()) seen = tokens(length, "length");
  Plan plan = method ? value(make_plan(*spec.spec, target, *method, seen)) : value(recommend(*spec.spec, target));
  plan.source = std::move(source);
  return plan_value(std::move(plan));
}

}  // namespace

void bind_plan(nb::module_& m) {
  bind_group(m);

  nb::class_<Explanation>(m, "Explanation", "Why a plan is what it is, in sentences.")
      .def_prop_ro(
          "reasons", [](const Explanation& e) { return texts(e.reasons); }, nb::sig("def reasons(self) -> list[str]"))
      .def_prop_ro(
          "cautions", [](const Explanation& e) { return texts(e.cautions); },
          nb::sig("def cautions(self) -> list[str]"))
      .def_prop_ro(
          "measured", [](const Explanation& e) { return text(e.measured); },
          "What was measured of this method near this factor; empty: nothing.")
      .def("__str__", [](const Explanation& e) {
        std::string all;
        for (const auto* part : {&e.reasons, &e.cautions})
          for (const std::string& sentence : *part) all += (all.empty() ? "" : "\n") + sentence;
        if (!e.measured.empty()) all += (all.empty() ? "" : "\n") + e.measured;
        return text(all);
      });

  nb::class_<PlanValue> c(m, "Plan", R"(How one model is extended, complete enough to be carried out by anyone.

plan() makes one. Lists are read-only numpy arrays that point into the plan; those of the plan itself are those of its
first group. Plans are values: equal if everything is, and the same in JSON as on the command line.)");
  bind_table(c);
  c.def_prop_ro(
       "spec",
       [](const PlanValue& self) { return SpecValue{std::shared_ptr<const RopeSpec>(self.plan, &self.plan->spec)}; })
      .def_prop_ro("method", [](const PlanValue& self) { return self.plan->method; })
      .def_prop_ro(
          "context", [](const PlanValue& self) { return self.plan->context_target; }, "The length wanted.")
      .def_prop_ro(
          "factor", [](const PlanValue& self) { return self.plan->factor; }, "That length over the trained one; >= 1.")
      .def_prop_ro(
          "length", [](const PlanValue& self) { return self.plan->length; },
          "For methods with a table per length: the one this table is for.")
      .def_prop_ro("source", [](const PlanValue& self) { return text(self.plan->source); })
      .def_prop_ro("groups",
                   [](const PlanValue& self) {
                     std::vector<PlanGroup> groups;
                     for (std::size_t g = 0; g < self.plan->groups.size(); ++g) groups.push_back({self.plan, g});
                     return groups;
                   })
      .def_prop_ro(
          "exposure", [](const PlanValue& self) { return exposure(*self.plan); },
          "What is new to the model, and how far phases move from training.")
      .def("explain", [](const PlanValue& self) { return explain(*self.plan); })
      .def(
          "to_json", [](const PlanValue& self) { return text(to_json(*self.plan)); },
          "A plan file (docs/plan-file.md), which every command reads.")
      .def_static(
          "from_json", [](std::string_view json) { return plan_value(value(plan_from_json(json))); }, "json"_a,
          "The plan of a plan file. Strict: Error.where is the path of the field that is wrong.")
      .def("__repr__", &repr)
      .def("__eq__", &equal<PlanValue>, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const PlanValue& self) { return std::hash<std::string>()(repr(self)); })
      .def("__getstate__", [](const PlanValue& self) { return text(to_json(*self.plan)); })
      .def("__setstate__", [](PlanValue& self, std::string_view json) {
        new (&self) PlanValue(plan_value(value(plan_from_json(json))));
      });
  m.def(
      "make_plan", &made, "spec"_a, "context"_a, "method"_a = nb::none(), "length"_a = nb::none(), "source"_a = "",
      nb::sig("def make_plan(spec: Spec, context: int | str, method: Method | None = None, length: int | str | None = "
              "None, source: str = '') -> Plan"),
      "Without a method: the recommended plan.");
}

}  // namespace mrrope::python
