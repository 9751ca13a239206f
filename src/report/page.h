// SPDX-License-Identifier: MIT
//
// The HTML around sections.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/figure.h"

namespace mrrope::report {

struct Page {
  std::string title;                 // the model
  std::vector<std::string> facts;    // a line under it
  std::vector<std::string> verdict;  // sentences
  std::vector<Section> sections;
};

// One file without any address in it that a browser would follow by itself.
std::string html_of(const Page& page);

// Parts of the page that are files at build time: generated (cmake/report.cmake).
struct Assets {
  std::string_view style;
  std::string_view script;       // draws the pictures
  std::string_view script_hash;  // base64 of its SHA-256, for the Content-Security-Policy
  std::string_view vega;         // Vega, Vega-Lite and vega-embed; empty: not part of this build
  std::string_view vega_hash;
};
const Assets& assets() noexcept;

}  // namespace mrrope::report
