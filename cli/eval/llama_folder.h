// SPDX-License-Identifier: MIT
//
// Another llama.cpp than the one that mrrope-eval came with: one that was built for a GPU.
#pragma once

#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::cli {

// Takes the libraries of llama.cpp from the folder that `--llama DIR` names, or MRROPE_LLAMA_DIR: an install prefix, or
// a folder that has them side by side, as llama.cpp's releases do. The system's loader has chosen libraries before
// main() begins, so the program begins once more, with that folder first. `words`: the command line. An Error if there
// is no llama.cpp, or one of a version that this program was not built for.
Result<void> use_named_llama(const std::vector<std::string>& words);

}  // namespace mrrope::cli
