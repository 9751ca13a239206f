// SPDX-License-Identifier: MIT
//
// Engines, what they do with a file, and what is wrong with it.
#include <fmt/format.h>

#include "mrrope/findings.h"
#include "mrrope/targets.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

void bind_effective(nb::module_& m) {
  nb::class_<EffectiveGroup>(m, "EffectiveGroup", "What an engine does in one group of layers.")
      .def_prop_ro("name", &read_text<&EffectiveGroup::name, EffectiveGroup>)
      .def_prop_ro(
          "inv_freq", [](nb::pointer_and_handle<EffectiveGroup> self) { return view(self.p->inv_freq, self.h); },
          "Radians per token.")
      .def_ro("attention_scale", &EffectiveGroup::attention_scale);

  nb::class_<Effective>(m, "Effective", "What an engine really does with a file.")
      .def_ro("loads", &Effective::loads, "False: the engine refuses the file; `notes` say why.")
      .def_ro("by_table", &Effective::by_table, "False: it computes something else than `groups`; `notes` say what.")
      .def_ro("groups", &Effective::groups)
      .def_ro("context", &Effective::context, "The longest text it serves without further flags.")
      .def_prop_ro(
          "notes", [](const Effective& e) { return texts(e.notes); }, nb::sig("def notes(self) -> list[str]"),
          "What it ignores, caps or gets wrong.")
      .def("__repr__", [](const Effective& e) {
        return e.loads ? fmt::format("<{} groups, {} tokens>", e.groups.size(), e.context) : "<does not load>";
      });

  nb::class_<GroupDifference>(m, "Difference", "How far apart two tables are.")
      .def_ro("table", &GroupDifference::table, "Largest relative difference of an angular speed.")
      .def_ro("pair", &GroupDifference::pair, "Where that is.")
      .def_ro("scale", &GroupDifference::scale, "Relative difference of the attention scales.")
      .def("__repr__", [](const GroupDifference& d) {
        return fmt::format("Difference(table={:.3g}, pair={}, scale={:.3g})", d.table, d.pair, d.scale);
      });

  m.def("group_difference", &group_difference, "a"_a, "b"_a);
  m.def(
      "effective_groups", [](const PlanValue& plan) { return effective_groups(*plan.plan); }, "plan"_a,
      "A plan as an engine that obeys it.");
}

void bind_catalogues(nb::module_& m) {
  nb::class_<EngineInfo>(m, "Engine", "An engine whose behaviour is known.")
      .def_prop_ro("name", &read_text<&EngineInfo::name, EngineInfo>, "As it is typed: \"vllm\".")
      .def_prop_ro("title", &read_text<&EngineInfo::title, EngineInfo>)
      .def_prop_ro("versions", &read_text<&EngineInfo::versions, EngineInfo>, "For which it was verified.")
      .def_prop_ro(
          "evidence", [](const EngineInfo& e) { return to_string(e.evidence); },
          "\"run\": the engine was run and its table compared; \"read\": its source was read.")
      .def_ro("reads_gguf", &EngineInfo::reads_gguf)
      .def_ro("reads_hf", &EngineInfo::reads_hf)
      .def("__repr__", [](const EngineInfo& e) { return fmt::format("<{} {}>", e.name, e.versions); });
  m.def(
      "engines", [] { return engine_catalogue(); }, "Every engine whose behaviour is known.");

  nb::class_<Finding>(m, "Finding", "Something wrong with a file (docs/findings.md).")
      .def_prop_ro("code", &read_text<&Finding::code, Finding>, "\"R004\".")
      .def_prop_ro(
          "severity", [](const Finding& f) { return to_string(f.severity); }, "note, warning or error.")
      .def_prop_ro("message", &read_text<&Finding::message, Finding>)
      .def_prop_ro("advice", &read_text<&Finding::advice, Finding>)
      .def_prop_ro("engine", &read_text<&Finding::engine, Finding>, "Who does it; empty: the file itself.")
      .def("__repr__",
           [](const Finding& f) { return text(fmt::format("<{} {}: {}>", f.code, to_string(f.severity), f.message)); });
}

}  // namespace

void bind_engines(nb::module_& m) {
  bind_effective(m);
  bind_catalogues(m);
}

}  // namespace mrrope::python
