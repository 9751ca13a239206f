// SPDX-License-Identifier: MIT
#include "files/open_elsewhere.h"

#include "files/elsewhere/calls.h"

namespace mrrope::base {

// No change reaches a file that somebody has open here: a new one takes its name (files/in_place.h). What remains to be
// known is who would not let it.
Use use_elsewhere(const File& file) { return calls::is_held(file.path()) ? Use::open : Use::none; }

Use use_by_processes(const File&) { return Use::unknown; }

}  // namespace mrrope::base
