// SPDX-License-Identifier: MIT
//
// InfiniteBench's rules (src/compute_scores.py), one function per subset.
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "base/unicode.h"
#include "mrrope/scoring.h"

namespace mrrope::eval {

namespace {

constexpr std::string_view kDigits = "0123456789";

double one_if(bool right) { return right ? 1 : 0; }

std::string_view leading_digits(std::string_view text) { return text.substr(0, text.find_first_not_of(kDigits)); }

// 12 or 12.5; empty if there is none.
std::string_view first_number(std::string_view text) {
  const std::size_t begin = text.find_first_of(kDigits);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  std::size_t size = leading_digits(text).size();
  if (size < text.size() && text[size] == '.') {
    const std::size_t decimals = leading_digits(text.substr(size + 1)).size();
    if (decimals > 0) size += 1 + decimals;
  }
  return text.substr(0, size);
}

bool is_whole(std::string_view number) { return leading_digits(number).size() == number.size(); }

std::string_view without_zeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

// None for what is no number or beyond a double.
std::optional<double> value(std::string_view number) {
  double parsed = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parsed);
  return error == std::errc() && end == number.data() + number.size() ? std::optional(parsed) : std::nullopt;
}

// Each character of `any` becomes a space.
std::string spaced(std::string_view text, std::string_view any) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [&](char c) { return any.find(c) != std::string_view::npos; }, ' ');
  return out;
}

bool has_word(const std::string& text, std::string_view label) {
  const std::string cut = spaced(text, "\n:\"'.,?!{}");
  const std::vector<std::string_view> words = base::words(cut);
  return std::find(words.begin(), words.end(), label) != words.end();
}

// Of ASCII; beyond it nothing counts as punctuation here.
bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// The words of a text as SQuAD compares them.
std::map<std::string, std::size_t> squad_words(std::string_view text) {
  std::string kept = base::lower_case(text);
  std::erase_if(kept, is_punctuation);
  // Articles go wherever they stand between characters that are no part of a word, “the too.
  std::string without, run;
  const auto end_run = [&] {
    without += run == "a" || run == "an" || run == "the" ? " " : run;
    run.clear();
  };
  for (std::string_view rest = kept; !rest.empty();) {
    const base::CodePoint c = base::first_code_point(rest);
    if (base::is_word_character(c.value)) {
      run += rest.substr(0, c.bytes);
    } else {
      end_run();
      without += rest.substr(0, c.bytes);
    }
    rest.remove_prefix(c.bytes);
  }
  end_run();
  std::map<std::string, std::size_t> counts;
  for (const std::string_view word : base::words(without)) ++counts[std::string(word)];
  return counts;
}

// A character of the published list of Chinese marks, or of ASCII's.
bool is_chinese_punctuation(std::string_view character) {
  constexpr std::string_view kMarks =
      "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞"
      "〟〰〾〿–—‘’‛“”„‟…‧﹏";
  return (character.size() == 1 && is_punctuation(character[0])) ||
         (character.size() > 1 && kMarks.find(character) != std::string_view::npos);
}

// The characters of a text that are neither space nor punctuation.
std::map<std::string, std::size_t> characters(std::string_view text) {
  const std::string kept = base::lower_case(text);
  std::map<std::string, std::size_t> counts;
  for (std::string_view rest = kept; !rest.empty();) {
    const base::CodePoint c = base::first_code_point(rest);
    const std::string_view character = rest.substr(0, c.bytes);
    if (!base::is_white_space(c.value) && !is_chinese_punctuation(character)) ++counts[std::string(character)];
    rest.remove_prefix(c.bytes);
  }
  return counts;
}

std::size_t total(const std::map<std::string, std::size_t>& counts) {
  std::size_t sum = 0;
  for (const auto& [word, count] : counts) sum += count;
  return sum;
}

// F1 of what both have in common.
double f1(const std::map<std::string, std::size_t>& wanted, const std::map<std::string, std::size_t>& given) {
  std::size_t shared = 0;
  for (const auto& [word, count] : wanted) {
    const auto at = given.find(word);
    if (at != given.end()) shared += std::min(count, at->second);
  }
  if (shared == 0) return 0;
  const double precision = static_cast<double>(shared) / static_cast<double>(total(given));
  const double recall = static_cast<double>(shared) / static_cast<double>(total(wanted));
  return 2 * precision * recall / (precision + recall);
}

// A whole number with its sign, without a plus or zeros in front: "-5"; empty for what is none.
std::string whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !is_whole(text)) return "";
  const std::string_view digits = without_zeros(text);
  return digits.empty() ? "0" : (negative ? "-" : "") + std::string(digits);
}

}  // namespace

double passkey(std::string_view label, std::string_view answer) {
  const std::size_t begin = std::min(answer.find_first_of(kDigits), answer.size());
  return one_if(leading_digits(answer.substr(begin)) == label);
}

double number_string(std::string_view label, std::string_view answer) { return passkey(label, answer); }

double kv_retrieval(std::string_view label, std::string_view answer) {
  return one_if(has_word(std::string(answer), label));
}

double math_find(std::string_view label, std::string_view answer) {
  const std::string_view number = first_number(answer);
  if (number.empty() || label.empty()) return 0;
  if (is_whole(label)) return one_if(is_whole(number) && without_zeros(number) == without_zeros(label));
  const std::optional<double> wanted = value(label);
  return one_if(wanted && value(number) == wanted);
}

double code_debug(char letter, std::string_view function, std::string_view answer) {
  const std::string_view begun = base::stripped(answer);
  if (begun.size() >= 2 && begun[0] == letter && (begun[1] == '.' || begun[1] == ':')) return 1;

  // Take out quotes, dashes, asterisks and the word option; one space for many
  std::string text = spaced(begun, "\n`'\"-*");
  for (const std::string_view word : {"Option", "option"}) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) text.replace(at, word.size(), " ");
  }
  text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }), text.end());

  // The first phrase in this order, not in the text's, decides. (Officially there is a fourth, "correct option is:",
  // which cannot be there any more.)
  for (const std::string_view phrase : {"answer is:", "is:", "answer:"}) {
    const std::size_t at = text.find(phrase);
    if (at == std::string::npos) continue;
    std::string_view rest = std::string_view(text).substr(at + phrase.size());
    if (rest.empty()) return 0;
    rest.remove_prefix(base::first_code_point(rest).bytes);
    return one_if(rest.starts_with(letter) || rest.starts_with(function));
  }
  return 0;
}

double longdialogue_qa(std::string_view label, std::string_view answer) {
  return one_if(has_word(base::upper_case(answer), label));
}

double longbook_qa(std::span<const std::string> references, std::string_view answer) {
  const auto given = squad_words(answer);
  double best = 0;
  for (const std::string& reference : references) best = std::max(best, f1(squad_words(reference), given));
  return best;
}

double longbook_qa_chinese(std::span<const std::string> references, std::string_view answer) {
  const auto given = characters(answer);
  double best = 0;
  for (const std::string& reference : references) best = std::max(best, f1(characters(reference), given));
  return best;
}

double longbook_choice(char letter, std::string_view option, std::string_view answer) {
  constexpr std::string_view kLetters = "ABCD";
  const auto is_right = [&](std::string_view said) { return said == option || said == std::string_view(&letter, 1); };
  const std::string_view begun = base::stripped(answer);
  if (begun.empty()) return 0;
  if (kLetters.find(begun[0]) != std::string_view::npos) return one_if(is_right(begun.substr(0, 1)));
  if (is_right(begun)) return 1;

  std::string text = spaced(begun, "\n\"'.,?!{}");
  text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }), text.end());
  for (const std::string_view phrase : {"answer is:", "answer:", "answer is", "option is"}) {
    const std::size_t at = text.find(phrase);
    if (at == std::string::npos) continue;
    std::string_view rest = std::string_view(text).substr(at + phrase.size());
    if (rest.empty()) return 0;
    rest.remove_prefix(base::first_code_point(rest).bytes);
    return one_if(rest.starts_with(letter) || rest.starts_with(option));
  }
  for (const std::string_view word : base::words(text)) {
    if (kLetters.find(word) != std::string_view::npos) return one_if(is_right(word));
  }
  return 0;
}

double code_run(std::string_view label, std::string_view answer) {
  const std::string text = spaced(base::stripped(answer), "\n.`'\":");
  const std::vector<std::string_view> words = base::words(text);
  const std::string said = words.empty() ? "" : whole_number(words.back());
  return one_if(!said.empty() && said == whole_number(label));
}

double math_calc(std::span<const std::string> labels, std::string_view answer) {
  std::size_t right = 0;
  for (const std::string& label : labels) {
    answer.remove_prefix(std::min(answer.find_first_of(kDigits), answer.size()));
    const std::string_view number = leading_digits(answer);
    if (number.empty() || whole_number(number) != whole_number(label)) break;
    answer.remove_prefix(number.size());
    ++right;
  }
  return labels.empty() ? 0 : static_cast<double>(right) / static_cast<double>(labels.size());
}

}  // namespace mrrope::eval
