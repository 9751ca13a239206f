// SPDX-License-Identifier: MIT
#include "mrrope/runtime.h"

namespace mrrope {

std::string llama_version() { return MRROPE_LLAMA_VERSION; }

}  // namespace mrrope
