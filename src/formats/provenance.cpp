// SPDX-License-Identifier: MIT
#include "mrrope/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/paths.h"
#include "mrrope/version.h"

namespace mrrope {

namespace {

using base::Json;
using base::ObjectReader;

constexpr std::string_view kVersion = "mrrope.version";
constexpr std::string_view kPlan = "mrrope.plan";
constexpr std::string_view kUndo = "mrrope.undo";
constexpr std::string_view kPadding = "mrrope.padding";

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

// A key as the model had it before it was relabelled.
std::string old_key(const std::string& key, const GgufEdits& edits, const GgufModel& model) {
  if (!edits.architecture) return key;
  const std::string prefix = *edits.architecture + ".";
  return key.starts_with(prefix) ? model.architecture() + "." + key.substr(prefix.size()) : key;
}

GgufEdits read_undo(const Json& json, const GgufModel& model) {
  ObjectReader reader(json, std::string(kUndo));
  GgufEdits edits;
  if (reader.has("architecture")) edits.architecture = reader.text("architecture");
  // Old values of keys that were changed; the type must be one that GGUF has
  const Json& changed = reader.any("changed");
  ObjectReader values(changed, reader.path("changed"));
  for (const auto& [key, old] : changed.items()) {
    ObjectReader value = values.object(key);
    const auto type = static_cast<GgufType>(value.integer("type", 0, 12));
    const std::optional<std::string> bytes = from_hex(value.text("bytes"));
    if (!bytes) value.reject("bytes", ErrorCode::malformed, "expected pairs of hexadecimal digits");
    value.finish();
    edits.set(key, GgufValue(type, *bytes));
  }
  const auto texts = [&](std::string_view name) {
    std::vector<std::string> out;
    for (const Json& element : reader.array(name)) {
      if (!element.is_string()) reader.reject(name, ErrorCode::malformed, "expected names");
      out.push_back(element.get<std::string>());
    }
    return out;
  };
  for (std::string& key : texts("added")) edits.remove(std::move(key));
  edits.removed_tensors = texts("tensors_added");
  const Json& replaced = reader.any("tensors_replaced");
  ObjectReader tensors(replaced, reader.path("tensors_replaced"));
  for (const auto& [name, old] : replaced.items()) {
    std::vector<float> floats;
    for (const double v : tensors.numbers(name)) floats.push_back(static_cast<float>(v));
    edits.add_tensor(name, std::move(floats));
  }
  reader.finish();
  for (const std::string_view key : {kVersion, kPlan, kUndo, kPadding}) {
    if (model.head().find(key) != nullptr) edits.remove(std::string(key));
  }
  return edits;
}

}  // namespace

std::string carried_plan(const Plan& plan) {
  Plan carried = plan;
  carried.source = base::to_text(base::to_path(plan.source).filename());
  return to_json(carried);
}

Result<GgufEdits> with_provenance(const GgufEdits& edits, const GgufModel& model, const Plan& plan) {
  if (model.head().find(kUndo) != nullptr) {
    return Error{ErrorCode::unsupported, "the file was already extended; undo that first", model.head().path, "undo"};
  }
  Json undo;
  if (edits.architecture) undo["architecture"] = model.architecture();
  undo["changed"] = Json::object();
  undo["added"] = Json::array();
  for (const GgufEdits::Change& change : edits.changes) {
    // In terms of the file as it will be after the undo has put the old architecture back
    const std::string key = old_key(change.key, edits, model);
    if (const GgufValue* old = model.head().find(key)) {
      undo["changed"][key] = {{"type", static_cast<std::uint32_t>(old->type())}, {"bytes", to_hex(old->bytes())}};
    } else {
      undo["added"].push_back(key);
    }
  }
  undo["tensors_added"] = Json::array();
  undo["tensors_replaced"] = Json::object();
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    if (model.find_tensor(tensor.name) == nullptr) {
      undo["tensors_added"].push_back(tensor.name);
      continue;
    }
    const Result<std::vector<float>> old = read_f32_tensor(model, tensor.name);
    if (!old) return old.error();
    undo["tensors_replaced"][tensor.name] = *old;
  }
  GgufEdits out = edits;
  out.set(std::string(kVersion), GgufValue::text(MRROPE_VERSION));
  out.set(std::string(kPlan), GgufValue::text(carried_plan(plan)));
  out.set(std::string(kUndo), GgufValue::text(undo.dump()));
  return out;
}

Result<GgufEdits> undo_edits(const GgufModel& model) {
  const GgufValue* undo = model.head().find(kUndo);
  if (undo == nullptr || !undo->text()) {
    return Error{ErrorCode::unsupported, "the file was not extended by mrrope: there is nothing to undo",
                 model.head().path};
  }
  const Result<Json> json = base::parse_json(*undo->text());
  if (!json) return Error{json.error().code, to_string(json.error()), std::string(kUndo)};
  try {
    return read_undo(*json, model);
  } catch (base::Rejected& rejected) {
    return std::move(rejected.error);
  }
}

std::optional<Plan> stored_plan(const ModelFile& model) {
  const GgufValue* value = model.gguf() != nullptr ? model.gguf()->head().find(kPlan) : nullptr;
  if (model.sidecar) {
    for (const GgufEdits::Change& change : model.sidecar->edits.changes) {
      if (change.key == kPlan && change.value) value = &*change.value;
    }
  }
  if (value == nullptr || !value->text()) return std::nullopt;
  Result<Plan> plan = plan_from_json(*value->text());
  if (!plan) return std::nullopt;
  return *std::move(plan);
}

}  // namespace mrrope
