// SPDX-License-Identifier: MIT
#include "mrrope/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "formats/hf_shape.h"
#include "formats/hf_spec.h"
#include "formats/hf_text.h"

namespace mrrope {

namespace {

using base::Json;

// 8 and 8.0 are different texts and, to strict readers, different types.
bool same(const Json& a, const Json& b) { return a.dump() == b.dump(); }

// Whether paths can name every member.
bool has_plain_keys(const Json& object) {
  const auto& members = object.get_ref<const Json::object_t&>();
  return std::all_of(members.begin(), members.end(), [](const auto& member) {
    return !member.first.empty() && member.first.find('.') == std::string::npos;
  });
}

// Objects look for a key from their first member on; a file may have a million of them.
std::map<std::string_view, const Json*> members_of(const Json& object) {
  std::map<std::string_view, const Json*> members;
  for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) members.emplace(key, &value);
  return members;
}

void compare(const Json& before, const Json& after, const std::string& path, std::vector<HfChange>& out) {
  const auto old = members_of(before), now = members_of(after);
  for (const auto& [key, value] : before.get_ref<const Json::object_t&>()) {
    const std::string at = formats::join_path(path, key);
    const auto found = now.find(key);
    if (found == now.end()) out.push_back({at, value.dump(), ""});
    else if (same(value, *found->second)) continue;
    else if (value.is_object() && found->second->is_object() && has_plain_keys(value) && has_plain_keys(*found->second))
      compare(value, *found->second, at, out);
    else out.push_back({at, value.dump(), found->second->dump()});
  }
  for (const auto& [key, value] : after.get_ref<const Json::object_t&>()) {
    if (!old.contains(key)) out.push_back({formats::join_path(path, key), "", value.dump()});
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

struct HfConfig::Tree {
  Json json;
};

Result<HfConfig> HfConfig::parse(std::string_view text) {
  Result<Json> json = checked(text);
  if (!json) return json.error();
  return HfConfig(std::string(text), std::make_shared<const Tree>(Tree{*std::move(json)}));
}

// Edits that cancel out leave no trace.
void HfConfig::take(std::string text, std::shared_ptr<const Tree> tree) {
  text_ = std::move(text);
  now_ = std::move(tree);
  if (!changes().empty()) return;
  text_ = original_;
  now_ = before_;
}

std::string HfConfig::model_type() const {
  try {
    return formats::find_model(now_->json).model_type;
  } catch (const base::Rejected&) {  // a model_type that is no string
    return {};
  }
}

std::string HfConfig::text_path() const {
  try {
    return formats::find_model(now_->json).path;
  } catch (const base::Rejected&) {
    return {};
  }
}

Result<RopeSpec> HfConfig::rope_spec() const {
  try {
    return formats::read_config(now_->json).spec;
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

Result<HfFacts> HfConfig::facts() const {
  try {
    return formats::read_config(now_->json).facts;
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

std::string HfConfig::value(std::string_view path) const {
  const auto keys = formats::split_path(path);
  if (!keys) return {};
  const Json& tree = now_->json;
  const Json* value = formats::value_at(tree, *keys);
  return value == nullptr ? "" : value->dump();
}

Result<void> HfConfig::set(std::string_view path, std::string_view json_text) {
  const auto keys = formats::split_path(path);
  if (!keys) return no_such(path, "expected keys joined by dots");
  const Result<Json> value = base::parse_json(json_text);
  if (!value) return Error{value.error().code, to_string(value.error()), std::string(path)};

  const Json& tree = now_->json;
  const Json* parent = formats::value_at(tree, {keys->begin(), keys->end() - 1});
  if (parent == nullptr || !parent->is_object()) {
    return no_such(path, "expected an object around it; set that as a whole");
  }
  const Json* old = formats::value_at(tree, *keys);
  if (old != nullptr && same(*old, *value)) return {};

  std::string edited = formats::with_value(text_, *keys, *value);
  Result<Json> after = checked(edited);
  if (!after)
    return Error{after.error().code, "the file would not be valid: " + to_string(after.error()), std::string(path)};
  take(std::move(edited), std::make_shared<const Tree>(Tree{*std::move(after)}));
  return {};
}

Result<void> HfConfig::remove(std::string_view path) {
  const auto keys = formats::split_path(path);
  if (!keys) return no_such(path, "expected keys joined by dots");
  if (formats::value_at(now_->json, *keys) == nullptr) return no_such(path, "is not there");
  std::string edited = formats::without_value(text_, *keys);
  Json after = *base::parse_json(edited);  // valid: less of what was
  take(std::move(edited), std::make_shared<const Tree>(Tree{std::move(after)}));
  return {};
}

Result<void> HfConfig::apply(std::span<const HfChange> changes) {
  HfConfig copy = *this;
  for (const HfChange& change : changes) {
    if (const std::string now = copy.value(change.path); now != change.before) {
      const auto shown = [](const std::string& text) { return text.empty() ? "nothing" : text; };
      return Error{ErrorCode::inconsistent, fmt::format("expected {}, found {}", shown(change.before), shown(now)),
                   change.path};
    }
    if (change.before == change.after) continue;
    if (const auto ok = change.after.empty() ? copy.remove(change.path) : copy.set(change.path, change.after); !ok)
      return ok.error();
  }
  *this = std::move(copy);
  return {};
}

std::vector<HfChange> HfConfig::changes() const {
  std::vector<HfChange> out;
  compare(before_->json, now_->json, "", out);
  return out;
}

}  // namespace mrrope
