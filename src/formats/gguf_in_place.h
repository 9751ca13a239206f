// SPDX-License-Identifier: MIT
//
// Changes in place, with every effect on the disk open to interruption, so that tests can stop at each of them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "files/file.h"
#include "formats/gguf_edit.h"
#include "mrrope/gguf.h"

namespace mrrope::formats {

struct Steps {
  std::function<bool()> go_on = {};          // asked before every effect; false: stop at once, as a crash would
  std::size_t piece = std::size_t{1} << 20;  // bytes written at a time
};

Result<void> edit_in_place(const GgufModel& model, const GgufEdits& edits, const Steps& steps,
                           const InPlaceOptions& options = {});
// What a dry run can find out of that: an Error for a file with several names.
Result<void> check_in_place(const std::string& path, const InPlaceOptions& options);

// The file as it will be, with its data a multiple of blocks from where it is: every way to change a file gives these
// bytes. Errors: what a change in place cannot keep.
Result<Edited> plan_in_place(const GgufModel& model, const GgufEdits& edits, const base::File& file);

Result<bool> recover(const std::string& path, const Steps& steps);

}  // namespace mrrope::formats
