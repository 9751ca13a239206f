// SPDX-License-Identifier: MIT
#include "formats/hf_text.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "base/text.h"

namespace mrrope::formats {

namespace {

using base::Json;

constexpr std::string_view kBlank = " \t\r\n";

std::size_t skip_blank(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlank, at), text.size());
}

// The end of the string that begins at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// The end of the value that begins at `at`.
std::size_t skip_value(std::string_view text, std::size_t at) {
  int depth = 0;
  do {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0 && c != '}' && c != ']') at = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
  } while (depth > 0);
  return at;
}

struct Member {
  std::size_t key = 0;      // where its key begins
  std::size_t key_end = 0;  // after the closing quote
  std::size_t value = 0;
  std::size_t value_end = 0;
};

// The members of the object that begins at `at`.
std::vector<Member> members(std::string_view text, std::size_t at) {
  std::vector<Member> found;
  at = skip_blank(text, at + 1);
  while (text[at] != '}') {
    Member member;
    member.key = at;
    member.key_end = skip_string(text, at);
    member.value = skip_blank(text, skip_blank(text, member.key_end) + 1);
    member.value_end = skip_value(text, member.value);
    at = skip_blank(text, member.value_end);
    if (text[at] == ',') at = skip_blank(text, at + 1);
    found.push_back(member);
  }
  return found;
}

std::size_t index_of(std::string_view text, const std::vector<Member>& list, const std::string& key) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Member& m) {
    return Json::parse(text.substr(m.key, m.key_end - m.key)).get<std::string>() == key;  // keys may have escapes
  });
  return static_cast<std::size_t>(found - list.begin());
}

// Where the text begins: after a byte order mark.
std::size_t root_of(std::string_view text) { return skip_blank(text, text.starts_with("\xEF\xBB\xBF") ? 3 : 0); }

// Where the object around the last key begins.
std::size_t object_of(std::string_view text, const std::vector<std::string>& keys) {
  std::size_t at = root_of(text);
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    const std::vector<Member> list = members(text, at);
    const std::size_t index = index_of(text, list, keys[i]);
    assert(index < list.size());
    at = list[index].value;
  }
  return at;
}

// How a text is laid out.
struct Layout {
  std::string newline;        // empty: all on one line
  std::string step = "  ";    // one level of indentation
  std::string colon = ": ";   // between key and value
  std::string comma = ", ";   // between elements on one line
  bool lists_broken = false;  // one element per line

  explicit Layout(std::string_view text) {
    const std::size_t root = root_of(text);
    const std::vector<Member> list = members(text, root);
    if (list.empty()) {
      newline = "\n";
      return;
    }
    const std::string_view lead = text.substr(root + 1, list[0].key - root - 1);
    const std::size_t line = lead.rfind('\n');
    if (line != std::string_view::npos) {
      newline = lead.find("\r\n") == std::string_view::npos ? "\n" : "\r\n";
      step = lead.substr(line + 1);
      if (step.empty()) step = "  ";
    }
    colon = text.substr(list[0].key_end, list[0].value - list[0].key_end);
    if (newline.empty() && list.size() > 1 && list[1].key == list[0].value_end + 1) comma = ",";
    for (const Member& m : list) {
      if (text[m.value] != '[' || text[skip_blank(text, m.value + 1)] == ']') continue;
      const std::size_t first = skip_blank(text, m.value + 1);
      lists_broken = text.substr(m.value, first - m.value).find('\n') != std::string_view::npos;
      break;
    }
  }

  // `indent` is that of the line the value begins on.
  void write(const Json& value, const std::string& indent, std::string& out) const {
    if (!value.is_structured() || value.empty()) {
      out += value.dump();
      return;
    }
    const bool scalars = std::none_of(value.begin(), value.end(), [](const Json& v) { return v.is_structured(); });
    const bool broken = !newline.empty() && (value.is_object() || lists_broken || !scalars);
    const std::string inner = indent + step;
    out += value.is_object() ? '{' : '[';
    bool first = true;
    for (const auto& [key, element] : value.items()) {
      if (!first) out += broken ? "," : comma;
      if (broken) out += newline + inner;
      if (value.is_object()) out += Json(key).dump() + colon;
      write(element, inner, out);
      first = false;
    }
    if (broken) out += newline + indent;
    out += value.is_object() ? '}' : ']';
  }
};

// The blanks that end in front of `at`, and the indentation among them.
std::string_view lead_of(std::string_view text, std::size_t at) {
  const std::size_t last = text.find_last_not_of(kBlank, at - 1);
  return text.substr(last + 1, at - last - 1);
}
std::string indent_of(std::string_view lead) {
  const std::size_t line = lead.rfind('\n');
  return line == std::string_view::npos ? "" : std::string(lead.substr(line + 1));
}

std::string splice(std::string_view text, std::size_t begin, std::size_t end, std::string_view replacement) {
  std::string out(text.substr(0, begin));
  out += replacement;
  out += text.substr(end);
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> keys;
  for (const std::string_view key : base::split(path, '.')) {
    if (key.empty()) return std::nullopt;
    keys.emplace_back(key);
  }
  return keys;
}

const Json* value_at(const Json& root, const std::vector<std::string>& keys) {
  const Json* value = &root;
  for (const std::string& key : keys) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(key);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value;
}

std::string with_value(std::string_view text, const std::vector<std::string>& keys, const Json& value) {
  const Layout layout(text);
  const std::size_t object = object_of(text, keys);
  const std::vector<Member> list = members(text, object);
  std::string out;
  if (const std::size_t index = index_of(text, list, keys.back()); index < list.size()) {
    const Member& old = list[index];
    layout.write(value, indent_of(lead_of(text, old.key)), out);
    return splice(text, old.value, old.value_end, out);
  }
  if (!list.empty()) {  // like its older sister
    const std::string_view lead = lead_of(text, list.back().key);
    const bool alone_on_line = list.size() == 1 && lead.find('\n') == std::string_view::npos;
    out = alone_on_line ? layout.comma : "," + std::string(lead);
    out += Json(keys.back()).dump() + layout.colon;
    layout.write(value, indent_of(lead), out);
    return splice(text, list.back().value_end, list.back().value_end, out);
  }
  // An empty object opens up.
  std::string indent;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) indent += layout.step;
  const std::string inner = indent + layout.step;
  if (!layout.newline.empty()) out += layout.newline + inner;
  out += Json(keys.back()).dump() + layout.colon;
  layout.write(value, inner, out);
  if (!layout.newline.empty()) out += layout.newline + indent;
  return splice(text, object + 1, text.find('}', object), out);
}

std::string without_value(std::string_view text, const std::vector<std::string>& keys) {
  const std::size_t object = object_of(text, keys);
  const std::vector<Member> list = members(text, object);
  const std::size_t index = index_of(text, list, keys.back());
  assert(index < list.size());
  if (index + 1 < list.size()) return splice(text, list[index].key, list[index + 1].key, "");
  if (index > 0) return splice(text, list[index - 1].value_end, list[index].value_end, "");
  return splice(text, object + 1, skip_blank(text, list[index].value_end), "");
}

}  // namespace mrrope::formats
