// SPDX-License-Identifier: MIT
//
// Memory as people read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

// Three digits: "111 MiB", "3.25 GiB".
std::string size_text(double bytes);

// Keys, values and states of one sequence of `tokens` in f16: "111 MiB". Empty: the file does not say, or nothing is
// kept.
std::string cache_text(const ModelFile& model, std::int64_t tokens);

// All of the cache, in bytes; 0 as above.
double cache_bytes(const ModelFile& model, std::int64_t tokens);
// For JSON: a whole number without a point; beyond any memory it does not matter.
base::Json bytes_json(double bytes);
// "111 MiB for keys and values of 32768 tokens (f16, one sequence)".
std::string cache_sentence(double bytes, std::int64_t tokens);

// What makes it less than `tokens` in every layer, one sentence each: "15 of 18 layers keep at most 1024 tokens".
std::vector<std::string> cache_remarks(const ModelFile& model, std::int64_t tokens);

}  // namespace mrrope::cli
