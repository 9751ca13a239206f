// SPDX-License-Identifier: MIT
//
// Where libcurl was not found (cmake/servers.cmake).
#include "mrrope/benchmarks.h"

namespace mrrope {

namespace {

Error not_built() { return {ErrorCode::unsupported, "this program was built without libcurl", "--endpoint"}; }

}  // namespace

std::optional<Error> run_requests(
    const ServerOptions& /*options*/, std::size_t /*n*/,
    const std::function<Result<ServerRequest>(std::size_t)>& /*make*/,
    const std::function<std::optional<Error>(std::size_t, const Result<ServerAnswer>&)>& /*done*/,
    const std::atomic<bool>* /*cancel*/) {
  return not_built();
}

std::vector<std::string> servers_without_encryption(const ServerOptions& /*options*/) { return {}; }

Result<ServedCount> count_on_servers(const ServerOptions& /*servers*/, const std::atomic<bool>* /*cancel*/) {
  return not_built();
}

Result<ServedCost> measure_served(const ServerOptions& /*servers*/, const std::string& /*label*/,
                                  const TaskTexts& /*texts*/, const TokenCount& /*count*/,
                                  const BenchmarkOptions& /*options*/, RunFolder& /*run*/, const Control& /*control*/) {
  return not_built();
}

}  // namespace mrrope
