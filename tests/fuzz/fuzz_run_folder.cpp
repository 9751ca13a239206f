// SPDX-License-Identifier: MIT
//
// Run folders: | run.json | NUL | records.jsonl | NUL | records.jsonl of a second run |. Reading changes nothing on the
// disk; a folder that can be read can be continued, and loses at most a last line that was cut off; two that can be
// read become one with every record of the first and what the second has beside them, and two of which one cannot be
// read become nothing.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/merge.h"
#include "mrrope/records.h"
#include "tests/formats/gguf_builder.h"

namespace {

using namespace mrrope;
using namespace mrrope::eval;

void require(bool holds) {
  if (!holds) std::abort();
}

// The folders of this process; tools/fuzz lets TMPDIR lie in memory.
struct Place {
  Place() {
    for (const std::string* run : {&first, &second}) require(::mkdir(run->c_str(), 0777) == 0);
  }
  test::TempFolder folder;
  std::string first = folder / "a", second = folder / "b", merged = folder / "merged";
};
Place& place() {
  static Place here;
  return here;
}

std::string part(std::string_view& input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  std::string text(input.substr(0, end));
  input.remove_prefix(std::min(end + 1, input.size()));
  return text;
}

// Nothing if the folder is refused.
std::optional<RunFolder> read(const std::string& path, const std::string& records) {
  Result<RunFolder> run = RunFolder::read(path);
  require(test::read_bytes(path + "/records.jsonl") == records);
  if (!run) {
    require(!run.error().message.empty());
    return std::nullopt;
  }
  for (const Record& record : run->records()) require(run->find(record.key) == &record);
  return *std::move(run);
}

// The same records, a file that is cut to whole lines, and room for one more.
void check_continued(const RunFolder& run, const std::string& records) {
  const std::string file = run.path() + "/records.jsonl";
  {
    Result<RunFolder> again = RunFolder::open(run.path(), run.info());
    require(again.has_value() && again->records() == run.records() && again->was_torn() == run.was_torn());
    const std::string cut = test::read_bytes(file);
    require(records.starts_with(cut) && (cut.empty() || cut.back() == '\n'));
    require(run.was_torn() == (cut != records));
    require(std::min(records.find('\n', cut.size()), records.size()) + 1 >= records.size());
    Record more;
    more.key = "a key that no record has: ";
    while (run.find(more.key) != nullptr) more.key += 'x';
    more.task = run.info().task;
    require(again->append(more).has_value());
    require(!RunFolder::open(run.path(), run.info()));  // one writer at a time
  }
  const Result<RunFolder> longer = RunFolder::read(run.path());
  require(longer.has_value() && !longer->was_torn() && longer->records().size() == run.records().size() + 1);
  require(std::equal(run.records().begin(), run.records().end(), longer->records().begin()));
}

void check_merged(const std::optional<RunFolder>& first, const std::optional<RunFolder>& second) {
  const Result<Merged> merged = merge_runs({place().first, place().second}, place().merged);
  require(merged.has_value() == (first && second));
  require(std::filesystem::exists(place().merged) == merged.has_value());
  if (!merged) return;
  std::vector<Record> expected = first->records();
  for (const Record& record : second->records()) {
    if (first->find(record.key) == nullptr) expected.push_back(record);
  }
  const Result<RunFolder> run = RunFolder::read(place().merged);
  require(run.has_value() && run->records() == expected && run->info() == first->info());
  require(merged->records == expected.size() && merged->contradictions <= merged->repeated);
  require(merged->torn.size() == (first->was_torn() ? 1U : 0U) + (second->was_torn() ? 1U : 0U));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string info = part(input), records = part(input), others = part(input);
  place().folder.write("a/run.json", info);
  place().folder.write("b/run.json", info);
  place().folder.write("a/records.jsonl", records);
  place().folder.write("b/records.jsonl", others);
  const std::optional<RunFolder> first = read(place().first, records), second = read(place().second, others);
  check_merged(first, second);
  if (first) check_continued(*first, records);
  require(test::read_bytes(place().first + "/run.json") == info);
  std::filesystem::remove_all(place().merged);
  return 0;
}
