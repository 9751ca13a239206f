// SPDX-License-Identifier: MIT
//
// Model files: read, judged, extended. Paths come as bytes, because that is what they are.
#include <fmt/format.h>

#include "mrrope/choose.h"
#include "mrrope/extend.h"
#include "mrrope/findings.h"
#include "mrrope/kv_cache.h"
#include "mrrope/targets.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

std::string bytes_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

std::vector<nb::object> path_texts(const std::vector<std::string>& paths) {
  std::vector<nb::object> all;
  for (const std::string& path : paths) all.push_back(path_text(path));
  return all;
}

// A class of our own, so that facts are read once.
struct Model {
  ModelFile file;
  ModelFacts facts;
};

Model model_of(ModelFile file) {
  ModelFacts facts = facts_of(file);
  return {std::move(file), std::move(facts)};
}

const HfConfig& config_of(const Model& model) {
  if (model.file.hf() == nullptr) {
    raise({ErrorCode::unsupported, "expected a Hugging Face config, found a GGUF", model.file.path});
  }
  return *model.file.hf();
}

// A copy of gigabytes must end at Ctrl-C. The lock is taken only to look.
bool uninterrupted(std::uint64_t /*done*/, std::uint64_t /*total*/) {
  const nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() == 0;
}

// Runs without the lock: others may work while gigabytes are copied.
template <class Work>
Extension written(Work work) {
  Result<Extension> done = [&] {
    const nb::gil_scoped_release unlocked;
    return work();
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return value(std::move(done));
}

ExtendOptions options_of(std::string engine, const nb::bytes& output, bool in_place, bool sidecar, bool overwrite,
                         bool relabel, bool copy, bool any_factor, bool dry_run) {
  return {.engine = std::move(engine),
          .output = bytes_of(output),
          .in_place = in_place,
          .sidecar = sidecar,
          .overwrite = overwrite,
          .relabel = relabel,
          .copy = copy,
          .any_factor = any_factor,
          .dry_run = dry_run,
          .progress = uninterrupted};
}

void bind_model(nb::module_& m) {
  nb::class_<KvCache>(m, "KvCache", "What a model keeps in memory for a context; all 0: the file does not say.")
      .def_ro("bytes", &KvCache::bytes, "Keys and values, or latents.")
      .def_ro("recurrent_bytes", &KvCache::recurrent_bytes, "States, the same for every length.")
      .def_ro("bytes_per_token", &KvCache::bytes_per_token)
      .def_ro("full_layers", &KvCache::full_layers, "Those that keep every token.")
      .def_ro("sliding_layers", &KvCache::sliding_layers, "Those that keep sliding_cells tokens.")
      .def_ro("recurrent_layers", &KvCache::recurrent_layers)
      .def_ro("sliding_cells", &KvCache::sliding_cells)
      .def("__repr__", [](const KvCache& self) {
        return fmt::format("<{:.0f} bytes for {} full, {} sliding, {} recurrent layers>",
                           self.bytes + self.recurrent_bytes, self.full_layers, self.sliding_layers,
                           self.recurrent_layers);
      });

  nb::class_<Model>(m, "Model", "A model file that was read: header only, milliseconds for any size.")
      .def_prop_ro(
          "path", [](const Model& self) { return path_text(self.file.path); }, nb::sig("def path(self) -> str"))
      .def_prop_ro(
          "format", [](const Model& self) { return self.file.gguf() != nullptr ? "gguf" : "hf"; },
          "\"gguf\" or \"hf\".")
      .def_prop_ro("name", [](const Model& self) { return text(self.facts.name); })
      .def_prop_ro("architecture", [](const Model& self) { return text(self.facts.architecture); })
      .def_prop_ro("quantization", [](const Model& self) { return text(self.facts.quantization); })
      .def_prop_ro(
          "parameters", [](const Model& self) { return self.facts.parameters; }, "GGUF only; 0: unknown.")
      .def_prop_ro(
          "bytes", [](const Model& self) { return self.facts.bytes; }, "Of all shards; GGUF only.")
      .def_prop_ro("layers", [](const Model& self) { return self.facts.layers; })
      .def_prop_ro("heads", [](const Model& self) { return self.facts.heads; })
      .def_prop_ro("kv_heads", [](const Model& self) { return self.facts.kv_heads; })
      .def_prop_ro("head_dim", [](const Model& self) { return self.facts.head_dim; })
      .def_prop_ro("sliding_window", [](const Model& self) { return self.facts.sliding_window; })
      .def_prop_ro(
          "spec", [](const Model& self) { return spec_value(value(rope_spec(self.file))); },
          "What it was trained with; of a GGUF that mrrope extended, what it was before.")
      .def(
          "kv_bytes_per_token",
          [](const Model& self, double element_bytes) {
            require(element_bytes > 0 && element_bytes <= 8, "element_bytes", "expected a number of bytes up to 8");
            return kv_cache(self.file, 1, element_bytes).bytes_per_token;
          },
          "element_bytes"_a = 2.0,
          "Bytes that one more token takes once the windows of sliding layers are full (f16: 2).")
      .def(
          "kv_cache",
          [](const Model& self, nb::handle length, double element_bytes, int sequences) {
            require(element_bytes > 0 && element_bytes <= 8, "element_bytes", "expected a number of bytes up to 8");
            require(sequences >= 1 && sequences <= 256, "sequences", "expected a number up to 256");
            return kv_cache(self.file, tokens(length, "tokens"), element_bytes, sequences);
          },
          "tokens"_a, "element_bytes"_a = 2.0, "sequences"_a = 1,
          nb::sig("def kv_cache(self, tokens: int | str, element_bytes: float = 2.0, sequences: int = 1) -> KvCache"),
          "What llama.cpp keeps for a context of so many tokens that so many sequences share.")
      .def("__repr__", [](const Model& self) {
        return text(fmt::format("<{} {} {}>", self.facts.architecture, self.file.gguf() != nullptr ? "gguf" : "hf",
                                self.file.path));
      });

  m.def(
      "read_model",
      [](const nb::bytes& path, nb::object trained) {
        ModelFile file = value(read_model(bytes_of(path)));
        if (!trained.is_none()) file.context_trained = tokens(trained, "trained");
        return model_of(std::move(file));
      },
      "path"_a, "trained"_a = nb::none(),
      nb::sig("def read_model(path: bytes, trained: int | str | None = None) -> Model"));
  m.def(
      "read_config",
      [](std::string_view json) { return model_of({.path = {}, .content = value(HfConfig::parse(json))}); }, "json"_a,
      "A config.json that is not a file.");
  m.def(
      "recover", [](const nb::bytes& path) { return value(recover_gguf(bytes_of(path))); }, "path"_a,
      "Takes a change in place back that was interrupted; True if there was one.");
}

void bind_judgement(nb::module_& m) {
  m.def(
      "diagnose",
      [](const Model& model, std::string_view target) {
        return target.empty() ? diagnose(model.file) : value(examine(model.file, target)).findings;
      },
      "model"_a, "target"_a = "");
  m.def(
      "effective",
      [](const Model& model, std::string_view engine, nb::object context) {
        std::optional<std::int64_t> length;
        if (!context.is_none()) length = tokens(context, "context");
        return value(effective(engine, model.file, length));
      },
      "model"_a, "engine"_a, "context"_a = nb::none(),
      nb::sig("def effective(model: Model, engine: str, context: int | str | None = None) -> Effective"));
  m.def(
      "check_fit", [](const PlanValue& plan, const SpecValue& spec) { check(check_fit(*plan.plan, *spec.spec)); },
      "plan"_a, "spec"_a);
  m.def(
      "hf_overrides",
      [](const PlanValue& plan, const Model& model) { return text(value(hf_overrides(*plan.plan, config_of(model)))); },
      "plan"_a, "model"_a);
}

void bind_extend(nb::module_& m) {
  nb::class_<FieldChange>(m, "Change", "One field of a file, old and new, as texts; empty: not there.")
      .def_prop_ro("name", &read_text<&FieldChange::name, FieldChange>)
      .def_prop_ro("before", &read_text<&FieldChange::before, FieldChange>)
      .def_prop_ro("after", &read_text<&FieldChange::after, FieldChange>)
      .def("__repr__", [](const FieldChange& c) {
        const auto shown = [](const std::string& value) { return value.empty() ? "-" : value; };
        return text(fmt::format("<{}: {} -> {}>", c.name, shown(c.before), shown(c.after)));
      });

  nb::class_<Service>(m, "Service", "What one config.json does for one engine.")
      .def_prop_ro("engine", &read_text<&Service::engine, Service>)
      .def_prop_ro("title", &read_text<&Service::title, Service>)
      .def_ro("served", &Service::served, "The plan's table and scale come out.")
      .def_ro("checked", &Service::checked, "False: nobody has looked at this engine with this kind of model.")
      .def_ro("own_file", &Service::own_file, "Not by this file, but by one for this engine (target=).")
      .def_prop_ro("why", &read_text<&Service::why, Service>, "Where it is not served.")
      .def("__repr__", [](const Service& s) {
        const char* how = !s.checked   ? "not checked"
                          : s.served   ? "served"
                          : s.own_file ? "needs a file of its own"
                                       : "no";
        return fmt::format("<{}: {}>", s.engine, how);
      });

  nb::class_<Extension>(m, "Extension", "What was written, or would be.")
      .def_ro("changes", &Extension::changes)
      .def_prop_ro(
          "written", [](const Extension& e) { return path_text(e.written); }, nb::sig("def written(self) -> str"),
          "The file.")
      .def_prop_ro(
          "model", [](const Extension& e) { return path_text(e.model); }, nb::sig("def model(self) -> str"),
          "What an engine is started with: that file, or its folder.")
      .def_prop_ro(
          "beside", [](const Extension& e) { return path_texts(e.beside); }, nb::sig("def beside(self) -> list[str]"),
          "What was written with it: the Modelfile of Ollama, the script of a sidecar.")
      .def_prop_ro(
          "removed", [](const Extension& e) { return path_texts(e.removed); },
          nb::sig("def removed(self) -> list[str]"), "What undo() took away of a sidecar.")
      .def_ro("residual", &Extension::residual, "What the file can hold of the plan's speeds: largest difference.")
      .def_ro("scale_residual", &Extension::scale_residual, "The same of the attention scale.")
      .def_ro("difference", &Extension::difference,
              "Read back: the largest relative difference of an angular speed to the plan. None: nothing was written.")
      .def_ro("services", &Extension::services, "Which engines a config.json serves.")
      .def_prop_ro(
          "notes", [](const Extension& e) { return texts(e.notes); }, nb::sig("def notes(self) -> list[str]"))
      .def_prop_ro(
          "commands", [](const Extension& e) { return texts(e.commands); }, nb::sig("def commands(self) -> list[str]"),
          "Ready to paste.")
      .def("__repr__", [](const Extension& e) {
        return text(fmt::format("<{} changes in {}>", e.changes.size(), e.written.empty() ? "no file" : e.written));
      });

  m.def(
      "choose",
      [](const Model& model, nb::object context, std::string_view engine, bool relabel) {
        const Plan wanted = value(recommend(model.file, tokens(context, "context")));
        // What no engine runs is refused by extend_model(), with its reason
        const Result<Choice> choice = choose(model.file, wanted, engine, {.relabel = relabel});
        return choice ? nb::make_tuple(plan_value(choice->plan), text(describe(*choice)))
                      : nb::make_tuple(plan_value(wanted), "");
      },
      "model"_a, "context"_a, "engine"_a, "relabel"_a,
      nb::sig("def choose(model: Model, context: int | str, engine: str, relabel: bool) -> tuple[Plan, str]"));
  m.def(
      "extend_model",
      [](const Model& model, const PlanValue& plan, std::string engine, const nb::bytes& output, bool in_place,
         bool sidecar, bool overwrite, bool relabel, bool copy, bool any_factor, bool dry_run, const std::string& why) {
        const ExtendOptions options =
            options_of(std::move(engine), output, in_place, sidecar, overwrite, relabel, copy, any_factor, dry_run);
        Extension done = written([&] { return extend_model(model.file, *plan.plan, options); });
        if (!why.empty()) done.notes.insert(done.notes.begin(), why);
        return done;
      },
      "model"_a, "plan"_a, "engine"_a, "output"_a, "in_place"_a, "sidecar"_a, "overwrite"_a, "relabel"_a, "copy"_a,
      "any_factor"_a, "dry_run"_a, "why"_a);
  m.def(
      "undo_extension",
      [](const Model& model, const nb::bytes& output, bool in_place, bool overwrite, bool dry_run) {
        const ExtendOptions options = options_of("", output, in_place, false, overwrite, false, false, false, dry_run);
        return written([&] { return undo_extension(model.file, options); });
      },
      "model"_a, "output"_a, "in_place"_a, "overwrite"_a, "dry_run"_a);
}

}  // namespace

void bind_files(nb::module_& m) {
  bind_model(m);
  bind_judgement(m);
  bind_extend(m);
}

}  // namespace mrrope::python
