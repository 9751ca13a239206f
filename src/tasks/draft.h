// SPDX-License-Identifier: MIT
//
// A task is a function from a size to a text: draft(size). Everything random in it is decided by the sample's seed, so
// that drafts of two sizes tell the same story at different lengths, and fit.cpp can look for the size that fills the
// budget. One file per kind of task: needles, tracking, lists, records, questions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mrrope/result.h"
#include "mrrope/tasks.h"
#include "tasks/random.h"

namespace mrrope::eval::drafts {

struct Range {
  std::size_t begin = 0, end = 0;  // bytes
};

struct Draft {
  std::string prompt = {};
  std::string answer_prefix = {};
  std::string answer = {};  // what a perfect reader would say, to see that the answer's budget holds it
  std::vector<std::string> other_answers = {};  // that are as right
  std::vector<std::string> references = {};
  std::vector<Range> needles = {};                 // of the prompt
  std::map<std::string, std::string> labels = {};  // of an item
};

// Records are lines of which one is asked for; words are filler that says nothing, or the smallest thing a text
// without records is made of. Both grow the text.
struct Size {
  std::int64_t records = 0;
  std::int64_t words = 0;
};

// One way to write a task. Some have a form with a solved example, for which short lengths have no room.
struct Form {
  std::function<Draft(Size)> draft;
  enum class Grows { by_words, by_records, never } grows = Grows::by_words;
  double share = 1;  // of the budget that its smallest text may take; above it the next form is tried
};

// What a task is told.
struct Brief {
  const TaskTexts& texts;       // outlives the forms
  std::span<const Item> items;  // of the texts, those of the task
  std::int64_t length = 0;
  std::int64_t index = 0;
  Random random;             // of this sample
  Random draw;               // of the items, the same for all samples
  double depth = 0;          // of the first needle
  bool depth_given = false;  // by the user
};

// In order of preference; the last is for the shortest lengths.
using Forms = Result<std::vector<Form>>;

// Depths of several needles. Given a depth, they are spread evenly from there to the end, as in the multi-needle test
// of Kamradt's harness; otherwise the others fall where they like.
std::vector<double> depths_of(const Brief& brief, std::size_t count);

// Which of a file's entries a sample asks about: files are in an order of their own (InfiniteBench's by depth), so it
// is drawn. No entry comes twice before all have, and more samples go on where fewer ended. (sample.cpp)
std::size_t drawn(const Brief& brief, std::size_t entries);

// As they follow a prefix: " Ann", " Ben". (sample.cpp)
std::vector<std::string> spaced(const std::vector<std::string>& texts);

// needles.cpp
Forms niah(const Brief& brief);
Forms niah_text(const Brief& brief);
Forms niah_implied(const Brief& brief);
Forms niah_single_1(const Brief& brief);
Forms niah_single_2(const Brief& brief);
Forms niah_single_3(const Brief& brief);
Forms niah_multikey_1(const Brief& brief);
Forms niah_multivalue(const Brief& brief);
Forms niah_multiquery(const Brief& brief);
Forms passkey(const Brief& brief);
Forms number_string(const Brief& brief);
// records.cpp
Forms niah_multikey_2(const Brief& brief);
Forms niah_multikey_3(const Brief& brief);
Forms kv_retrieval(const Brief& brief);
// tracking.cpp
Forms variable_tracking(const Brief& brief);
// common_words.cpp
Forms common_words(const Brief& brief);
// lists.cpp
Forms frequent_words(const Brief& brief);
Forms math_find(const Brief& brief);
// questions.cpp
Forms questions(const Brief& brief);
// published_items.cpp
Forms passkey_item(const Brief& brief);
Forms number_string_item(const Brief& brief);
Forms kv_retrieval_item(const Brief& brief);
Forms math_find_item(const Brief& brief);
Forms math_calc_item(const Brief& brief);
Forms code_run_item(const Brief& brief);
Forms longbook_qa_item(const Brief& brief);
Forms longbook_qa_chinese_item(const Brief& brief);
Forms longbook_sum_item(const Brief& brief);
// items.cpp
Forms code_debug(const Brief& brief);
Forms longbook_choice(const Brief& brief);
Forms longdialogue(const Brief& brief);
Forms longbench2(const Brief& brief);

}  // namespace mrrope::eval::drafts
