// SPDX-License-Identifier: MIT
//
// What is known about plans for a model: a search of mrrope tune that measured this very file, or nothing but papers.
#pragma once

#include <cstdint>
#include <string>

#include "mrrope/gguf.h"

namespace mrrope::cli {

struct Known {
  std::string folder;    // of the search; empty: there is none
  std::string sentence;  // its verdict
  std::string trouble;   // why a search that is there could not be read
};

// Looks into `tuned` here and beside the model for a search of the same content and length. A large file is told by
// samples of its content (content_hash_of_file), so that this takes no time.
Known known_about(const GgufModel& model, std::int64_t context);

}  // namespace mrrope::cli
