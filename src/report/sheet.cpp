// SPDX-License-Identifier: MIT
#include "report/sheet.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "mrrope/units.h"

namespace mrrope::report {

namespace {

struct AsJson {
  base::Json operator()(std::monostate) const { return nullptr; }
  base::Json operator()(const std::string& text) const { return text; }
  base::Json operator()(std::int64_t number) const { return number; }
  base::Json operator()(double number) const { return rounded(number); }
};

struct AsText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return format_number(rounded(number)); }
};

std::string csv_field(const Cell& cell) {
  std::string text = std::visit(AsText{}, cell);
  if (!std::holds_alternative<std::string>(cell)) return text;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

double rounded(double value) {
  if (!std::isfinite(value)) return value;
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

base::Json values_of(const Sheet& sheet) {
  base::Json values = base::Json::array();
  for (const std::vector<Cell>& row : sheet.rows) {
    base::Json object = base::Json::object();
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!std::holds_alternative<std::monostate>(row[c])) object[sheet.columns[c]] = std::visit(AsJson{}, row[c]);
    }
    values.push_back(std::move(object));
  }
  return values;
}

std::string csv_of(const Sheet& sheet) {
  std::string out;
  const auto line = [&out](const auto& cells, const auto& text) {
    for (std::size_t c = 0; c < cells.size(); ++c) out += (c == 0 ? "" : ",") + text(cells[c]);
    out += '\n';
  };
  line(sheet.columns, [](const std::string& name) { return name; });
  for (const std::vector<Cell>& row : sheet.rows) line(row, csv_field);
  return out;
}

Grid grid_of(const Sheet& sheet, std::size_t left) {
  Grid grid{.header = sheet.columns, .rows = {}, .left = left};
  for (const std::vector<Cell>& row : sheet.rows) {
    std::vector<std::string> cells;
    cells.reserve(row.size());
    for (const Cell& cell : row) cells.push_back(std::visit(AsText{}, cell));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

}  // namespace mrrope::report
