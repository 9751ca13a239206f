// SPDX-License-Identifier: MIT
#include "cli/eval/commit.h"

namespace mrrope::cli {

const char* commit() noexcept { return MRROPE_COMMIT; }

}  // namespace mrrope::cli
