// SPDX-License-Identifier: MIT
#pragma once

#include "tasks/draft.h"

namespace mrrope::eval::drafts {

using Forming = Forms (*)(const Brief&);
using Scoring = double (*)(const Sample&, std::string_view);

// Of a task of tasks(); nullptr for any other.
Forming generator_of(const Task& task, bool from_file);  // of an item of a file, or a prompt that is made
Scoring scoring_of(const Task& task);

}  // namespace mrrope::eval::drafts
