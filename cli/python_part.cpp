// SPDX-License-Identifier: MIT
#include "cli/python_part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

// Not -m: that would take a folder `mrrope` that happens to be here for the package.
constexpr const char* kStart = R"py(import importlib, sys
if sys.path[:1] == [""]: sys.path.pop(0)
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
  const char* named = std::getenv("MRROPE_PYTHON");  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr && *named != '\0') return named;
  std::error_code unseen;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", unseen).parent_path();
  const std::string beside = (folder / "python3").string();
  const bool environment = std::filesystem::exists(folder.parent_path() / "pyvenv.cfg", unseen);
  return environment && ::access(beside.c_str(), X_OK) == 0 ? beside : "python3";
}

}  // namespace

int become_python(const std::string& module, const std::string& extra, const std::vector<std::string>& words) {
  std::vector<std::string> all = {python(), "-c", kStart, module, extra};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  print_error(fmt::format("{} could not be started", all.front()),
              fmt::format("this runs in Python: pip install '{}'; MRROPE_PYTHON names its python", extra));
  return 1;
}

}  // namespace mrrope::cli
