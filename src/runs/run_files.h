// SPDX-License-Identifier: MIT
//
// The two files of a run folder, read: of any size, a line at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mrrope/records.h"

namespace mrrope::eval {

// FOLDER/run.json
Result<RunInfo> read_run_info(const std::string& folder);

struct RecordsEnd {
  std::uint64_t good_bytes = 0;  // up to the end of the last complete line
  bool torn = false;             // a last line that was cut off is left out
};

// FOLDER/records.jsonl, or nothing if there is none: `take` gets every record with its line, without the line's end. An
// error of `take` ends the reading and is returned. The beginning of a line at the end is what a killed process or a
// full disk leaves; damage anywhere else, a line of another version of mrrope and one of more than kMaxRecordBytes are
// errors that name the line. What is appended while this reads is not seen.
Result<RecordsEnd> read_records(const std::string& folder,
                                const std::function<Result<void>(Record&&, std::string_view line)>& take);

// The setting of a run whose samples of files are drawn. A folder that lacks it has the first of each file, and is
// neither continued nor merged with one that has it.
inline constexpr std::string_view kDrawnSetting = "items";
inline constexpr std::string_view kDrawnBySeed = "drawn by the seed";

// Whether both are from before items were drawn, or neither.
inline bool draw_alike(const RunInfo& run, const RunInfo& other) {
  const std::string drawn(kDrawnSetting);
  return run.settings.contains(drawn) == other.settings.contains(drawn);
}

}  // namespace mrrope::eval
