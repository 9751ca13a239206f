// SPDX-License-Identifier: MIT
#include "plugin/threads.h"

#include <dlfcn.h>

#include <algorithm>

namespace mrrope::plugin {

namespace {

// OpenMP's threads sleep in its library between two calls. Where nobody but us uses it, unloading us would unload it
// under their feet: it stays. (One handle per process, whatever happens to us.)
void keep_openmp() {
  static void* const kept = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  static_cast<void>(kept);
}

}  // namespace

void share_tokens(std::size_t tokens, std::size_t shares, int n_threads, const std::function<void(TokenRange)>& part) {
  const std::size_t most = std::min({tokens, shares, static_cast<std::size_t>(std::max(n_threads, 1))});
  if (most < 2) return part({.first = 0, .last = tokens});
  keep_openmp();
  const int count = static_cast<int>(most);
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    part({.first = tokens * at / most, .last = tokens * (at + 1) / most});
  }
}

}  // namespace mrrope::plugin
