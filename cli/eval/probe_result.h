// SPDX-License-Identifier: MIT
//
// What `mrrope probe` says in the end: to people and to programs.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/eval/probe.h"

namespace mrrope::cli {

// One line about who is asked, fit to stand before anything else.
void print_server(const Probed& probed);

// `next`: a line for a shell; empty: none.
void print_probed(const Probed& probed, const std::string& next);

// {"schema": "mrrope.probe/1", …}
base::Json probed_json(const Probed& probed);

}  // namespace mrrope::cli
