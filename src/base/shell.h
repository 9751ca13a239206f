// SPDX-License-Identifier: MIT
//
// Words as the shells of either kind of system read them back. shell_quoted (base/text.h) is that of the system we run
// on.
#pragma once

#include <string>
#include <string_view>

namespace mrrope::base {

// As it is where that is safe, else in single quotes; $'…' (bash, zsh, ksh) where it has bytes that printable() would
// replace.
std::string posix_shell_quoted(std::string_view word);

// As it is where that is safe, else in double quotes, as cmd, PowerShell and every program's own reader of a command
// line take them. No spelling of % suits cmd, and none of $ and ` both cmd and PowerShell: they stay.
std::string windows_quoted(std::string_view word);

}  // namespace mrrope::base
