// SPDX-License-Identifier: MIT
#include "tasks/score.h"

#include <algorithm>

#include "base/unicode.h"
#include "mrrope/scoring.h"
#include "tasks/catalogue.h"

namespace mrrope::eval {

std::size_t FirstLine::end_in(std::string_view piece) {
  const std::size_t first = begun_ ? 0 : piece.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return first;
  begun_ = true;
  return piece.find('\n', first);
}

namespace drafts {

namespace {

// The prefix and what was said after it; servers that trim answers, or begin a new turn, leave out the space.
std::string joined(const Sample& sample, std::string_view said) {
  return sample.answer_prefix + " " + std::string(base::stripped(said));
}

}  // namespace

double all_found(const Sample& sample, std::string_view said) {
  return string_match_all(sample.references, clean_prediction(said));
}
double any_found(const Sample& sample, std::string_view said) {
  return string_match_part(sample.references, clean_prediction(said));
}
double first_digits(const Sample& sample, std::string_view said) { return eval::passkey(sample.references[0], said); }
double same_words(const Sample& sample, std::string_view said) { return rouge1_recall(sample.references[0], said); }
double whole_word(const Sample& sample, std::string_view said) {
  return eval::kv_retrieval(sample.references[0], said);
}
double first_number(const Sample& sample, std::string_view said) { return eval::math_find(sample.references[0], said); }
double same_name(const Sample& sample, std::string_view said) { return longdialogue_qa(sample.references[0], said); }
double shared_words(const Sample& sample, std::string_view said) { return longbook_qa(sample.references, said); }
double shared_characters(const Sample& sample, std::string_view said) {
  return longbook_qa_chinese(sample.references, said);
}
double summary(const Sample& sample, std::string_view said) { return longbook_sum(sample.references, said); }
double last_number(const Sample& sample, std::string_view said) { return code_run(sample.references[0], said); }
double first_values(const Sample& sample, std::string_view said) { return math_calc(sample.references, said); }
double chosen_option(const Sample& sample, std::string_view said) {
  if (sample.references.size() < 2 || sample.references[0].empty()) return 0;
  return eval::longbook_choice(sample.references[0][0], sample.references[1], said);
}

double named_option(const Sample& sample, std::string_view said) {
  if (sample.references.size() < 2 || sample.references[0].empty()) return 0;
  const char letter = sample.references[0][0];
  // By itself as well: officially "A." at the start of an answer counts
  return std::max(eval::code_debug(letter, sample.references[1], joined(sample, said)),
                  eval::code_debug(letter, sample.references[1], said));
}
double said_letter(const Sample& sample, std::string_view said) {
  const auto letter = longbench2_letter(joined(sample, said));
  return letter && sample.references[0] == std::string_view(&*letter, 1) ? 1 : 0;
}

}  // namespace drafts

double score_answer(const Task& task, const Sample& sample, std::string_view answer) {
  const drafts::Scoring score = drafts::scoring_of(task);
  if (score == nullptr || sample.references.empty()) return 0;
  return score(sample, without_thinking(answer));
}

std::map<std::string, double> other_scores(const Task& task, const Sample& sample, std::string_view answer) {
  if (drafts::scoring_of(task) != drafts::same_words || sample.references.empty()) return {};
  const std::string said = without_thinking(answer);
  return {{"content_recall", content_recall(sample.references[0], said)}};
}

}  // namespace mrrope::eval
