// SPDX-License-Identifier: MIT
//
// Which rule of scoring.h a task uses. What the model thought is taken away before.
#pragma once

#include <string_view>

#include "mrrope/tasks.h"

namespace mrrope::eval::drafts {

double all_found(const Sample& sample, std::string_view said);     // RULER: the fraction of references found
double any_found(const Sample& sample, std::string_view said);     // RULER's qa
double first_digits(const Sample& sample, std::string_view said);  // the first run of digits is the reference
double same_words(const Sample& sample, std::string_view said);    // ROUGE-1 recall
double whole_word(const Sample& sample, std::string_view said);
double first_number(const Sample& sample, std::string_view said);
double same_name(const Sample& sample, std::string_view said);
double shared_words(const Sample& sample, std::string_view said);       // F1, as SQuAD's
double shared_characters(const Sample& sample, std::string_view said);  // F1, of Chinese
double summary(const Sample& sample, std::string_view said);            // ROUGE-Lsum
double chosen_option(const Sample& sample, std::string_view said);
double last_number(const Sample& sample, std::string_view said);
double first_values(const Sample& sample, std::string_view said);
// Both look at the whole turn, which begins with the prefix: their official phrases are in it.
double named_option(const Sample& sample, std::string_view said);
double said_letter(const Sample& sample, std::string_view said);

}  // namespace mrrope::eval::drafts
