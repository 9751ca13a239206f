// SPDX-License-Identifier: MIT
//
// Files under names that a person gave, and names that a file gave. One rule for every command that writes: what is
// there is replaced only if mrrope wrote it, or if that is asked for; what the same command reads is never replaced.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::base {

struct OutputRule {
  // Whether mrrope wrote a file that begins like this. At most kOutputStart bytes are shown.
  std::function<bool(std::string_view start)> ours;
  std::vector<std::string> inputs = {};  // what the command reads; those that are not there do not matter
  bool force = false;                    // replace what is not ours, too
};

inline constexpr std::size_t kOutputStart = 4096;

// Whether there is a file that may be replaced; false: there is none. Errors: an input under this or another name
// (symbolic and hard links), whatever is asked for; a file of somebody else that is not empty, without `force`; no
// regular file.
Result<bool> may_replace(const std::string& path, const OutputRule& rule);

// A file with this content, complete and on the disk, or the old one. Errors: those of may_replace() and write_file().
Result<void> write_output(const std::string& path, std::string_view text, const OutputRule& rule);

// A name from a file as the name of one file or folder: nothing in it leads elsewhere or hides it. As lm_eval's
// sanitize_model_name, runs of "<>:/|\?*[] and of control characters become "__"; besides, it is never empty, does not
// begin with a dot, and has at most 200 bytes.
std::string safe_file_name(std::string_view name);

}  // namespace mrrope::base
