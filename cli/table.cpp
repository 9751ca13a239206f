// SPDX-License-Identifier: MIT
#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/terminal.h"
#include "mrrope/catalogue.h"

namespace mrrope::cli {

TextTable::TextTable(std::vector<std::string> header, std::size_t left) : left_(left) { add(std::move(header)); }

void TextTable::add(std::vector<std::string> row, bool highlighted) {
  for (std::string& cell : row) cell = base::printable(cell, cell.size());  // a line feed would end the row
  rows_.push_back({std::move(row), highlighted});
}

// The left columns, then those in [from, to).
std::string TextTable::line(const Row& row, const std::vector<std::size_t>& widths, std::size_t from,
                            std::size_t to) const {
  std::string out = row.highlighted ? "> " : "  ";
  const auto put = [&](std::size_t c) {
    const std::string& cell = row.cells[c];
    const std::string padding(widths[c] - columns(cell), ' ');
    if (c > 0) out += "  ";
    out += c < left_ ? cell + padding : padding + cell;
  };
  for (std::size_t c = 0; c < std::min(left_, row.cells.size()); ++c) put(c);
  for (std::size_t c = from; c < std::min(to, row.cells.size()); ++c) put(c);
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string TextTable::text() const {
  const std::size_t count = rows_[0].cells.size();
  std::vector<std::size_t> widths(count, 0);
  for (const Row& row : rows_) {
    for (std::size_t c = 0; c < row.cells.size(); ++c) widths[c] = std::max(widths[c], columns(row.cells[c]));
  }
  std::size_t left_width = 0;
  for (std::size_t c = 0; c < std::min(left_, count); ++c) left_width += 2 + widths[c];

  std::string out;
  for (std::size_t from = left_; from == left_ || from < count;) {
    std::size_t to = from;
    for (std::size_t width = left_width; to < count; ++to) {
      width += 2 + widths[to];
      if (width > terminal().width && to > from) break;
    }
    if (from > left_) out += "\n";
    out += dim(line(rows_[0], widths, from, to)) + "\n";
    for (std::size_t r = 1; r < rows_.size(); ++r) {
      const std::string text = line(rows_[r], widths, from, to);
      out += (rows_[r].highlighted ? bold(text) : text) + "\n";
    }
    if (to == from) break;  // no column beside the left ones
    from = to;
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
