// SPDX-License-Identifier: MIT
#include "mrrope/task_files.h"
#include "tasks/files/entries.h"

namespace mrrope::eval {

bool holds_documents(std::string_view path) { return path.ends_with(".jsonl") || path.ends_with(".jsonl.gz"); }

Result<void> read_texts(const std::string& path, const TakeText& take) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;
  return task_files::for_each_entry(path, kMostBytes, [&](base::ObjectReader& in) {
    if (!in.has("text")) {
      task_files::reject("",
                         "expected a field \"text\": a .jsonl is documents, one per line; other files are one text");
    }
    return take(in.text("text"));
  });
}

}  // namespace mrrope::eval
