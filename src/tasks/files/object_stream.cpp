// SPDX-License-Identifier: MIT
//
// Objects are found by counting brackets outside strings; whether what is between them is JSON, parse_json says.
#include "tasks/files/object_stream.h"

#include <fmt/format.h>

#include <utility>

namespace mrrope::eval::task_files {

namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10;
constexpr int kEnd = -1;
// parse_json refuses them too, but only after it has followed them down.
constexpr int kMaxDepth = 32;

// Follows brackets and strings, byte by byte.
class Brackets {
 public:
  void take(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (in_string_) {
      escaped_ = c == '\\';
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
    }
  }
  [[nodiscard]] int depth() const { return depth_; }

 private:
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

}  // namespace

Result<ObjectStream> ObjectStream::open(const std::string& path, std::uint64_t most) {
  Result<ByteStream> bytes = ByteStream::open(path, most);
  if (!bytes) return bytes.error();
  return ObjectStream(*std::move(bytes));
}

Error ObjectStream::placed(Error error) const {
  error.where = fmt::format("{}: entry {}{}{}", bytes_.path(), entry_, error.where.empty() ? "" : ": ", error.where);
  return error;
}

Error ObjectStream::malformed(std::string message) const {
  return placed({ErrorCode::malformed, std::move(message), ""});
}

Result<int> ObjectStream::peek() {
  if (at_ == size_) {
    buffer_.resize(kBuffer);
    const Result<std::size_t> count = bytes_.read(buffer_);
    if (!count) return count.error();
    at_ = 0;
    size_ = *count;
    if (size_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[at_]);
}

Result<int> ObjectStream::skip_space() {
  for (;; ++at_) {
    Result<int> c = peek();
    if (!c || (*c != ' ' && *c != '\t' && *c != '\n' && *c != '\r')) return c;
  }
}

// Goes to the "{" of the next object; false at the end of the file.
Result<bool> ObjectStream::find_object() {
  ++entry_;
  const bool first = !std::exchange(started_, true);
  if (first) {  // a byte order mark
    for (const int byte : {0xEF, 0xBB, 0xBF}) {
      const Result<int> c = peek();
      if (!c) return c.error();
      if (*c != byte) break;
      ++at_;
    }
  }
  Result<int> c = skip_space();
  const auto advance = [&] {
    ++at_;
    c = skip_space();
  };
  if (first && c && *c == '[') {
    list_ = true;
    advance();
  } else if (!first && list_ && c && *c == ',') {
    advance();
    if (c && *c == ']') return malformed("expected an object after the comma");
  } else if (!first && list_ && c && *c != ']') {
    return *c == kEnd ? malformed("the list is not closed") : malformed("expected a comma before the object");
  }
  if (list_ && c && *c == ']') {
    advance();
    if (c && *c != kEnd) return malformed("something follows the list");
  } else if (list_ && c && *c == kEnd) {
    return malformed("the list is not closed");
  }
  if (!c) return c.error();
  if (*c == kEnd) return false;
  if (*c != '{') return malformed("expected an object");
  return true;
}

Result<std::string> ObjectStream::take_object() {
  std::string text;
  Brackets brackets;
  do {
    const Result<int> c = peek();
    if (!c) return c.error();
    if (*c == kEnd) return malformed("the file ends inside the object");
    const std::size_t begin = at_;
    do {
      brackets.take(buffer_[at_++]);
    } while (brackets.depth() > 0 && brackets.depth() <= kMaxDepth && at_ < size_);
    if (brackets.depth() > kMaxDepth) return malformed("nested too deeply");
    if (text.size() + (at_ - begin) > base::kMaxJsonBytes)
      return malformed(fmt::format("larger than {} bytes", base::kMaxJsonBytes));
    text.append(buffer_.data() + begin, at_ - begin);
  } while (brackets.depth() > 0);
  return text;
}

Result<std::optional<base::Json>> ObjectStream::next() {
  const Result<bool> found = find_object();
  if (!found) return found.error();
  if (!*found) return std::optional<base::Json>();
  const Result<std::string> text = take_object();
  if (!text) return text.error();
  Result<base::Json> value = base::parse_json(*text);
  if (!value) return placed(value.error());
  return std::optional<base::Json>(*std::move(value));
}

}  // namespace mrrope::eval::task_files
