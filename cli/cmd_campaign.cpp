// SPDX-License-Identifier: MIT
//
// Campaigns live in the Python package, because Ray does. This finds a python that has it and becomes that.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

// Not `-m mrrope.campaign`: that would take a folder `mrrope` that happens to be here for the package, and say nothing
// helpful where there is none.
constexpr const char* kStart = R"py(import sys
if sys.path[:1] == [""]: sys.path.pop(0)
try:
    from mrrope.campaign.command import main
except ImportError as error:
    print(f"error: {sys.executable} has no mrrope with campaigns ({error})", file=sys.stderr)
    print("hint: pip install 'mrrope[campaign]'; MRROPE_PYTHON names another python", file=sys.stderr)
    sys.exit(1)
sys.exit(main(sys.argv[1:])))py";

}  // namespace

int run_campaign(int argc, char** argv) {
  const char* named = std::getenv("MRROPE_PYTHON");  // NOLINT(concurrency-mt-unsafe)
  std::string python = named != nullptr && *named != '\0' ? named : "python3";
  // Workers measure with this very program, unless another is named
  std::error_code status;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", status);
  if (!status) ::setenv("MRROPE_BIN", self.c_str(), 0);  // NOLINT(concurrency-mt-unsafe)
  std::string option = "-c";
  std::string start = kStart;
  std::vector<char*> words{python.data(), option.data(), start.data()};
  words.insert(words.end(), argv + 1, argv + argc);
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  print_error(fmt::format("{} could not be started", python),
              "campaigns run in Python: pip install 'mrrope[campaign]'; MRROPE_PYTHON names its python");
  return 1;
}

}  // namespace mrrope::cli
