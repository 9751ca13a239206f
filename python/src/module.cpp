// SPDX-License-Identifier: MIT
//
// mrrope._core: the C++ library as Python sees it. The package around it (python/mrrope) accepts paths, configs and
// models, and is what people import.
#include <nanobind/nanobind.h>

#include "mrrope/version.h"
#include "python/src/types.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ part of mrrope. Import mrrope instead.";
  m.attr("version") = MRROPE_VERSION;
  mrrope::python::bind_methods(m);
  mrrope::python::bind_spec(m);
  mrrope::python::bind_analysis(m);
  mrrope::python::bind_plan(m);
  mrrope::python::bind_ladder(m);
  mrrope::python::bind_engines(m);
  mrrope::python::bind_files(m);
  mrrope::python::bind_tasks(m);
  mrrope::python::bind_runs(m);
  mrrope::python::bind_tune(m);
  mrrope::python::bind_probe(m);
}
