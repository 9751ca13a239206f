// SPDX-License-Identifier: MIT
//
// What a person writes for a server, and the addresses it stands for.
#pragma once

#include <string>
#include <string_view>

#include "mrrope/result.h"

namespace mrrope::servers {

struct ServerUrl {
  std::string given;  // for messages and records
  std::string root;   // without trailing slashes and /v1: "http://host:8000"

  [[nodiscard]] std::string at(std::string_view path) const { return root + std::string(path); }
};

// Errors: other schemes than http and https, no host, a query or fragment, characters no URL has. A user or password in
// the URL is refused without repeating it: it would end up in records.
Result<ServerUrl> parse_server_url(std::string_view text);

// Whether what is sent there can be read by others on its way: http, to a host that is not this machine by its name
// (localhost) or number (127.0.0.0/8, ::1).
bool is_readable_on_the_way(const ServerUrl& url);

}  // namespace mrrope::servers
