// SPDX-License-Identifier: MIT
//
// Is the ggml of this process the one we were built for?
#pragma once

#include <optional>

#include "mrrope/result.h"

namespace mrrope::plugin {

// ggml is at 0.x: a minor version may move fields and renumber operations. It compares the version of the backend
// interface itself (GGML_BACKEND_API_VERSION); this is about everything behind it.
Result<void> check_ggml();

}  // namespace mrrope::plugin
