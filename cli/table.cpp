// SPDX-License-Identifier: MIT
#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "cli/terminal.h"
#include "mrrope/catalogue.h"

namespace mrrope::cli {

TextTable::TextTable(std::vector<std::string> header, std::size_t left) : left_(left) { add(std::move(header)); }

void TextTable::add(std::vector<std::string> row, bool highlighted) { rows_.push_back({std::move(row), highlighted}); }

std::string TextTable::line(const Row& row, const std::vector<std::size_t>& widths) const {
  std::string out = row.highlighted ? "> " : "  ";
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    const std::string& cell = row.cells[c];
    const std::string padding(widths[c] - columns(cell), ' ');
    if (c > 0) out += "  ";
    out += c < left_ ? cell + padding : padding + cell;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_[0].cells.size(), 0);
  for (const Row& row : rows_) {
    for (std::size_t c = 0; c < row.cells.size(); ++c) widths[c] = std::max(widths[c], columns(row.cells[c]));
  }
  std::string out = dim(line(rows_[0], widths)) + "\n";
  for (std::size_t r = 1; r < rows_.size(); ++r) {
    const std::string text = line(rows_[r], widths);
    out += (rows_[r].highlighted ? bold(text) : text) + "\n";
  }
  return out;
}

std::string short_name(const Method& method) {
  std::string name = spell(method);
  return name.size() <= 20 ? name : name.substr(0, 17) + "...";
}

std::string short_kind(Conversion::Kind kind) {
  return kind == Conversion::Kind::not_a_conversion ? "(rescaling)" : to_string(kind);
}

}  // namespace mrrope::cli
