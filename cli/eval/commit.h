// SPDX-License-Identifier: MIT
#pragma once

namespace mrrope::cli {

// The commit this program was built from, eight digits; empty if it was built from an unpacked archive. In a file of
// its own, because it is compiled anew whenever HEAD moves.
const char* commit() noexcept;

}  // namespace mrrope::cli
