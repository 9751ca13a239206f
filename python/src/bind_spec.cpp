// SPDX-License-Identifier: MIT
//
// What a model says about its rotary embedding.
#include <fmt/format.h>

#include "mrrope/catalogue.h"
#include "mrrope/units.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

SpecValue checked(RopeSpec spec) {
  check(check_spec(spec));
  return spec_value(std::move(spec));
}

void construct(SpecValue* self, int dim, nb::object context, double base, const std::optional<Method>& scaling,
               double scaling_factor, nb::object scaling_context, std::string name) {
  LayerGroup group{.rotary_dim = dim, .base = base};
  if (scaling) {
    group.trained = TrainedScaling{
        .method = *scaling, .factor = scaling_factor, .context_original = tokens(scaling_context, "scaling_context")};
  }
  new (self) SpecValue(
      checked({.name = std::move(name), .context_trained = tokens(context, "context"), .groups = {std::move(group)}}));
}

std::string repr(const SpecValue& self) {
  const LayerGroup& first = self.spec->groups.front();
  std::string out = fmt::format("Spec(dim={}, base={}, context={}", first.rotary_dim, format_number(first.base),
                                self.spec->context_trained);
  if (first.trained) {
    out += fmt::format(", scaling=Method(\"{}\"), scaling_factor={}, scaling_context={}", spell(first.trained->method),
                       format_number(first.trained->factor), first.trained->context_original);
  }
  if (self.spec->groups.size() > 1) out += fmt::format(") and {} more groups", self.spec->groups.size() - 1);
  else out += ")";
  return out;
}

Array turns_of(const Spectrum& spectrum) {
  std::vector<double> out;
  for (int i = 0; i < spectrum.pairs(); ++i) out.push_back(turns(spectrum, i));
  return taken(std::move(out));
}

void bind_group(nb::module_& m) {
  nb::class_<SpecGroup>(m, "SpecGroup", "Layers of a model that share one rotary table.")
      .def_prop_ro("name", [](const SpecGroup& self) { return text(self.group().name); })
      .def_prop_ro(
          "layers", [](const SpecGroup& self) { return self.group().layers; },
          "Their indices; empty: all that no other group names.")
      .def_prop_ro("dim", [](const SpecGroup& self) { return self.group().rotary_dim; })
      .def_prop_ro("base", [](const SpecGroup& self) { return self.group().base; })
      .def_prop_ro(
          "extended", [](const SpecGroup& self) { return self.group().extended; },
          "False for layers that see a bounded distance and keep their table (sliding windows).")
      .def_prop_ro(
          "inv_freq", [](const SpecGroup& self) { return taken(spectrum_of(*self.spec, self.index).inv_freq); },
          nb::rv_policy::reference, "What these layers were trained with, radians per token.")
      .def("__repr__", [](const SpecGroup& self) {
        return fmt::format("<group \"{}\", {} pairs, base {}>", self.group().name, self.group().rotary_dim / 2,
                           format_number(self.group().base));
      });
}

}  // namespace

void bind_spec(nb::module_& m) {
  nb::class_<Band>(m, "Band", "The pairs between those that keep their speed and those that get the whole factor.")
      .def_ro("low", &Band::low)
      .def_ro("high", &Band::high)
      .def("__repr__", [](const Band& b) { return fmt::format("Band({:g}, {:g})", b.low, b.high); });

  bind_group(m);

  nb::class_<SpecValue>(m, "Spec", R"(What a model says about its rotary embedding.

Spec(dim=128, base=10000, context=4096) is Llama 2: dim rotated coordinates per head, context tokens in training. A model
with a scaling of its own adds it: scaling=Method("llama3"), scaling_factor=8, scaling_context=8192. spec() reads one
from a file, a config or a model.)")
      .def(
          "__init__", &construct, "dim"_a, "context"_a, "base"_a = 10000.0, nb::kw_only(), "scaling"_a = nb::none(),
          "scaling_factor"_a = 1.0, "scaling_context"_a = 1, "name"_a = "",
          nb::sig("def __init__(self, dim: int, context: int | str, base: float = 10000.0, *, scaling: Method | None = "
                  "None, scaling_factor: float = 1.0, scaling_context: int | str = 1, name: str = '') -> None"))
      .def_prop_ro("name", [](const SpecValue& self) { return text(self.spec->name); })
      .def_prop_ro(
          "context", [](const SpecValue& self) { return self.spec->context_trained; },
          "Tokens the released model is good for, its own scaling included.")
      .def_prop_ro("dim", [](const SpecValue& self) { return self.spec->groups.front().rotary_dim; })
      .def_prop_ro("base", [](const SpecValue& self) { return self.spec->groups.front().base; })
      .def_prop_ro(
          "groups",
          [](const SpecValue& self) {
            std::vector<SpecGroup> groups;
            for (std::size_t g = 0; g < self.spec->groups.size(); ++g) groups.push_back({self.spec, g});
            return groups;
          },
          "Layers by their table; the first group is the one an extension is about.")
      .def_prop_ro(
          "inv_freq", [](const SpecValue& self) { return taken(spectrum_of(*self.spec, 0).inv_freq); },
          nb::rv_policy::reference, "What the first group was trained with, radians per token.")
      .def_prop_ro(
          "turns", [](const SpecValue& self) { return turns_of(spectrum_of(*self.spec, 0)); }, nb::rv_policy::reference,
          "How often each pair turned round in training. [T3]")
      .def(
          "band",
          [](const SpecValue& self, double beta_fast, double beta_slow) {
            require(beta_slow > 0 && beta_fast >= beta_slow && beta_fast <= 1e12, "beta_fast",
                    "expected 0 < beta_slow <= beta_fast");
            return band(spectrum_of(*self.spec, 0), {.beta_fast = beta_fast, .beta_slow = beta_slow});
          },
          "beta_fast"_a = 32.0, "beta_slow"_a = 1.0, "The band of the first group. [T10]")
      .def("__repr__", &repr)
      .def("__eq__", &equal<SpecValue>, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const SpecValue& self) { return std::hash<std::string>()(repr(self)); });

  m.def(
      "parse_spec", [](std::string_view words) { return spec_value(value(parse_spec(words))); }, "words"_a,
      "\"dim=128,base=10000,ctx=4096\", as --spec on the command line.");
}

}  // namespace mrrope::python
