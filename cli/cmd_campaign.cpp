// SPDX-License-Identifier: MIT
//
// Campaigns live in the Python package, because Ray does.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/python_part.h"

namespace mrrope::cli {

int run_campaign(int argc, char** argv) {
  // Workers measure with this very program, unless another is named
  std::error_code status;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", status);
  if (!status) ::setenv("MRROPE_BIN", self.c_str(), 0);  // NOLINT(concurrency-mt-unsafe)
  return become_python("campaign.command", "mrrope[campaign]", std::vector<std::string>(argv + 1, argv + argc));
}

}  // namespace mrrope::cli
