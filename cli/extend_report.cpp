// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/extend.h"
#include "cli/memory.h"
#include "cli/table.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

using base::Json;

// A GGUF's rows, with words for what is not there.
FieldChange worded(const FieldChange& change) {
  return {change.name, change.before.empty() ? "-" : change.before, change.after.empty() ? "removed" : change.after};
}

// A value on one line: long lists by their ends and length.
std::string shown(const Json& value) {
  if (!value.is_array() || value.size() <= 4) return value.dump();
  return fmt::format("[{} … {}] ({} numbers)", value.front().dump(), value.back().dump(), value.size());
}

// The fields of an object, one a row, so that a table of numbers takes one line.
void add_fields(const Json& object, const std::string& indent, std::vector<FieldChange>& rows) {
  for (const auto& [name, value] : object.items()) {
    rows.push_back({indent + name, "", value.is_object() ? "{" : shown(value)});
    if (value.is_object()) add_fields(value, indent + "  ", rows);
  }
}

// Objects of a config field by field.
std::vector<FieldChange> unfolded(const FieldChange& change) {
  const Result<Json> before = base::parse_json(change.before);
  const Result<Json> after = base::parse_json(change.after);
  const std::string old = !before ? "-" : before->is_object() ? "{…}" : shown(*before);
  if (!after || !after->is_object()) return {{change.name, old, after ? shown(*after) : "removed"}};
  std::vector<FieldChange> rows = {{change.name, old, "{"}};
  add_fields(*after, "  ", rows);
  return rows;
}

// Whom one file serves: four lists, the reasons are in doctor.
std::vector<std::string> service_notes(const std::vector<Service>& services) {
  std::vector<std::string_view> served;
  std::vector<std::string_view> own;
  std::vector<std::string_view> none;
  std::vector<std::string_view> unchecked;
  for (const Service& s : services) {
    if (!s.checked) unchecked.push_back(s.title);
    else (s.served ? served : s.own_file ? own : none).push_back(s.served || !s.own_file ? s.title : s.engine);
  }
  std::vector<std::string> notes;
  if (!served.empty()) notes.push_back(fmt::format("One file serves {}.", base::join(served)));
  if (!own.empty()) notes.push_back(fmt::format("Need a file of their own (--target): {}.", base::join(own)));
  if (!unchecked.empty()) notes.push_back(fmt::format("Not checked with this model: {}.", base::join(unchecked)));
  if (!none.empty())
    notes.push_back(fmt::format(
        "Cannot run this table: {}. --target ENGINE writes the nearest one that ENGINE runs, if there is one.",
        base::join(none)));
  return notes;
}

std::vector<std::string> notes_of(const ExtendOutcome& outcome) {
  const Extension& done = outcome.extension;
  std::vector<std::string> notes;
  if (!outcome.choice.empty()) notes.push_back(outcome.choice);
  for (std::string& note : service_notes(done.services)) notes.push_back(std::move(note));
  notes.insert(notes.end(), done.notes.begin(), done.notes.end());
  if (outcome.gguf || outcome.second_folder) return notes;
  notes.push_back(outcome.plan
                      ? fmt::format("The original stays beside it as {}; --undo takes this back.", kOriginalConfig)
                      : fmt::format("What was there is kept as {}.", kExtendedConfig));
  return notes;
}

// What a key holds, as a value: null where there is none. Tensors and long texts are described, not shown.
Json value_of(const std::string& text) {
  if (text.empty()) return nullptr;
  const Result<Json> value = base::parse_json(text);
  return value ? *value : Json(text);
}

void print_json(const ExtendOutcome& outcome) {
  const Extension& done = outcome.extension;
  Json json{{"schema", "mrrope.extend/1"},
            {"method", outcome.plan ? Json(spell(outcome.plan->method)) : Json()},
            {"factor", outcome.plan ? Json(outcome.plan->factor) : Json()},
            {"context_trained", outcome.plan ? Json(outcome.plan->spec.context_trained) : Json()},
            {"context_target", outcome.plan ? Json(outcome.plan->context_target) : Json()},
            {"changes", Json::array()},
            {"written", outcome.dry_run || done.written.empty() ? Json() : Json(done.written)},
            {"beside", outcome.dry_run ? Json::array() : Json(done.beside)},
            {"removed", outcome.dry_run ? Json::array() : Json(done.removed)},
            {"residual", done.residual},
            {"scale_residual", done.scale_residual},
            {"verified_difference", done.difference ? Json(*done.difference) : Json()},
            {"kv_cache_bytes_f16", outcome.cache_bytes > 0 ? bytes_json(outcome.cache_bytes) : Json()},
            {"notes", notes_of(outcome)},
            {"commands", done.commands}};
  for (const FieldChange& change : done.changes) {
    json["changes"].push_back(
        Json{{"name", change.name}, {"before", value_of(change.before)}, {"after", value_of(change.after)}});
  }
  print("{}", base::write_json(json));
}

void print_files(const ExtendOutcome& outcome) {
  const Extension& done = outcome.extension;
  if (!done.removed.empty()) {
    if (outcome.dry_run) print("nothing was removed (--dry-run); it would be\n");
    for (const std::string& path : done.removed) print("{} {}\n", outcome.dry_run ? "         " : "removed  ", path);
    return;
  }
  const std::string written = done.written.empty() ? "FILE of -o" : done.written;
  if (outcome.dry_run) {
    print("nothing was written (--dry-run); it would be {}\n", written);
    for (const std::string& path : done.beside) print("          and {}\n", path);
    return;
  }
  print("wrote     {}\n", written);
  for (const std::string& path : done.beside) print("wrote     {}\n", path);
}

}  // namespace

void print_extension(const ExtendOutcome& outcome, bool json) {
  if (json) {
    print_json(outcome);
    return;
  }
  const Extension& done = outcome.extension;
  if (outcome.plan) {
    print("plan      {}, factor {:.6g}: {} -> {} tokens\n", outcome.words, outcome.plan->factor,
          outcome.plan->spec.context_trained, outcome.plan->context_target);
  }
  TextTable table({"key or tensor", "before", "after"}, 3);
  for (const FieldChange& change : done.changes) {
    for (const FieldChange& row : outcome.gguf ? std::vector{worded(change)} : unfolded(change))
      table.add({row.name, row.before, row.after});
  }
  if (!done.changes.empty()) print("{}", table.text());
  print_files(outcome);
  if (done.difference) {
    print("verified  read back; largest difference of an angular speed to the plan {:.1g}\n", *done.difference);
  }
  for (const std::string& note : notes_of(outcome)) print("note      {}\n", wrap(note, 70, 10));
  if (outcome.cache_bytes > 0)
    print("memory    {}\n", cache_sentence(outcome.cache_bytes, outcome.plan->context_target));
  for (const std::string& command : done.commands) print("run       {}\n", command);
}

}  // namespace mrrope::cli
