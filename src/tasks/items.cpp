// SPDX-License-Identifier: MIT
//
// Questions of a file with their whole context that are answered by an option, and InfiniteBench's dialogues. A context
// that does not fit is an error, never cut: the evidence may be in the part that is cut.
#include "tasks/items.h"

#include <fmt/format.h>

#include <algorithm>

namespace mrrope::eval::drafts {

namespace {

constexpr const char* kOption = "items";

// Which option is right: the first answer is its letter.
Result<std::size_t> right_option(const Item& item) {
  const bool is_letter = !item.answers.empty() && item.answers[0].size() == 1 && item.answers[0][0] >= 'A';
  const auto option = is_letter ? static_cast<std::size_t>(item.answers[0][0] - 'A') : item.options.size();
  if (option < std::min<std::size_t>(item.options.size(), 26)) return option;
  return unusable(item, fmt::format("expected the letter of one of {} options", item.options.size()));
}

std::string letter(std::size_t option) { return {static_cast<char>('A' + option)}; }

// "A. first", one a line.
std::string listed(const Item& item) {
  std::string text;
  for (std::size_t i = 0; i < item.options.size(); ++i) text += letter(i) + ". " + item.options[i] + "\n";
  return text;
}

}  // namespace

Error unusable(const Item& item, std::string_view what) {
  return Error{ErrorCode::inconsistent, fmt::format("item \"{}\": {}", item.id, what), "", kOption};
}

Result<const Item*> asked_item(const Brief& brief) {
  if (static_cast<std::size_t>(brief.index) < brief.items.size()) {
    return &brief.items[drawn(brief, brief.items.size())];
  }
  return Error{
      ErrorCode::invalid_argument,
      fmt::format("expected an index below {}, the number of items, found {}", brief.items.size(), brief.index), "",
      kOption};
}

Forms whole(Draft draft, const Item& item) {
  draft.labels = item.labels;
  draft.labels["id"] = item.id;
  return std::vector{Form{.draft = [draft](Size) { return draft; }, .grows = Form::Grows::never}};
}

Forms code_debug(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  const Result<std::size_t> right = right_option(**item);
  if (!right) return right.error();
  return whole({.prompt = fmt::format("In the code below one function has a bug that was put in on purpose.\n\n{}\n\n"
                                      "Which function has the bug?\n{}Answer with the letter of the option.\n",
                                      (*item)->context, listed(**item)),
                .answer_prefix = "The correct option is:",
                .answer = " " + letter(*right) + ". " + (*item)->options[*right],
                .references = {letter(*right), (*item)->options[*right]}},
               **item);
}

Forms longbook_choice(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  const Result<std::size_t> right = right_option(**item);
  if (!right) return right.error();
  return whole({.prompt = fmt::format("Read the book below, then answer a question about it.\n\n{}\n\n"
                                      "Question: {}\n{}Answer with the letter of the option.\n",
                                      (*item)->context, (*item)->question, listed(**item)),
                .answer_prefix = "The letter of the right answer is",
                .answer = " " + letter(*right) + ".",
                .references = {letter(*right), (*item)->options[*right]}},
               **item);
}

Forms longdialogue(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  if ((*item)->answers.empty() || (*item)->answers[0].empty())
    return unusable(**item, "expected an answer, found none");
  return whole({.prompt = fmt::format("In the dialogue below one name is replaced by $$MASK$$.\n\n{}\n\nWhose name is "
                                      "it? Answer with the name only.\n",
                                      (*item)->context),
                .answer_prefix = "The name replaced by $$MASK$$ is",
                .answer = " " + (*item)->answers[0] + ".",
                .other_answers = spaced((*item)->answers),
                .references = (*item)->answers},
               **item);
}

Forms longbench2(const Brief& brief) {
  const Result<const Item*> item = asked_item(brief);
  if (!item) return item.error();
  const Result<std::size_t> right = right_option(**item);
  if (!right) return right.error();
  std::string prompt =
      fmt::format("Read the text and answer the question about it.\n\n<text>\n{}\n</text>\n\nQuestion: {}\n",
                  (*item)->context, (*item)->question);
  for (std::size_t i = 0; i < (*item)->options.size(); ++i) {
    prompt += fmt::format("({}) {}\n", letter(i), (*item)->options[i]);
  }
  return whole({.prompt = prompt + "Give the answer in this form: \"The correct answer is (letter)\".\n",
                .answer_prefix = "The correct answer is",
                .answer = " (" + letter(*right) + ")",
                .references = {letter(*right)}},
               **item);
}

}  // namespace mrrope::eval::drafts
