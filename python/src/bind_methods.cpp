// SPDX-License-Identifier: MIT
//
// Methods by name, and the two that are lists of numbers.
#include <fmt/format.h>

#include "mrrope/catalogue.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;  // "name"_a

std::vector<double> copied(const Numbers& numbers) {
  const auto span = span_of(numbers);
  return {span.begin(), span.end()};
}

// Ranges only: how many numbers there have to be is known when a plan is made.
Method checked(Method method, std::size_t pairs) {
  check(check_method(method, static_cast<int>(pairs)));
  return method;
}

void bind_method(nb::module_& m) {
  nb::class_<Method>(m, "Method", R"(How the rotary table is changed: a name with parameters.

Method("yarn:beta_fast=16+resonance") is NAME[:key=value]...[+MODIFIER]..., as on the command line; methods() lists the
names. Two that are lists of numbers have constructors of their own: Method.custom and Method.longrope.)")
      .def(
          "__init__", [](Method* self, std::string_view spelling) { new (self) Method(value(parse_method(spelling))); },
          "spelling"_a)
      .def_static(
          "custom",
          [](const Numbers& factors, std::optional<double> attention_scale) {
            std::vector<double> list = copied(factors);
            const std::size_t pairs = list.size();
            return checked(Method(Custom{std::move(list)}, {}, attention_scale), pairs);
          },
          "factors"_a, "attention_scale"_a = nb::none(),
          R"(Pair factors of your own, one per pair: pair i turns factors[i] times slower. 1e30 stops a pair.)")
      .def_static(
          "longrope",
          [](const Numbers& short_factors, const Numbers& long_factors, std::optional<double> attention_scale) {
            LongRope law{copied(short_factors), copied(long_factors)};
            const std::size_t pairs = law.long_factors.size();
            return checked(Method(std::move(law), {}, attention_scale), pairs);
          },
          "short_factors"_a, "long_factors"_a, "attention_scale"_a = nb::none(),
          "Searched lists, one for texts up to the trained length and one beyond.")
      .def_prop_ro(
          "name",
          [](const Method& self) { return text(std::visit([](const auto& law) { return law.name; }, self.law)); },
          "Without parameters and modifiers: \"yarn\".")
      .def_prop_ro("depends_on_length", &depends_on_length, "Whether every length of text has a table of its own.")
      .def("__str__", &spell)
      .def("__repr__", [](const Method& self) { return fmt::format("Method(\"{}\")", spell(self)); })
      .def("__eq__", &equal<Method>, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Method& self) { return std::hash<std::string>()(spell(self)); })
      .def("__getstate__", &spell)
      .def("__setstate__",
           [](Method& self, std::string_view spelling) { new (&self) Method(value(parse_method(spelling))); });
}

void bind_catalogue(nb::module_& m) {
  nb::class_<ParameterInfo>(m, "Parameter", "A parameter of a method.")
      .def_prop_ro("name", &read_text<&ParameterInfo::name, ParameterInfo>)
      .def_prop_ro("meaning", &read_text<&ParameterInfo::meaning, ParameterInfo>)
      .def_prop_ro("default", &read_text<&ParameterInfo::default_value, ParameterInfo>,
                   "As spelt; \"required\", or \"auto\" where it follows from the model.")
      .def_ro("min", &ParameterInfo::min)
      .def_ro("max", &ParameterInfo::max)
      .def("__repr__", [](const ParameterInfo& p) { return fmt::format("<{}={}>", p.name, p.default_value); });

  nb::class_<MethodInfo>(m, "MethodInfo", "What a method is, as `mrrope methods NAME` prints it.")
      .def_prop_ro("name", &read_text<&MethodInfo::name, MethodInfo>)
      .def_ro("aliases", &MethodInfo::aliases)
      .def_prop_ro("summary", &read_text<&MethodInfo::summary, MethodInfo>)
      .def_prop_ro("formula", &read_text<&MethodInfo::formula, MethodInfo>, "The pair factor s_i.")
      .def_prop_ro("kind", &read_text<&MethodInfo::kind, MethodInfo>, "The conversion it makes.")
      .def_prop_ro("source", &read_text<&MethodInfo::source, MethodInfo>, "Who published it.")
      .def_prop_ro("equation", &read_text<&MethodInfo::equation, MethodInfo>, "In docs/theory.md.")
      .def_ro("is_modifier", &MethodInfo::is_modifier)
      .def_ro("needs_parameters", &MethodInfo::needs_parameters)
      .def_ro("depends_on_length", &MethodInfo::depends_on_length)
      .def_ro("parameters", &MethodInfo::parameters)
      .def("__repr__", [](const MethodInfo& info) { return fmt::format("<{}: {}>", info.name, info.summary); });

  m.def(
      "methods", [] { return method_catalogue(); }, "Every method there is, modifiers last.");
}

}  // namespace

void bind_methods(nb::module_& m) {
  bind_method(m);
  bind_catalogue(m);
}

}  // namespace mrrope::python
