// SPDX-License-Identifier: MIT
//
// Commands of which a part lives in the Python package, because what it needs does.
#pragma once

#include <string>
#include <vector>

namespace mrrope::cli {

// Becomes a python that runs main(words) of mrrope.`module`: $MRROPE_PYTHON, else that of the virtual environment whose
// program this is, else python_name(). The exit status. `extra`: what pip has to install,
// "mrrope[parquet]".
int become_python(const std::string& module, const std::string& extra, const std::vector<std::string>& words);

}  // namespace mrrope::cli
