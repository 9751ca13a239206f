// SPDX-License-Identifier: MIT
//
// What a page is made of.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "report/sheet.h"

namespace mrrope::report {

struct Figure {
  std::string name;  // of its files and of its place in the page
  std::string title;
  std::string conclusion = {};  // what to take from it, made of its numbers
  std::string reading = {};     // how to read it
  base::Json spec = nullptr;    // Vega-Lite; null: a table is all there is
  Sheet data = {};              // behind the picture, or the table in numbers
  Grid table = {};              // for people
};

struct Section {
  std::string name;
  std::string title;
  std::vector<Figure> figures;
};

}  // namespace mrrope::report
