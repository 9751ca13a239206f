// SPDX-License-Identifier: MIT
//
// A path as the functions of Windows take it.
#pragma once

#include <string>

namespace mrrope::base::calls {

// UTF-8 as UTF-16; bytes that are none become U+FFFD.
std::wstring wide_text(const std::string& text);

// Of a path in UTF-8. One that would be longer than the 260 letters of old is given in full, with the \\?\ that lifts
// this limit in every version of the system, whatever its settings are.
std::wstring windows_path(const std::string& path);

}  // namespace mrrope::base::calls
