// SPDX-License-Identifier: MIT
//
// Whether another program has a file open or mapped: it would go on with shifted weights.
#pragma once

#include "files/file.h"

namespace mrrope::base {

enum class Use { none, open, unknown };

// By a write lease, which is granted only if nobody else has the file open, and is given back at once. Only the owner
// of a file may ask for one; whoever is not looks at the processes. Waits a fifth of a second for others to let go.
Use use_elsewhere(const File& file);

// By what /proc says of descriptors and mappings. `unknown`: none was found, but there are processes that the caller
// may not look into. Processes outside the caller's namespace are never seen.
Use use_by_processes(const File& file);

}  // namespace mrrope::base
