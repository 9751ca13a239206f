// SPDX-License-Identifier: MIT
//
// InfiniteBench's published items that are answered in words or numbers. Retrieval, lists, code and expressions have a
// question that leads into the answer; the books are asked in our own words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/unicode.h"
#include "tasks/items.h"

namespace mrrope::eval::drafts {

namespace {

constexpr std::string_view kDigits = "0123456789";

// What a task says around the item's context.
struct Wording {
  std::string before, after;  // after: with the question, and its line break
  std::string prefix;
};

// Any of the item's answers counts; the first is what a perfect reader says.
Forms answered(const Item& item, const Wording& wording, std::string_view mark = "") {
  if (item.answers.empty() || item.answers[0].empty()) return unusable(item, "expected an answer, found none");
  return whole({.prompt = fmt::format("{}\n\n{}\n\n{}", wording.before, item.context, wording.after),
                .answer_prefix = wording.prefix,
                .answer = fmt::format(" {0}{1}{0}", mark, item.answers[0]),
                .other_answers = spaced(item.answers),
                .references = item.answers},
               item);
}

// "Answer with one number. The largest number of the list is: " leads in: what it says last is where the answer begins.
// A question that does not is asked as it is, and the answer begins with `otherwise`.
Wording led_in(std::string before, std::string_view question, std::string_view otherwise) {
  question = base::stripped(question);
  if (!question.ends_with(':')) {
    return {std::move(before), fmt::format("{}\n", question), std::string(otherwise)};
  }
  std::size_t at = 0;
  for (const std::string_view end : {"\n", ". ", "? "}) {
    const std::size_t found = question.rfind(end);
    if (found != std::string_view::npos) at = std::max(at, found + end.size());
  }
  const std::string_view asked = base::stripped(question.substr(0, at));
  return {std::move(before), asked.empty() ? "" : fmt::format("{}\n", asked), std::string(question.substr(at))};
}

// "func_12(-3)" of the question; empty: none is called there.
std::string_view function_call(std::string_view question) {
  for (std::size_t at = 0; (at = question.find("func_", at)) != std::string_view::npos; at += 5) {
    std::size_t end = question.find_first_not_of(kDigits, at + 5);
    if (end == at + 5 || end == std::string_view::npos || question[end] != '(') continue;
    end += question.substr(end + 1).starts_with('-') ? 2U : 1U;
    const std::size_t close = question.find_first_not_of(kDigits, end);
    if (close != end && close != std::string_view::npos && question[close] == ')')
      return question.substr(at, close + 1 - at);
  }
  return {};
}

}  // namespace

Forms passkey_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  return answered(**item, {"A pass key is hidden in the text below. Find it and remember it.",
                           "What is the pass key?\n", "The pass key is"});
}

Forms number_string_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  return answered(**item, {"A sequence of digits is hidden in the text below. Find it and remember it.",
                           "What is the sequence of digits?\n", "The sequence of digits is"});
}

Forms kv_retrieval_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  return answered(
      **item,
      led_in("Find the value of one key in the JSON object below.", (*item)->question, "The value of this key is:"),
      "\"");
}

Forms math_find_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  return answered(**item, led_in("Find one number of the list below.", (*item)->question, "The number is"));
}

Forms math_calc_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  if ((*item)->answers.empty()) return unusable(**item, "expected an answer, found none");
  // The published values begin after the first operation, not with the first number
  return whole({.prompt = fmt::format("Compute an expression step by step: give the value after each operation.\n\n"
                                      "Expression: 1 + 3 + 4\nValues: [4, 8]\n\n"
                                      "Expression: 8 - 3 + 2 - 4\nValues: [5, 7, 3]\n\nExpression: {}\n",
                                      base::stripped((*item)->context)),
                .answer_prefix = "Values:",
                .answer = fmt::format(" [{}]", fmt::join((*item)->answers, ", ")),
                .references = (*item)->answers},
               **item);
}

Forms code_run_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  const std::string_view call = function_call((*item)->question);
  if (call.empty()) return unusable(**item, "expected a question on the value of a call like func_12(3)");
  return answered(**item, {"Below are functions in Python that call one another.",
                           fmt::format("What does {} return? Answer with the number only.\n", call),
                           fmt::format("The value of {} is", call)});
}

Forms longbook_qa_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  return answered(**item, {"Read the book below, then answer a question about it in a few words.",
                           fmt::format("Question: {}\n", base::stripped((*item)->question)), "Answer:"});
}

Forms longbook_qa_chinese_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  return answered(**item, {"请阅读下面的书，然后用几个字回答问题。",
                           fmt::format("问题：{}\n", base::stripped((*item)->question)), "回答："});
}

Forms longbook_sum_item(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  return answered(**item, {"Read the book below, then summarise it.", "Summarise the book above.\n", "Summary:"});
}

}  // namespace mrrope::eval::drafts
