// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace mrrope::base {

namespace {

constexpr int kMaxDepth = 32;

// Looks over nlohmann's shoulder for repeated keys and runaway nesting.
class Watch {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kMaxDepth && problem_.empty()) problem_ = "nested too deeply";
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second && problem_.empty()) {
      problem_ = "the field \"" + parsed.get<std::string>() + "\" occurs twice in one object";
      field_ = parsed.get<std::string>();
    }
    return problem_.empty();
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::vector<std::unordered_set<std::string>> keys_;
  std::string problem_;
  std::string field_;
};

// Line and column of byte `offset` (1-based, as nlohmann counts) for an editor.
std::string position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset > 0 ? offset - 1 : 0, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return fmt::format("line {}, column {}", line, column);
}

// A name out of a GGUF may be any bytes; dump() alone would throw.
std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

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
  Watch watch;
  try {
    Json value = Json::parse(text, std::ref(watch));
    if (!watch.problem().empty()) return Error{ErrorCode::malformed, watch.problem(), watch.field()};
    return value;
  } catch (const Json::parse_error& error) {
    if (!watch.problem().empty()) return Error{ErrorCode::malformed, watch.problem(), watch.field()};
    return Error{ErrorCode::malformed, "not valid JSON", position(text, error.byte)};
  } catch (const Json::exception& error) {  // a number beyond double
    return Error{ErrorCode::malformed, std::string("not acceptable JSON: ") + error.what(), ""};
  }
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
