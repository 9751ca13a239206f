// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <filesystem>

#include "base/paths.h"
#include "base/text.h"
#include "mrrope/task_files.h"
#include "tasks/files/entries.h"

namespace mrrope::eval {

namespace {

using namespace task_files;

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

// Texts, and numbers as they are written.
std::string scalar_of(const Json& value, const std::string& place) {
  return value.is_number() ? value.dump() : answer_of(value, place);
}

// math_calc has a list of one list.
std::vector<std::string> scalars_of(const Json& value, const std::string& place) {
  if (!value.is_array()) return {scalar_of(value, place)};
  if (value.size() == 1 && value[0].is_array() && !value[0].empty() && !value[0][0].is_array()) {
    return scalars_of(value[0], element(place, 0));
  }
  std::vector<std::string> texts;
  const Json& list = list_of(value, place, 1);
  for (std::size_t i = 0; i < list.size(); ++i) texts.push_back(scalar_of(list[i], element(place, i)));
  return texts;
}

// [option] or [option, letter].
std::string letter_of(const std::vector<std::string>& answer, const std::vector<std::string>& options,
                      const ObjectReader& in) {
  const std::string_view letters = kLetters.substr(0, options.size());
  if (answer.size() == 2 && answer[1].size() == 1 && letters.find(answer[1]) != std::string_view::npos)
    return answer[1];
  const auto found = std::find(options.begin(), options.end(), answer[0]);
  if (answer.size() != 1 || found == options.end()) {
    in.reject("answer", ErrorCode::inconsistent, "expected one of the options, or that and its letter");
  }
  return {kLetters[static_cast<std::size_t>(found - options.begin())]};
}

// InfiniteBench's files, each named for its task.
constexpr std::array<std::string_view, 12> kPublished = {
    "code_debug",      "code_run",        "kv_retrieval",     "longbook_choice_eng",
    "longbook_qa_chn", "longbook_qa_eng", "longbook_sum_eng", "longdialogue_qa_eng",
    "math_calc",       "math_find",       "number_string",    "passkey"};

// "code_debug" of "data/code_debug.jsonl.gz"; empty for any other name.
std::string published_task(const std::string& path) {
  std::string name = base::to_text(base::to_path(path).filename());
  name.resize(std::min(name.size(), name.find('.')));
  return std::find(kPublished.begin(), kPublished.end(), name) != kPublished.end() ? name : "";
}

std::string task_of(ObjectReader& in, const std::string& by_name) {
  if (!in.has("task")) return by_name;
  std::string task = in.text("task");
  if (!by_name.empty() && task != by_name) {
    in.reject("task", ErrorCode::inconsistent,
              fmt::format("says {}, the file's name {}", base::printable(task), by_name));
  }
  return task;
}

Item read_infinitebench(ObjectReader& in, const std::string& by_name) {
  Item item{.task = task_of(in, by_name),
            .id = scalar_of(in.any("id"), in.path("id")),
            .context = in.text("context"),
            .question = in.text("input"),
            .options = {},
            .answers = scalars_of(in.any("answer"), in.path("answer"))};
  if (!in.has("options")) return item;
  const Json& options = in.array("options");
  if (options.size() > kLetters.size()) in.reject("options", ErrorCode::malformed, "expected at most 26");
  for (std::size_t i = 0; i < options.size(); ++i) {
    item.options.push_back(text_of(options[i], element(in.path("options"), i)));
  }
  if (!item.options.empty()) item.answers = {letter_of(item.answers, item.options, in)};
  return item;
}

Item read_longbench2(ObjectReader& in) {
  Item item{.task = "longbench2",
            .id = scalar_of(in.any("_id"), in.path("_id")),
            .context = in.text("context"),
            .question = in.text("question"),
            .options = {in.text("choice_A"), in.text("choice_B"), in.text("choice_C"), in.text("choice_D")},
            .answers = {in.text("answer")}};
  const std::string& letter = item.answers.front();
  if (letter.size() != 1 || letter[0] < 'A' || letter[0] > 'D') {
    in.reject("answer", ErrorCode::malformed, "expected A, B, C or D");
  }
  for (const char* label : {"domain", "sub_domain", "difficulty", "length"}) item.labels[label] = in.text(label);
  return item;
}

}  // namespace

Result<void> read_items(const std::string& path, const TakeItem& take) {
  const std::string by_name = published_task(path);
  return for_each_entry(path, kMostBytes, [&](ObjectReader& in) {
    if (in.has("choice_A")) return take(read_longbench2(in));
    if (in.has("input")) return take(read_infinitebench(in, by_name));
    reject("", "expected an entry of LongBench-v2 (choice_A) or InfiniteBench (input)");
  });
}

}  // namespace mrrope::eval
