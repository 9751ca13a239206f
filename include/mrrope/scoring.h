// SPDX-License-Identifier: MIT
//
// The rules by which long-context benchmarks score an answer, as pure functions on text. Scores are 0 … 1.
//
//   string_match_all({"4512337"}, clean_prediction(without_thinking(answer)));   // RULER
//   rouge1_recall("eat a sandwich and sit in Dolores Park", answer);             // needle in a haystack
//   passkey("71432", answer);                                                    // InfiniteBench
//   longbench2_letter(answer) == 'B';                                            // LongBench-v2
//
// Official rules are kept with their oddities, because numbers are compared with published ones; each oddity is said
// where it is. Sources: NVIDIA/RULER c3f5e3b, OpenBMB/InfiniteBench 88b3daa, THUDM/LongBench 2e00731, rouge_score
// 0.1.2. Texts are UTF-8; bytes that are not are kept and match themselves only. Lower case, upper case and white space
// are those of Unicode (base/unicode.h), digits are 0-9. Cost: linear in the texts, but for the search of a reference
// in an answer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mrrope::eval {

// ---- Before scoring ------------------------------------------------------------------------------------------------

// What was said outside <think>…</think>. A <think> that is never closed leaves nothing: the answer was not reached. A
// </think> without its <think> (the template had opened it) drops what is before it; where a template opens it and the
// answer may have been cut, give "<think>" + answer.
std::string without_thinking(std::string_view answer);

// RULER's: stripped; every control character (U+0000 … U+001F) becomes a line break; stripped again.
std::string clean_prediction(std::string_view answer);

// ---- RULER ---------------------------------------------------------------------------------------------------------
// Without regard to case, and anywhere: "12" is found in "3123", and nothing is taken off for what else is said.
// Domain: at least one reference.

// The fraction of references found in the prediction.
double string_match_all(std::span<const std::string> references, std::string_view prediction);
// 1 if any is found.
double string_match_part(std::span<const std::string> references, std::string_view prediction);

// ---- Needle in a haystack ------------------------------------------------------------------------------------------

// ROUGE-1 of google-research's rouge_score with use_stemmer=True: runs of [a-z0-9] of the lower-cased text, words of
// more than three characters stemmed as NLTK's PorterStemmer does. An answer of nothing but stop words has a recall of
// 0.2 … 0.4 against most English sentences.
struct Rouge {
  double precision = 0, recall = 0, f1 = 0;
};
Rouge rouge1(std::string_view reference, std::string_view answer);
double rouge1_recall(std::string_view reference, std::string_view answer);

// ROUGE-1 recall of the reference's words that mean something: without articles, prepositions and the like. Its floor
// is 0. A reference of nothing else is taken as it is.
double content_recall(std::string_view reference, std::string_view answer);

// ---- InfiniteBench -------------------------------------------------------------------------------------------------
// 1 or 0, but for longbook_qa, its Chinese form, longbook_sum and math_calc.

// The first run of digits, to its end, is the label: "99999, then 71432" is not 71432, nor is "714321".
double passkey(std::string_view label, std::string_view answer);
double number_string(std::string_view label, std::string_view answer);

// The label is one of the words between white space and any of : " ' . , ? ! { }; "<uuid>-extra" is not.
double kv_retrieval(std::string_view label, std::string_view answer);

// The first number (12 or 12.5) equals the label. A label with a point (a median: "42.5", "42.0") is compared as a
// number; one without only with whole numbers: 12.0 is not 12.
double math_find(std::string_view label, std::string_view answer);

// The answer begins with "B." or "B:", or what follows the first of "answer is:", "is:", "answer:" and one more
// character begins with the letter or the function's name. So "B" alone is wrong, and so is "The answer is:B"; scores
// below chance are normal.
double code_debug(char letter, std::string_view function, std::string_view answer);

// The label, which is in capitals, is one of the words as kv_retrieval cuts them, in capitals. A label with a space
// ("OIL MAN") cannot be found; 23 of the 200 official ones are such.
double longdialogue_qa(std::string_view label, std::string_view answer);

// F1 of words as SQuAD normalises them (lower case, no ASCII punctuation, no articles), the best over the references.
double longbook_qa(std::span<const std::string> references, std::string_view answer);
// The same of single characters, without white space and punctuation, ASCII's or Chinese.
double longbook_qa_chinese(std::span<const std::string> references, std::string_view answer);

// ROUGE-Lsum's F1 without stemming, the best over the references: lines are sentences, and what a line of the reference
// has in common with any line of the answer counts, each word as often as both texts have it. Cost: the product of
// their words, of which at most the first 8192 are read.
double longbook_sum(std::span<const std::string> references, std::string_view answer);

// The answer begins with a capital A to D, which decides; or is the option; or what follows the first of "answer is:",
// "answer:", "answer is", "option is" and one more character begins with the letter or the option; or its first word
// that is a letter A to D is the right one. So "Certainly B" is right and "Can it be B?" is an answer C.
double longbook_choice(char letter, std::string_view option, std::string_view answer);

// The last word, between white space and any of . ` ' " :, is the number. A sign counts, zeros in front do not.
double code_run(std::string_view label, std::string_view answer);

// The fraction of the labels that the answer's numbers repeat from the first on, up to the first that differs. Signs
// are not read.
double math_calc(std::span<const std::string> labels, std::string_view answer);

// ---- Multiple choice -----------------------------------------------------------------------------------------------

// LongBench-v2: the letter after the first "The correct answer is (", or else after the first "The correct answer is ",
// asterisks ignored; none counts as wrong. Also takes the A of "The correct answer is Apple".
std::optional<char> longbench2_letter(std::string_view answer);

// The letter whose probability is greatest as the next token: "A" and " A" are different tokens that say the same, so
// their probabilities are added. `plain` and `spaced`: ln p of each form, A first; -infinity where a vocabulary has no
// such token, or has one for both. The first of equals; none if none has a probability, or a value is not a number.
// Domain: both of the same size, at most 26.
std::optional<char> likeliest_letter(std::span<const double> plain, std::span<const double> spaced);

}  // namespace mrrope::eval
