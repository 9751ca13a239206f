// SPDX-License-Identifier: MIT
//
// Run folders: what is measured in Python is kept as what is measured elsewhere, locked, synced and continued alike.
#include <fmt/format.h>

#include <memory>

#include "mrrope/records.h"
#include "mrrope/version.h"
#include "python/src/convert.h"
#include "python/src/types.h"

namespace mrrope::python {

namespace {

using namespace nb::literals;

struct Run {
  std::unique_ptr<eval::RunFolder> folder;
};

Run opened(const std::string& path, std::string_view info) {
  const eval::RunInfo wanted = value(eval::run_info_from_json(info));
  return {std::make_unique<eval::RunFolder>(value(eval::RunFolder::open(path, wanted)))};
}

}  // namespace

void bind_runs(nb::module_& m) {
  nb::class_<Run>(m, "Run", "A folder of records (docs/evaluation.md). No other process writes it meanwhile.")
      .def("__contains__", [](const Run& self, std::string_view key) { return self.folder->find(key) != nullptr; })
      .def("__len__", [](const Run& self) { return self.folder->records().size(); })
      .def(
          "append",
          [](Run& self, std::string_view record) { check(self.folder->append(value(eval::record_from_json(record)))); },
          "record"_a, "JSON, mrrope.record/1. On disk when it returns.");
  m.def("open_run", &opened, "path"_a, "info"_a,
        "Makes a run folder, or continues one of the same task, model and settings. `info`: JSON, mrrope.run/1.");
  m.def(
      "content_hash", [](std::string_view text) { return eval::content_hash(text); }, "text"_a,
      "128 bits as hex digits.");
  m.def(
      "content_hash_of_file", [](const std::string& path) { return value(eval::content_hash_of_file(path)); }, "path"_a,
      "Of a file: of a large one some of it, so that it is known in a second.");
}

}  // namespace mrrope::python
