// SPDX-License-Identifier: MIT
#include "files/open_elsewhere.h"

namespace mrrope::base {

Use use_elsewhere(const File&) { return Use::unknown; }

Use use_by_processes(const File&) { return Use::unknown; }

}  // namespace mrrope::base
