// SPDX-License-Identifier: MIT
#include "runs/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "files/file.h"
#include "runs/record_scan.h"

namespace mrrope::eval {

namespace {

constexpr std::uint64_t kMaxInfo = std::uint64_t{1} << 20;
constexpr std::size_t kChunk = std::size_t{1} << 20;

// Lines of a file, each with its end; the last may lack it.
class Lines {
 public:
  Lines(const base::File& file, std::uint64_t size) : file_(file), size_(size) {}

  // Empty: there is none left. Errors: the system's, and a line that is larger than any of ours.
  Result<std::string_view> next() {
    std::size_t searched = begin_;
    for (;;) {
      const std::size_t end = buffer_.find('\n', searched);
      const std::size_t length = (end != std::string::npos ? end + 1 : buffer_.size()) - begin_;
      if (length > kMaxRecordBytes) {
        return Error{ErrorCode::malformed,
                     fmt::format("the line has more than {} bytes, and no record of mrrope has", kMaxRecordBytes), ""};
      }
      if (end != std::string::npos || read_ == size_) return take(length);
      buffer_.erase(0, std::exchange(begin_, 0));
      searched = buffer_.size();
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, size_ - read_));
      buffer_.resize(searched + count);
      if (const auto ok = file_.read_all_at(read_, base::bytes_of(buffer_).subspan(searched)); !ok) return ok.error();
      read_ += count;
    }
  }

 private:
  std::string_view take(std::size_t length) {
    return std::string_view(buffer_).substr(std::exchange(begin_, begin_ + length), length);
  }

  const base::File& file_;
  std::uint64_t size_;
  std::uint64_t read_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not handed out yet
};

}  // namespace

Result<RunInfo> read_run_info(const std::string& folder) {
  const std::string path = folder + "/run.json";
  const Result<std::string> text = base::read_file(path, kMaxInfo);
  if (!text) return text.error();
  Result<RunInfo> info = run_info_from_json(*text);
  if (!info) return Error{info.error().code, to_string(info.error()), path};
  return info;
}

Result<RecordsEnd> read_records(const std::string& folder,
                                const std::function<Result<void>(Record&&, std::string_view line)>& take) {
  RecordsEnd end;
  const std::string path = folder + "/records.jsonl";
  if (!base::identity_of(path)) return end;
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  Lines lines(*file, *size);
  Record record;  // whose memory is used again
  for (std::size_t number = 1; end.good_bytes < *size; ++number) {
    const Result<std::string_view> line = lines.next();
    if (!line) return Error{line.error().code, line.error().message, fmt::format("{}:{}", path, number)};
    const bool last = end.good_bytes + line->size() == *size;
    const bool ended = line->ends_with('\n');
    const std::string_view text = line->substr(0, line->size() - (ended ? 1 : 0));
    Result<void> read;
    if (!scan_record(text, record)) {
      Result<Record> slowly = record_from_json(text);
      if (slowly) record = *std::move(slowly);
      else read = slowly.error();
    }
    // JSON that is complete was meant, by a later mrrope perhaps, and is not ours to drop
    const bool cut = read ? !ended : last && !base::parse_json(text);
    if (cut) {
      end.torn = true;
      break;
    }
    if (!read) return Error{read.error().code, to_string(read.error()), fmt::format("{}:{}", path, number)};
    if (const auto ok = take(std::move(record), text); !ok) return ok.error();
    end.good_bytes += line->size();
  }
  return end;
}

}  // namespace mrrope::eval
