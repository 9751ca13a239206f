// SPDX-License-Identifier: MIT
//
// Commands of which a part lives in the Python package, because what it needs does.
#pragma once

#include <string>
#include <vector>

namespace mrrope::cli {

// Becomes a python ($MRROPE_PYTHON, else python3) that runs main(words) of mrrope.`module`; returns only if there is
// none: an exit status. `extra`: what pip has to install, "mrrope[parquet]".
int become_python(const std::string& module, const std::string& extra, const std::vector<std::string>& words);

}  // namespace mrrope::cli
