// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "mrrope/model_file.h"

namespace mrrope::targets {

// The window of a model whose layers that see the whole text do not rotate (Command A, EXAONE 4, Llama 4): positions
// reach no further than that, and no table limits its length. 0: any other model.
std::int64_t only_window(const ModelFile& model);

}  // namespace mrrope::targets
