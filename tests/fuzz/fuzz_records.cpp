// SPDX-License-Identifier: MIT
//
// Lines of a run folder, and its run.json: refused with a reason, or understood, written and understood as the same.
// What the fast reader recognises is what the slow one reads, which a byte order mark before the text leaves alone to
// read it.
//
//   fuzz_records tests/fuzz/corpus/records
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mrrope/records.h"
#include "runs/record_scan.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// `read` and to_json() go together.
template <typename Read>
void check(std::string_view text, Read read) {
  const auto value = read(text);
  if (!value) {
    require(!value.error().message.empty());
    return;
  }
  const auto again = read(to_json(*value));
  require(again.has_value() && *again == *value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, mrrope::eval::record_from_json);
  check(text, mrrope::eval::run_info_from_json);
  if (mrrope::eval::Record scanned; mrrope::eval::scan_record(text, scanned)) {
    const auto slow = mrrope::eval::record_from_json("\xEF\xBB\xBF" + std::string(text));
    require(slow.has_value() && *slow == scanned);
  }
  return 0;
}
