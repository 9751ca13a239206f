// SPDX-License-Identifier: MIT
#include "plugin/abi.h"

#include <fmt/format.h>
#include <ggml.h>

#include <string_view>

namespace mrrope::plugin {

namespace {

// "0.25.1" -> "0.25".
std::string_view minor_version(std::string_view version) {
  const std::size_t first = version.find('.');
  return first == std::string_view::npos ? version : version.substr(0, version.find('.', first + 1));
}

}  // namespace

Result<void> check_ggml() {
  const std::string_view here = ggml_version();
  if (minor_version(here) == minor_version(MRROPE_GGML_VERSION) &&
      std::string_view(ggml_op_name(GGML_OP_ROPE)) == "ROPE") {
    return {};
  }
  return Error{ErrorCode::unsupported,
               fmt::format("libggml-mrrope.so was built for ggml {}, this program has {}", MRROPE_GGML_VERSION, here),
               ""};
}

}  // namespace mrrope::plugin
