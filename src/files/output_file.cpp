// SPDX-License-Identifier: MIT
#include "files/output_file.h"

#include <algorithm>
#include <cstddef>

#include "files/file.h"

namespace mrrope::base {

namespace {

constexpr std::size_t kMostOfAName = 200;  // file systems have 255; the rest is for what is put around it

Error refused(std::string message, const std::string& path) {
  return {ErrorCode::invalid_argument, std::move(message), path};
}

}  // namespace

Result<bool> may_replace(const std::string& path, const OutputRule& rule) {
  if (!is_taken(path)) return false;  // what else is wrong is said where it is written
  const std::optional<FileIdentity> target = identity_of(path);
  const auto is_target = [&](const std::string& input) { return target && identity_of(input) == target; };
  if (std::any_of(rule.inputs.begin(), rule.inputs.end(), is_target)) {
    return refused("this command reads that file, and never replaces it; take another name", path);
  }
  if (const auto ok = check_free(path, true); !ok) return ok.error();
  if (rule.force) return true;
  const Result<File> file = File::open(path, File::Access::read);
  std::string start(kOutputStart, '\0');
  const Result<std::size_t> count = file ? file->read_at(0, bytes_of(start)) : Result<std::size_t>(file.error());
  start.resize(count ? *count : 0);
  if (count && start.empty()) return true;  // nothing is lost: mktemp makes such files
  if (!count || !rule.ours(start)) return refused("exists, and mrrope did not write it", path);
  return true;
}

Result<void> write_output(const std::string& path, std::string_view text, const OutputRule& rule) {
  const Result<bool> replace = may_replace(path, rule);
  if (!replace) return replace.error();
  return write_file(path, text, *replace);
}

std::string safe_file_name(std::string_view name) {
  std::string out;
  bool run = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool bad = std::string_view("\"<>:/|\\?*[]").find(c) != std::string_view::npos || byte < ' ' || byte == 0x7f;
    if (bad && !run) out += "__";
    if (!bad) out += c;
    run = bad;
  }
  if (out.size() > kMostOfAName) {
    std::size_t end = kMostOfAName;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // not within a character
    out.resize(end);
  }
  if (out.empty() || out.front() == '.') out.insert(0, "_");
  return out;
}

}  // namespace mrrope::base
