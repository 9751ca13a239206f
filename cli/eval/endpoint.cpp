// SPDX-License-Identifier: MIT
#include "cli/eval/endpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "cli/eval/benchmark.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

// From the environment: arguments are shown to everyone on the machine, and recorded. Only from a variable that is ours
// or that was named, so that the key of one service is not sent to another.
Result<std::string> api_key_of(const std::string& name) {
  const char* key = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (key != nullptr) return std::string(key);
  if (name == kKeyVariable) return std::string();
  // Not repeated: it may be the key itself
  return usage("expected the name of an environment variable that is set, such as OPENAI_API_KEY", "--api-key-env");
}

}  // namespace

Result<ServerOptions> ready_servers(ServerOptions options, const std::string& key_variable) {
  Result<std::string> key = api_key_of(key_variable);
  if (!key) return key.error();
  options.api_key = *std::move(key);
  if (const auto ok = run_requests(options, 0, nullptr, nullptr); !ok) return ok.error();
  const std::vector<std::string> urls = servers_without_encryption(options);
  if (!options.api_key.empty() && !urls.empty()) {
    note("warning: the API key goes to {} without encryption; anyone on the way can read it\n", fmt::join(urls, ", "));
  }
  return options;
}

Result<ServerOptions> servers_of(const ServerFlags& flags, bool chat) {
  if (flags.model.empty()) return usage("expected the name the servers serve the model under", "--model");
  if (!flags.not_for_servers.empty()) {
    return usage("servers answer as they were started: leave it out; --label names their plan in the records",
                 flags.not_for_servers);
  }
  return ready_servers({.urls = flags.endpoints,
                        .model = flags.model,
                        .chat = chat,
                        .concurrency = flags.concurrency,
                        .deadline_s = flags.deadline},
                       flags.key_variable);
}

}  // namespace mrrope::cli
