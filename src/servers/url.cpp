// SPDX-License-Identifier: MIT
#include "servers/url.h"

#ifdef _WIN32
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#endif

#include <algorithm>

#include "base/unicode.h"

namespace mrrope::servers {

namespace {

constexpr std::size_t kMaxUrl = 2048;

Error refused(std::string message) { return {ErrorCode::invalid_argument, std::move(message), "url"}; }

bool is_url_character(char c) {
  static constexpr std::string_view kNever = "\"<>\\^`{|}";
  return c > ' ' && c < '\x7f' && kNever.find(c) == std::string_view::npos;
}

// The rules of curl for what stands between :// and the path, except that a port has to be a number.
bool is_host_and_port(std::string_view text) {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == std::string_view::npos) return false;
  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  std::string_view port = end == std::string_view::npos ? std::string_view() : text.substr(bracketed ? end + 1 : end);
  if (host.empty() || (bracketed && host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos)) {
    return false;
  }
  if (port.empty()) return true;
  if (port.front() != ':') return false;
  port.remove_prefix(1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos) return false;
  const int number = std::stoi(std::string(port));
  return number > 0 && number < 65536;
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  static constexpr std::string_view kExpected = "expected http://host:port or https://host/path";
  if (text.size() > kMaxUrl || !std::all_of(text.begin(), text.end(), is_url_character)) {
    return refused(std::string(kExpected) + ", found characters that no URL has");
  }
  std::size_t start = std::string_view::npos;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.starts_with(scheme)) start = scheme.size();
  }
  if (start == std::string_view::npos) {
    // Not repeated where it may hold a password.
    const bool secret = text.find_first_of("@?") != std::string_view::npos;
    return refused(std::string(kExpected) + (secret ? "" : ", found \"" + std::string(text) + "\""));
  }
  const std::string_view authority = text.substr(start, text.find_first_of("/?#", start) - start);
  if (authority.find('@') != std::string_view::npos) {
    return refused("a user or password in a URL would be recorded with the answers; give a key instead");
  }
  if (const std::size_t end = text.find_first_of("?#"); end != std::string_view::npos) {
    // What follows may be a key
    return refused(std::string(kExpected) + ", found more after \"" + std::string(text.substr(0, end)) + "\"");
  }
  if (!is_host_and_port(authority)) {
    return refused(std::string(kExpected) + ", found \"" + std::string(text) + "\"");
  }
  std::string_view root = text;
  const auto drop_slashes = [&] {
    while (root.ends_with('/')) root.remove_suffix(1);
  };
  drop_slashes();
  if (root.ends_with("/v1")) root.remove_suffix(3);
  drop_slashes();
  return ServerUrl{std::string(text), std::string(root)};
}

bool is_readable_on_the_way(const ServerUrl& url) {
  static constexpr std::string_view kHttp = "http://";
  if (!url.root.starts_with(kHttp)) return false;
  const std::string_view rest = std::string_view(url.root).substr(kHttp.size());
  const bool bracketed = rest.starts_with('[');
  const std::string host =
      base::lower_case(bracketed ? rest.substr(1, rest.find(']') - 1) : rest.substr(0, rest.find_first_of(":/")));
  in_addr four{};
  in6_addr six{};
  if (bracketed) return ::inet_pton(AF_INET6, host.c_str(), &six) != 1 || !IN6_IS_ADDR_LOOPBACK(&six);
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 != 127;
  return host != "localhost" && !host.ends_with(".localhost");  // RFC 6761: names of the loopback
}

}  // namespace mrrope::servers
