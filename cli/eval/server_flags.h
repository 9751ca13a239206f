// SPDX-License-Identifier: MIT
//
// What commands take that measure on servers as well as here.
#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>
#include <vector>

namespace mrrope::cli {

struct ServerFlags {
  std::vector<std::string> endpoints;  // empty: the model runs here
  std::string model;                   // as they call it
  std::string label;                   // empty: the same
  int concurrency = 8;
  double deadline = 600;
  std::string key_variable = "MRROPE_API_KEY";  // whose value is the key; a key itself is never an argument
  std::string not_for_servers;                  // a flag that was given and means nothing to them

  [[nodiscard]] const std::string& method() const { return label.empty() ? model : label; }
};

// --endpoint, --model, --label, --concurrency, --deadline, --api-key-env.
void add_server_flags(CLI::App& command, ServerFlags& flags);

// The first of these that was given; empty: none.
std::string first_given(const CLI::App& command, std::span<const char* const> flags);

}  // namespace mrrope::cli
