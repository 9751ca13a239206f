// SPDX-License-Identifier: MIT
#include "cli/eval/server_flags.h"

namespace mrrope::cli {

void add_server_flags(CLI::App& command, ServerFlags& flags) {
  const auto group = [](CLI::Option* option) { option->group("Servers"); };
  group(command.add_option("--endpoint", flags.endpoints, "OpenAI-compatible servers: http://host:8000,…")
            ->delimiter(',')
            ->type_name("LIST"));
  group(command.add_option("--model", flags.model, "the name they serve it under")->type_name("NAME"));
  group(command.add_option("--label", flags.label, "stands as the method in records (that name)")->type_name("NAME"));
  group(command.add_option("--concurrency", flags.concurrency, "requests at once per server (8)")
            ->check(CLI::Range(1, 4096))
            ->type_name("N"));
  group(command.add_option("--deadline", flags.deadline, "seconds for one request (600)")->type_name("S"));
  group(command
            .add_option("--api-key-env", flags.key_variable,
                        "the environment variable that holds their API key\n(MRROPE_API_KEY)")
            ->type_name("NAME"));
}

std::string first_given(const CLI::App& command, std::span<const char* const> flags) {
  for (const char* flag : flags) {
    if (command.get_option(flag)->count() > 0) return flag;
  }
  return "";
}

}  // namespace mrrope::cli
