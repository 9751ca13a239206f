// SPDX-License-Identifier: MIT
//
// The verdict of mrrope tune in words.
#pragma once

#include <string>

#include "report/figure.h"
#include "report/tune_file.h"

namespace mrrope::report {

// Whether what was found beats the best published method, and the numbers that say so.
std::string tune_sentence(const TuneFile& tune);

// The table of all differences, with the words of `mrrope tune`.
Figure verdict_figure(const TuneFile& tune, const std::string& name);

}  // namespace mrrope::report
