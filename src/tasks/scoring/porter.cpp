// SPDX-License-Identifier: MIT
//
// Porter's algorithm as a list of steps; each step is a table of suffixes. m counts the vowel-consonant sequences of
// what is before the suffix; of the suffixes in a table only the first that fits is tried, whether its condition holds
// or not. "NLTK:" marks what differs from the paper.
#include "tasks/scoring/porter.h"

#include <array>
#include <span>
#include <utility>

namespace mrrope::eval::scoring {

namespace {

bool is_vowel_letter(char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; }

// A y after a consonant is a vowel, so a run of them alternates.
bool is_consonant(std::string_view word, std::size_t i) {
  bool flipped = false;
  for (; i > 0 && word[i] == 'y'; --i) flipped = !flipped;
  return is_vowel_letter(word[i]) == flipped;
}

// m of [C](VC){m}[V].
int measure(std::string_view stem) {
  int m = 0;
  bool after_vowel = false;
  for (std::size_t i = 0; i < stem.size(); ++i) {
    const bool vowel = stem[i] == 'y' ? i > 0 && !after_vowel : is_vowel_letter(stem[i]);
    if (after_vowel && !vowel) ++m;
    after_vowel = vowel;
  }
  return m;
}

bool has_vowel(std::string_view stem) {
  // The first y that is not the first letter follows a consonant, or else a vowel that has been found.
  for (std::size_t i = 0; i < stem.size(); ++i) {
    if (is_vowel_letter(stem[i]) || (stem[i] == 'y' && i > 0)) return true;
  }
  return false;
}

// *d of the paper.
bool ends_in_double_consonant(std::string_view word) {
  const std::size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && is_consonant(word, n - 1);
}

// *o of the paper: consonant, vowel, consonant that is not w, x or y. NLTK: also a word of one vowel and one consonant.
bool ends_in_short_syllable(std::string_view word) {
  const std::size_t n = word.size();
  if (n == 2) return !is_consonant(word, 0) && is_consonant(word, 1);
  return n >= 3 && is_consonant(word, n - 3) && !is_consonant(word, n - 2) && is_consonant(word, n - 1) &&
         std::string_view("wxy").find(word[n - 1]) == std::string_view::npos;
}

struct Rule {
  std::string_view suffix, replacement;
};

// Replaces the first suffix that fits, if more than `above` is the measure of what is before it.
void apply(std::string& word, std::span<const Rule> rules, int above) {
  for (const Rule& rule : rules) {
    if (!word.ends_with(rule.suffix)) continue;
    const std::size_t stem = word.size() - rule.suffix.size();
    if (measure(std::string_view(word).substr(0, stem)) > above) {
      word.resize(stem);
      word += rule.replacement;
    }
    return;
  }
}

void plurals(std::string& word) {  // 1a
  if (word.ends_with("sses")) {
    word.resize(word.size() - 2);
  } else if (word.ends_with("ies")) {
    word.resize(word.size() - (word.size() == 4 ? 1 : 2));  // NLTK: dies -> die, but flies -> fli
  } else if (word.ends_with('s') && !word.ends_with("ss")) {
    word.pop_back();
  }
}

void past_and_progressive(std::string& word) {  // 1b
  const std::string_view text = word;
  if (text.ends_with("ied")) {  // NLTK: died -> die, but spied -> spi
    word.resize(word.size() - (word.size() == 4 ? 1 : 2));
    return;
  }
  if (text.ends_with("eed")) {
    if (measure(text.substr(0, text.size() - 3)) > 0) word.pop_back();
    return;
  }
  const std::size_t suffix = text.ends_with("ed") ? 2 : text.ends_with("ing") ? 3 : 0;
  if (suffix == 0 || !has_vowel(text.substr(0, text.size() - suffix))) return;
  word.resize(word.size() - suffix);
  if (ends_in_double_consonant(word)) {
    if (!word.ends_with('l') && !word.ends_with('s') && !word.ends_with('z')) word.pop_back();
  } else if (word.ends_with("at") || word.ends_with("bl") || word.ends_with("iz") ||
             (measure(word) == 1 && ends_in_short_syllable(word))) {
    word += 'e';
  }
}

void final_y(std::string& word) {  // 1c; NLTK: after a consonant that is not the first letter, vowel or not before it
  const std::size_t n = word.size();
  if (n > 2 && word.back() == 'y' && is_consonant(word, n - 2)) word.back() = 'i';
}

void double_suffixes(std::string& word) {  // 2
  // NLTK: bli -> ble, as in Porter's own programs, where the paper has abli -> able; and fulli -> ful.
  static constexpr auto kRules = std::to_array<Rule>(
      {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"},   {"izer", "ize"},
       {"bli", "ble"},     {"entli", "ent"},   {"eli", "e"},     {"ousli", "ous"},   {"ization", "ize"},
       {"ation", "ate"},   {"ator", "ate"},    {"alism", "al"},  {"iveness", "ive"}, {"fulness", "ful"},
       {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"}, {"biliti", "ble"},  {"fulli", "ful"}});
  // NLTK: what -alli leaves goes through the step again (rationalli -> rational -> ration).
  const std::string_view text = word;
  if (text.ends_with("alli") && measure(text.substr(0, text.size() - 4)) > 0) word.resize(word.size() - 2);
  if (word.ends_with("logi")) {  // NLTK: the l counts as part of the stem
    if (measure(std::string_view(word).substr(0, word.size() - 3)) > 0) word.pop_back();
    return;
  }
  apply(word, kRules, 0);
}

void single_suffixes(std::string& word) {  // 3
  static constexpr auto kRules = std::to_array<Rule>(
      {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}});
  apply(word, kRules, 0);
}

void last_suffixes(std::string& word) {  // 4
  static constexpr auto kRules = std::to_array<Rule>({
      {"al", ""},
      {"ance", ""},
      {"ence", ""},
      {"er", ""},
      {"ic", ""},
      {"able", ""},
      {"ible", ""},
      {"ant", ""},
      {"ement", ""},
      {"ment", ""},
      {"ent", ""},
      {"ou", ""},
      {"ism", ""},
      {"ate", ""},
      {"iti", ""},
      {"ous", ""},
      {"ive", ""},
      {"ize", ""},
  });
  if (word.ends_with("ion")) {
    const std::string_view stem = std::string_view(word).substr(0, word.size() - 3);
    if ((stem.ends_with('s') || stem.ends_with('t')) && measure(stem) > 1) word.resize(stem.size());
    return;
  }
  apply(word, kRules, 1);
}

void final_e_and_l(std::string& word) {  // 5a, 5b
  if (word.ends_with('e')) {
    const std::string_view stem = std::string_view(word).substr(0, word.size() - 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_in_short_syllable(stem))) word.pop_back();
  }
  if (word.ends_with("ll") && measure(std::string_view(word).substr(0, word.size() - 1)) > 1) word.pop_back();
}

// NLTK: words that are not stemmed.
constexpr auto kIrregular = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"skies", "sky"},
    {"sky", "sky"},
    {"dying", "die"},
    {"lying", "lie"},
    {"tying", "tie"},
    {"news", "news"},
    {"innings", "inning"},
    {"inning", "inning"},
    {"outings", "outing"},
    {"outing", "outing"},
    {"cannings", "canning"},
    {"canning", "canning"},
    {"howe", "howe"},
    {"proceed", "proceed"},
    {"exceed", "exceed"},
    {"succeed", "succeed"},
});

}  // namespace

std::string porter_stem(std::string_view word) {
  for (const auto& [form, stem] : kIrregular) {
    if (word == form) return std::string(stem);
  }
  std::string stem(word);
  if (stem.size() <= 2) return stem;
  for (const auto step :
       {plurals, past_and_progressive, final_y, double_suffixes, single_suffixes, last_suffixes, final_e_and_l}) {
    step(stem);
  }
  return stem;
}

}  // namespace mrrope::eval::scoring
