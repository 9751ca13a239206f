// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <llama.h>

#include "mrrope/runtime.h"

namespace mrrope {

std::string llama_version() { return ::llama_version(); }

std::string llama_library() {
  Dl_info library{};
  const bool found = ::dladdr(reinterpret_cast<const void*>(&::llama_version), &library) != 0;
  return found && library.dli_fname != nullptr ? library.dli_fname : "";
}

std::string llama_built_for() { return MRROPE_LLAMA_VERSION; }

}  // namespace mrrope
