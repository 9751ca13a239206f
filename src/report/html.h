// SPDX-License-Identifier: MIT
//
// Text into HTML. Everything that comes from a record passes through one of these functions.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "report/sheet.h"

namespace mrrope::report {

// What is not UTF-8, control characters, and the line ends of JavaScript that are none elsewhere become U+FFFD. Names
// of plans pass through it before anything else: Vega-Lite writes them into expressions, whose parser knows no U+2028.
std::string printable(std::string_view text);

// printable(), for element content and quoted attributes.
std::string escaped(std::string_view text);

// JSON that can stand in a <script type="application/json"> element whatever its strings hold: <, > and & are written
// as \u escapes, so that no text ends the element or opens another.
std::string script_json(const base::Json& value);

std::string html_table(const Grid& grid);

// An address that holds a file, for <a download>.
std::string data_url(std::string_view type, std::string_view content);

}  // namespace mrrope::report
