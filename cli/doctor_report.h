// SPDX-License-Identifier: MIT
//
// What mrrope doctor prints: findings, then what each engine makes of the file.
#pragma once

#include <string_view>

#include "base/json.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

// `one_engine`: the examination asked about one only; its findings are printed in full.
void print_examination(const ModelFile& model, const Examination& found, bool one_engine);

base::Json examination_json(const ModelFile& model, const Examination& found);

// All codes, a line each.
void print_codes();

// A code in a few paragraphs. Errors: none such; names the nearest.
Result<void> explain_code(std::string_view code);

}  // namespace mrrope::cli
