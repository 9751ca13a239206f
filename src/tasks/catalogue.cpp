// SPDX-License-Identifier: MIT
//
// The tasks there are. Numbers of new tokens are RULER's own; InfiniteBench's are too small for tokenizers that split
// digits and for models that say a few words first (docs/benchmarks.md).
#include "tasks/catalogue.h"

#include <array>

#include "tasks/score.h"

namespace mrrope::eval {

namespace {

using namespace drafts;

struct Entry {
  Task task;  // name, alias, group, summary, needs, max_new_tokens, stops_at_newline
  Forming generator;
  Scoring scoring;
  Forming published = nullptr;  // asks the items of a file, where there is one, in the place of made prompts
};

constexpr TaskNeeds kNone = TaskNeeds::nothing, kHay = TaskNeeds::haystack, kAsk = TaskNeeds::questions,
                    kItems = TaskNeeds::items;

// clang-format off
constexpr std::array kEntries = {
    Entry{{"niah", "", "niah", "a 7-digit number in prose", kHay, 32, true}, niah, first_digits},
    Entry{{"niah_text", "", "niah", "the San Francisco sentence in prose", kHay, 50, true}, niah_text, same_words},
    Entry{{"niah_implied", "", "niah", "whom a sentence without a word of the question is about", kHay, 32, true},
          niah_implied, any_found},

    Entry{{"niah_single_1", "", "ruler", "a number in noise", kNone, 128, false}, niah_single_1, all_found},
    Entry{{"niah_single_2", "", "ruler", "a number in prose", kHay, 128, false}, niah_single_2, all_found},
    Entry{{"niah_single_3", "", "ruler", "a UUID in prose", kHay, 128, false}, niah_single_3, all_found},
    Entry{{"niah_multikey_1", "", "ruler", "one of four numbers in prose", kHay, 128, false},
          niah_multikey_1, all_found},
    Entry{{"niah_multikey_2", "", "ruler", "one of nothing but numbers", kNone, 128, false},
          niah_multikey_2, all_found},
    Entry{{"niah_multikey_3", "", "ruler", "one of nothing but UUIDs, by UUID", kNone, 128, false},
          niah_multikey_3, all_found},
    Entry{{"niah_multivalue", "", "ruler", "four numbers of one key in prose", kHay, 128, false},
          niah_multivalue, all_found},
    Entry{{"niah_multiquery", "", "ruler", "four numbers of four keys in prose", kHay, 128, false},
          niah_multiquery, all_found},
    Entry{{"vt", "ruler_vt", "ruler", "a chain of five assignments in noise", kNone, 30, false},
          variable_tracking, all_found},
    Entry{{"cwe", "ruler_cwe", "ruler", "the ten most common words of a list", kNone, 120, false},
          common_words, all_found},
    Entry{{"fwe", "ruler_fwe", "ruler", "the three most frequent coded words", kNone, 50, false},
          frequent_words, all_found},
    Entry{{"qa_1", "ruler_qa_squad", "ruler", "a question on one of many paragraphs", kAsk, 32, false},
          questions, any_found},
    Entry{{"qa_2", "ruler_qa_hotpot", "ruler", "a question on two of many paragraphs", kAsk, 32, false},
          questions, any_found},

    Entry{{"passkey", "infinitebench_passkey", "infinitebench", "five digits in noise", kNone, 32, true},
          passkey, first_digits, passkey_item},
    Entry{{"number_string", "infinitebench_number_string", "infinitebench", "ten digits with runs in noise", kNone, 32,
           true}, number_string, first_digits, number_string_item},
    Entry{{"kv_retrieval", "infinitebench_kv_retrieval", "infinitebench", "a value of a JSON object of UUIDs", kNone, 64,
           true}, kv_retrieval, whole_word, kv_retrieval_item},
    Entry{{"math_find", "infinitebench_math_find", "infinitebench", "an extreme or the median of a list", kNone, 16,
           true}, math_find, first_number, math_find_item},
    Entry{{"code_debug", "infinitebench_code_debug", "infinitebench", "which function has the bug", kItems, 16, true},
          code_debug, named_option},
    Entry{{"longdialogue_qa_eng", "infinitebench_longdialogue_qa_en", "infinitebench", "who is masked in a script",
           kItems, 40, true}, longdialogue, same_name},
    Entry{{"longbook_qa_eng", "infinitebench_longbook_qa_en", "infinitebench", "a question on a book", kItems, 40, true},
          longbook_qa_item, shared_words},
    Entry{{"longbook_qa_chn", "infinitebench_longbook_qa_chn", "infinitebench", "a question on a Chinese book", kItems,
           40, true}, longbook_qa_chinese_item, shared_characters},
    Entry{{"longbook_choice_eng", "infinitebench_longbook_choice_en", "infinitebench", "one of four answers on a book",
           kItems, 40, true}, longbook_choice, chosen_option},
    Entry{{"longbook_sum_eng", "infinitebench_longbook_sum_en", "infinitebench", "a summary of a book", kItems, 1200,
           false}, longbook_sum_item, summary},
    Entry{{"code_run", "infinitebench_code_run", "infinitebench", "what a function of functions returns", kItems, 5,
           true}, code_run_item, last_number},
    Entry{{"math_calc", "infinitebench_math_calc", "infinitebench", "the values of a long expression", kItems, 64,
           true}, math_calc_item, first_values},

    Entry{{"longbench2", "", "longbench2", "multiple choice on real documents", kItems, 128, false},
          longbench2, said_letter},
};
// clang-format on

constexpr auto kTasks = [] {
  std::array<Task, kEntries.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kEntries[i].task;
  return out;
}();

const Entry* entry_of(const Task& task) {
  for (const Entry& entry : kEntries) {
    if (entry.task.name == task.name) return &entry;
  }
  return nullptr;
}

}  // namespace

std::span<const Task> tasks() { return kTasks; }

const Task* find_task(std::string_view name) {
  for (const Task& task : kTasks) {
    if (!name.empty() && (task.name == name || task.alias == name)) return &task;
  }
  return nullptr;
}

Forming drafts::generator_of(const Task& task, bool from_file) {
  const Entry* entry = entry_of(task);
  if (entry == nullptr) return nullptr;
  return from_file && entry->published != nullptr ? entry->published : entry->generator;
}

Scoring drafts::scoring_of(const Task& task) {
  const Entry* entry = entry_of(task);
  return entry == nullptr ? nullptr : entry->scoring;
}

}  // namespace mrrope::eval
