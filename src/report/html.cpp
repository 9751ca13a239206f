// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <fmt/format.h>

#include "base/unicode.h"

namespace mrrope::report {

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const base::CodePoint c = base::first_code_point(text);
    const bool control = (c.value < 0x20 && c.value != '\n' && c.value != '\t') || (c.value >= 0x7F && c.value < 0xA0);
    const bool line_end = c.value == 0x2028 || c.value == 0x2029;
    out += c.value == base::kNoCharacter || control || line_end ? std::string_view("\xEF\xBF\xBD")
                                                                : text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string script_json(const base::Json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', false, base::Json::error_handler_t::replace)) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  // Line ends of JavaScript that JSON allows in strings: harmless in a data block, not to whoever copies it
  for (const auto& [from, to] : {std::pair("\xE2\x80\xA8", "\\u2028"), std::pair("\xE2\x80\xA9", "\\u2029")}) {
    for (std::size_t at = out.find(from); at != std::string::npos; at = out.find(from, at)) out.replace(at, 3, to);
  }
  return out;
}

std::string html_table(const Grid& grid) {
  std::string out = "<table>\n<thead><tr>";
  const auto align = [&](std::size_t c) { return c < grid.left ? " class=\"text\"" : ""; };
  for (std::size_t c = 0; c < grid.header.size(); ++c) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", align(c), escaped(grid.header[c]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : grid.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string_view cell = c == 0 ? "th scope=\"row\"" : "td";
      out += fmt::format("<{}{}>{}</{}>", cell, align(c), escaped(row[c]), cell.substr(0, 2));
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

std::string data_url(std::string_view type, std::string_view content) {
  std::string out = fmt::format("data:{};charset=utf-8,", type);
  for (const char c : content) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == ',';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace mrrope::report
