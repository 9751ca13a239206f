// SPDX-License-Identifier: MIT
#include "cli/python_part.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/paths.h"
#include "cli/host.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

// Not -m: that would take a folder `mrrope` that happens to be here for the package. The current folder leaves the path
// before anything that is no part of the interpreter is imported.
constexpr const char* kStart = R"py(import sys
if sys.path[:1] == [""]: sys.path.pop(0)
import importlib
module, extra = sys.argv[1:3]
try:
    main = importlib.import_module("mrrope." + module).main
except ImportError as error:
    print(f"error: {sys.executable} has no mrrope with this part ({error})", file=sys.stderr)
    print(f"hint: pip install '{extra}'; MRROPE_PYTHON names another python", file=sys.stderr)
    sys.exit(1)
sys.exit(main(sys.argv[3:])))py";

// A wheel puts this program into an environment, whose python is the one that has the package; it need not be on PATH
// (uvx, pipx, a path in full). Elsewhere, /usr/bin say, the python beside it would hide that of an active environment.
std::string python() {
  if (std::string named = environment_variable("MRROPE_PYTHON"); !named.empty()) return named;
  std::error_code unseen;
  const std::filesystem::path folder = own_program().parent_path();
  const std::filesystem::path beside = folder / python_name();
  const bool environment = std::filesystem::exists(folder.parent_path() / "pyvenv.cfg", unseen);
  return environment && is_program(beside) ? base::to_text(beside) : python_name();
}

}  // namespace

int become_python(const std::string& module, const std::string& extra, const std::vector<std::string>& words) {
  std::vector<std::string> all = {python(), "-c", kStart, module, extra};
  all.insert(all.end(), words.begin(), words.end());
  // Python 3.13 imports linecache before the first line of a -c; 3.10 does not know this variable.
  offer_environment_variable("PYTHONSAFEPATH", "1");
  bool missing = false;
  if (const std::optional<int> status = become(base::to_path(all.front()), all, missing)) return *status;
  print_error(fmt::format("{} could not be started", all.front()),
              fmt::format("this runs in Python: pip install '{}'; MRROPE_PYTHON names its python", extra));
  return 1;
}

}  // namespace mrrope::cli
