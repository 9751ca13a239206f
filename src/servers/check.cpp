// SPDX-License-Identifier: MIT
#include "servers/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "files/folders.h"

namespace mrrope::servers {

namespace {

constexpr double kMaxSeconds = 1e6;
constexpr int kMaxConcurrency = 4096;
constexpr int kMaxAttempts = 100;
constexpr std::size_t kMaxKey = 4096;
constexpr std::uint64_t kOtherFiles = 64;

Error refused(std::string message, std::string option) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(option)};
}

}  // namespace

Result<std::vector<ServerUrl>> check_options(const ServerOptions& options) {
  if (options.urls.empty()) return refused("expected the URL of a server, found none", "urls");
  if (options.concurrency < 1 || options.concurrency > kMaxConcurrency) {
    return refused(fmt::format("expected 1 to {}, found {}", kMaxConcurrency, options.concurrency), "concurrency");
  }
  if (options.attempts < 1 || options.attempts > kMaxAttempts) {
    return refused(fmt::format("expected 1 to {}, found {}", kMaxAttempts, options.attempts), "attempts");
  }
  if (!(options.deadline_s > 0 && options.deadline_s <= kMaxSeconds)) {
    return refused(
        fmt::format("expected more than 0 and at most {} seconds, found {}", kMaxSeconds, options.deadline_s),
        "deadline_s");
  }
  if (!(options.patience_s >= 0 && options.patience_s <= kMaxSeconds)) {
    return refused(fmt::format("expected 0 to {} seconds, found {}", kMaxSeconds, options.patience_s), "patience_s");
  }
  // A line break would begin another header.
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (options.api_key.size() > kMaxKey || !std::all_of(options.api_key.begin(), options.api_key.end(), visible)) {
    return refused(fmt::format("expected at most {} visible ASCII characters", kMaxKey), "api_key");
  }
  std::vector<ServerUrl> servers;
  for (const std::string& text : options.urls) {
    Result<ServerUrl> url = parse_server_url(text);
    if (!url) return std::move(url).error();
    servers.push_back(*std::move(url));
  }
  // One connection per request in flight; running out of them would look like servers that fail.
  const std::uint64_t wanted = servers.size() * static_cast<std::uint64_t>(options.concurrency) + kOtherFiles;
  if (const std::uint64_t most = base::most_open_files(); most < wanted) {
    return refused(
        fmt::format("{} servers times {} requests need {} open files, and this process may have {}: ulimit -n",
                    servers.size(), options.concurrency, wanted, most),
        "concurrency");
  }
  return servers;
}

}  // namespace mrrope::servers

namespace mrrope {

std::vector<std::string> servers_without_encryption(const ServerOptions& options) {
  std::vector<std::string> urls;
  for (const std::string& text : options.urls) {
    const Result<servers::ServerUrl> url = servers::parse_server_url(text);
    if (url && servers::is_readable_on_the_way(*url)) urls.push_back(text);
  }
  return urls;
}

}  // namespace mrrope
