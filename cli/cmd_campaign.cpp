// SPDX-License-Identifier: MIT
//
// Campaigns live in the Python package, because Ray does.
#include <filesystem>
#include <string>
#include <vector>

#include "base/paths.h"
#include "cli/host.h"
#include "cli/program.h"
#include "cli/python_part.h"

namespace mrrope::cli {

int run_campaign(const std::vector<std::string>& words) {
  // Workers measure with this very program, unless another is named
  const std::filesystem::path self = own_program();
  if (!self.empty()) offer_environment_variable("MRROPE_BIN", base::to_text(self));
  return become_python("campaign.command", "mrrope[campaign]", words);
}

}  // namespace mrrope::cli
