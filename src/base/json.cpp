// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/unicode.h"

namespace mrrope::base {

namespace {

constexpr std::size_t kMaxDepth = 32;

// Builds the tree in time linear in the text. nlohmann's own builder looks for every key in all the keys before it,
// and, where it is watched, at every object of a list again when the next one ends: a megabyte could take a minute.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder() = default;               // NOLINT(bugprone-exception-escape): null, which does not throw
  Builder(const Builder&) = delete;  // open_ points into root_
  Builder& operator=(const Builder&) = delete;
  Builder(Builder&&) = delete;
  Builder& operator=(Builder&&) = delete;
  ~Builder() override = default;

  [[nodiscard]] Json take() { return std::move(root_); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& field() const { return field_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }

  bool null() override { return put(nullptr) != nullptr; }
  bool boolean(bool value) override { return put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value) != nullptr; }
  bool string(string_t& value) override { return put(std::move(value)) != nullptr; }
  bool binary(binary_t& /*value*/) override { return fail("binary"); }  // not in text
  bool start_object(std::size_t /*members*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(Json::array()); }
  bool key(string_t& key) override {
    key_ = std::move(key);
    return true;
  }

  bool end_array() override {
    open_.pop_back();
    return true;
  }

  // Sorted, not hashed: whoever writes the file could choose keys of one hash.
  bool end_object() override {
    std::vector<std::string_view> keys;
    for (const auto& member : open_.back()->get_ref<const Json::object_t&>()) keys.emplace_back(member.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      field_ = printable(*twice);
      return fail("the field \"" + field_ + "\" occurs twice in one object");
    }
    open_.pop_back();
    return true;
  }

  bool parse_error(std::size_t offset, const std::string& /*token*/, const Json::exception& error) override {
    offset_ = offset;
    const bool overflow = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    return fail(overflow ? "a number beyond the range of a double" : "not valid JSON");
  }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  // Where `value` is now; nullptr if there are too many.
  Json* put(Json value) {
    if (++values_ > kMaxJsonValues) {
      fail(fmt::format("more than {} values", kMaxJsonValues));
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_array()) {
      auto& elements = parent.get_ref<Json::array_t&>();
      return &elements.emplace_back(std::move(value));
    }
    // A list of pairs, whose own emplace() would look through it for the key.
    using Members = std::vector<std::pair<const std::string, Json>>;
    Members& members = parent.get_ref<Json::object_t&>();
    return &members.emplace_back(std::move(key_), std::move(value)).second;
  }

  bool open(Json empty) {
    if (open_.size() >= kMaxDepth) return fail("nested too deeply");
    Json* value = put(std::move(empty));
    if (value == nullptr) return false;
    open_.push_back(value);  // stays where it is: nothing is added behind it before it is closed
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_, problem_, field_;
  std::size_t values_ = 0, offset_ = 0;
};

// Line and column of byte `offset` (1-based, as nlohmann counts) for an editor.
std::string position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset > 0 ? offset - 1 : 0, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return fmt::format("line {}, column {}", line, column);
}

// A name out of a GGUF may be any bytes; dump() alone would throw. What a terminal would obey is escaped, which means
// the same to every reader of JSON.
std::string dumped(const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const CodePoint next = first_code_point(rest);
    rest.remove_prefix(next.bytes);
    if (is_visible(next.value)) {
      out.append(rest.data() - next.bytes, next.bytes);
    } else if (const auto code = static_cast<std::uint32_t>(next.value); code < 0x10000) {
      out += fmt::format("\\u{:04x}", code);
    } else {  // a pair of surrogates
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (code >> 10U), 0xDC00 + (code & 0x3FFU));
    }
  }
  return out;
}

void write(const Json& value, int indent, std::string& out) {
  const auto newline = [&](int level) { out.append(1, '\n').append(static_cast<std::size_t>(level) * 2, ' '); };
  const bool scalars = std::none_of(value.begin(), value.end(), [](const Json& v) { return v.is_structured(); });
  if (!value.is_structured() || value.empty()) {
    out += dumped(value);
  } else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const Json& element : value) {
      if (!first) out += scalars ? ", " : ",";
      if (!scalars) newline(indent + 1);
      write(element, indent + 1, out);
      first = false;
    }
    if (!scalars) newline(indent);
    out += ']';
  } else {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : value.items()) {
      if (!first) out += ',';
      newline(indent + 1);
      out += dumped(Json(key)) + ": ";
      write(member, indent + 1, out);
      first = false;
    }
    newline(indent);
    out += '}';
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) {
    return Error{ErrorCode::malformed, fmt::format("larger than {} bytes", kMaxJsonBytes), ""};
  }
  Builder builder;
  if (Json::sax_parse(text, &builder)) return builder.take();
  return Error{ErrorCode::malformed, builder.problem(),
               builder.offset() > 0 ? position(text, builder.offset()) : builder.field()};
}

std::string write_json(const Json& value) {
  std::string out;
  write(value, 0, out);
  out += '\n';
  return out;
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "a list";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "true or false";
    default: return "a number";
  }
}

ObjectReader::ObjectReader(const Json& value, std::string path) : object_(&value), path_(std::move(path)) {
  if (!value.is_object()) {
    throw Rejected{{ErrorCode::malformed, fmt::format("expected an object, found {}", kind_of(value)), path_}};
  }
}

bool ObjectReader::has(std::string_view key) const { return object_->contains(std::string(key)); }

std::string ObjectReader::path(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void ObjectReader::reject(std::string_view key, ErrorCode code, std::string message) const {
  throw Rejected{{code, std::move(message), path(key)}};
}

const Json& ObjectReader::any(std::string_view key) {
  const auto found = object_->find(std::string(key));
  if (found == object_->end()) reject(key, ErrorCode::malformed, "missing");
  read_.emplace_back(key);
  return *found;
}

std::string ObjectReader::text(std::string_view key) {
  const Json& value = any(key);
  if (!value.is_string()) {
    reject(key, ErrorCode::malformed, fmt::format("expected a string, found {}", kind_of(value)));
  }
  return value.get<std::string>();
}

bool ObjectReader::boolean(std::string_view key) {
  const Json& value = any(key);
  if (!value.is_boolean()) {
    reject(key, ErrorCode::malformed, fmt::format("expected true or false, found {}", kind_of(value)));
  }
  return value.get<bool>();
}

double ObjectReader::number(std::string_view key) {
  const Json& value = any(key);
  if (!value.is_number()) {
    reject(key, ErrorCode::malformed, fmt::format("expected a number, found {}", kind_of(value)));
  }
  return value.get<double>();
}

std::int64_t ObjectReader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  const double value = number(key);
  if (!(value >= static_cast<double>(min) && value <= static_cast<double>(max)) || value != std::floor(value)) {
    reject(key, ErrorCode::invalid_argument,
           fmt::format("expected a whole number between {} and {}, found {}", min, max, any(key).dump()));
  }
  return static_cast<std::int64_t>(value);
}

std::vector<double> ObjectReader::numbers(std::string_view key) {
  const Json& list = array(key);
  std::vector<double> values;
  values.reserve(list.size());
  for (const Json& element : list) {
    if (!element.is_number()) {
      reject(fmt::format("{}[{}]", key, values.size()), ErrorCode::malformed,
             fmt::format("expected a number, found {}", kind_of(element)));
    }
    values.push_back(element.get<double>());
  }
  return values;
}

ObjectReader ObjectReader::object(std::string_view key) { return {any(key), path(key)}; }

const Json& ObjectReader::array(std::string_view key) {
  const Json& value = any(key);
  if (!value.is_array()) {
    reject(key, ErrorCode::malformed, fmt::format("expected a list, found {}", kind_of(value)));
  }
  return value;
}

void ObjectReader::finish() const {
  for (const auto& [key, value] : object_->items()) {
    if (std::find(read_.begin(), read_.end(), key) != read_.end()) continue;
    const std::vector<std::string_view> known(read_.begin(), read_.end());
    const std::string_view guess = nearest(key, known);
    reject(key, ErrorCode::malformed,
           guess.empty() ? "unknown field" : fmt::format("unknown field; did you mean {}?", guess));
  }
}

}  // namespace mrrope::base
