// SPDX-License-Identifier: MIT
#include "mrrope/hf_config.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "formats/hf_shape.h"
#include "formats/hf_spec.h"
#include "formats/hf_text.h"

namespace mrrope {

namespace {

using base::Json;

// Domain: text that parse() or an edit has accepted.
Json tree_of(const std::string& text) { return *base::parse_json(text); }

// 8 and 8.0 are different texts and, to strict readers, different types.
bool same(const Json& a, const Json& b) { return a.dump() == b.dump(); }

// Whether paths can name every member.
bool has_plain_keys(const Json& object) {
  for (const auto& [key, value] : object.items()) {
    if (key.empty() || key.find('.') != std::string::npos) return false;
  }
  return true;
}

void compare(const Json& before, const Json& after, const std::string& path, std::vector<HfChange>& out) {
  for (const auto& [key, value] : before.items()) {
    const std::string at = formats::join_path(path, key);
    const auto found = after.find(key);
    if (found == after.end()) out.push_back({at, value.dump(), ""});
    else if (same(value, *found)) continue;
    else if (value.is_object() && found->is_object() && has_plain_keys(value) && has_plain_keys(*found))
      compare(value, *found, at, out);
    else out.push_back({at, value.dump(), found->dump()});
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) out.push_back({formats::join_path(path, key), "", value.dump()});
  }
}

Error no_such(std::string_view path, std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), std::string(path)};
}

Result<Json> checked(std::string_view text) {
  if (text.size() > kMaxHfConfigBytes) {
    return Error{ErrorCode::malformed, fmt::format("larger than {} bytes", kMaxHfConfigBytes), ""};
  }
  Result<Json> json = base::parse_json(text);
  if (json && !json->is_object()) {
    return Error{ErrorCode::malformed, fmt::format("expected an object, found {}", base::kind_of(*json)), ""};
  }
  return json;
}

}  // namespace

Result<HfConfig> HfConfig::parse(std::string_view text) {
  const Result<Json> json = checked(text);
  if (!json) return json.error();
  return HfConfig(std::string(text));
}

std::string HfConfig::model_type() const {
  try {
    return formats::find_model(tree_of(text_)).model_type;
  } catch (const base::Rejected&) {  // a model_type that is no string
    return {};
  }
}

std::string HfConfig::text_path() const {
  try {
    return formats::find_model(tree_of(text_)).path;
  } catch (const base::Rejected&) {
    return {};
  }
}

Result<RopeSpec> HfConfig::rope_spec() const {
  try {
    return formats::read_config(tree_of(text_)).spec;
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

Result<HfFacts> HfConfig::facts() const {
  try {
    return formats::read_config(tree_of(text_)).facts;
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

std::string HfConfig::value(std::string_view path) const {
  const auto keys = formats::split_path(path);
  if (!keys) return {};
  const Json tree = tree_of(text_);
  const Json* value = formats::value_at(tree, *keys);
  return value == nullptr ? "" : value->dump();
}

std::optional<Error> HfConfig::set(std::string_view path, std::string_view json_text) {
  const auto keys = formats::split_path(path);
  if (!keys) return no_such(path, "expected keys joined by dots");
  const Result<Json> value = base::parse_json(json_text);
  if (!value) return Error{value.error().code, to_string(value.error()), std::string(path)};

  const Json tree = tree_of(text_);
  const Json* parent = formats::value_at(tree, {keys->begin(), keys->end() - 1});
  if (parent == nullptr || !parent->is_object()) {
    return no_such(path, "expected an object around it; set that as a whole");
  }
  const Json* old = formats::value_at(tree, *keys);
  if (old != nullptr && same(*old, *value)) return std::nullopt;

  std::string edited = formats::with_value(text_, *keys, *value);
  const Result<Json> after = checked(edited);
  if (!after)
    return Error{after.error().code, "the file would not be valid: " + to_string(after.error()), std::string(path)};
  text_ = std::move(edited);
  if (changes().empty()) text_ = original_;
  return std::nullopt;
}

std::optional<Error> HfConfig::remove(std::string_view path) {
  const auto keys = formats::split_path(path);
  if (!keys) return no_such(path, "expected keys joined by dots");
  const Json tree = tree_of(text_);
  if (formats::value_at(tree, *keys) == nullptr) return no_such(path, "is not there");
  text_ = formats::without_value(text_, *keys);
  if (changes().empty()) text_ = original_;
  return std::nullopt;
}

std::optional<Error> HfConfig::apply(std::span<const HfChange> changes) {
  HfConfig copy = *this;
  for (const HfChange& change : changes) {
    if (const std::string now = copy.value(change.path); now != change.before) {
      const auto shown = [](const std::string& text) { return text.empty() ? "nothing" : text; };
      return Error{ErrorCode::inconsistent, fmt::format("expected {}, found {}", shown(change.before), shown(now)),
                   change.path};
    }
    if (change.before == change.after) continue;
    if (auto error = change.after.empty() ? copy.remove(change.path) : copy.set(change.path, change.after))
      return error;
  }
  *this = std::move(copy);
  return std::nullopt;
}

std::vector<HfChange> HfConfig::changes() const {
  std::vector<HfChange> out;
  compare(tree_of(original_), tree_of(text_), "", out);
  return out;
}

}  // namespace mrrope
