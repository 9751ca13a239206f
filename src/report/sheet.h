// SPDX-License-Identifier: MIT
//
// The data behind one picture: what its specification, its CSV file and the check against the records all read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace mrrope::report {

using Cell = std::variant<std::monostate, std::string, std::int64_t, double>;  // nothing: not measured

struct Sheet {
  std::vector<std::string> columns = {};
  std::vector<std::vector<Cell>> rows = {};
};

// One object per row; cells that hold nothing are left out. Numbers have seven significant digits: more than any
// measurement here, and few enough that the last bits of a math library do not change a page.
base::Json values_of(const Sheet& sheet);

// RFC 4180, "\n" at the end of lines. A text that a spreadsheet would take for a formula begins with an apostrophe.
std::string csv_of(const Sheet& sheet);

// A table for people: cells as they are shown, the first `left` columns to the left.
struct Grid {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
  std::size_t left = 1;
};

// The sheet as it is, for curves whose numbers nobody reads in a row.
Grid grid_of(const Sheet& sheet, std::size_t left);

double rounded(double value);  // to seven significant digits

}  // namespace mrrope::report
