// SPDX-License-Identifier: MIT
//
// The objects of a JSON file one by one: of a list, or one after the other with white space between (.jsonl). A file
// may be of any size; one object at a time is in memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "mrrope/result.h"
#include "tasks/files/byte_stream.h"

namespace mrrope::eval::task_files {

class ObjectStream {
 public:
  // `most`: bytes of the file when unpacked.
  static Result<ObjectStream> open(const std::string& path, std::uint64_t most);

  // Nothing at the end of the file. Errors: an object that parse_json refuses, or larger than it takes; anything that
  // is no object; a list that is not closed, or is followed by something. The place names file and entry.
  Result<std::optional<base::Json>> next();

  // `error`, found in the object last read: its place becomes "data.json: entry 3: context".
  [[nodiscard]] Error placed(Error error) const;

 private:
  explicit ObjectStream(ByteStream bytes) : bytes_(std::move(bytes)) {}
  Result<int> peek();  // the next byte, or kEnd
  Result<int> skip_space();
  Result<bool> find_object();
  Result<std::string> take_object();
  [[nodiscard]] Error malformed(std::string message) const;

  ByteStream bytes_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, size_ = 0;  // of buffer_
  bool started_ = false, list_ = false;
  std::size_t entry_ = 0;  // from 1
};

}  // namespace mrrope::eval::task_files
