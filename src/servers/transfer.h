// SPDX-License-Identifier: MIT
//
// HTTP exchanges with servers that nobody vouches for, many at a time on one thread: libcurl, with a bound on
// everything a server can make long.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::servers {

struct HttpRequest {
  std::string url;
  std::shared_ptr<const std::string> body = nullptr;  // JSON to POST; none: GET
  std::string api_key = {};
  double deadline_s = 600;
  std::size_t most = std::size_t{8} << 20;  // bytes of the answer's body
};

struct HttpResponse {
  int status = 0;
  std::string content_type;
  std::string redirect;      // where a 3xx points to
  double retry_after_s = 0;  // 0: the server does not say
  std::string body;
};

// Move-only. Exchanges that are not finished end, and their connections are closed, with this object.
class Transfers {
 public:
  using Id = std::uint64_t;
  struct Finished {
    Id id = 0;
    double seconds = 0;
    Result<HttpResponse> response;  // an Error: there was no complete answer
  };

  static Result<Transfers> create();

  // Never blocks; a problem comes out of wait().
  Id start(HttpRequest request);

  // Exchanges that ended, at once if there are any, else after at most `patience`.
  std::vector<Finished> wait(std::chrono::milliseconds patience);

  [[nodiscard]] std::size_t running() const;

  Transfers(Transfers&&) noexcept;
  Transfers& operator=(Transfers&&) noexcept;
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers();

 private:
  struct Impl;
  explicit Transfers(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrrope::servers
