// SPDX-License-Identifier: MIT
//
// Loading and unloading leaves nothing behind. (Under ctest every test is a process of its own, so that the count is of
// this alone.)
#include <malloc.h>

#include "tests/plugin/support.h"

namespace mrrope::test {
namespace {

std::string maps() {
  std::ifstream file("/proc/self/maps");
  return {std::istreambuf_iterator<char>(file), {}};
}

void one_cycle(const std::string& plan) {
  LoadedPlugin plugin(plan);
  ASSERT_NE(plugin.registration(), nullptr);
  plugin.set_n_threads(2);
  RopeCase c;
  c.ne = {64, 16, 256, 1};  // large enough for two threads
  c.positions.assign(256, 7);
  rotated(plugin, c);
}

TEST(PluginCycles, AHundredLoadsLeakNothing) {
  const Result<RopeSpec> spec = parse_spec("dim=64,base=10000,ctx=4096");
  const TemporaryFile file(to_json(*make_plan(*spec, 16384, MrRopePro{})));
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  // The first cycles fill caches that stay: the loader's, OpenMP's threads
  for (int i = 0; i < 20; ++i) one_cycle(file.path());
  EXPECT_EQ(maps().find("libggml-mrrope.so"), std::string::npos) << "must be gone from memory";
  const std::size_t before = in_use();
  for (int i = 0; i < 100; ++i) one_cycle(file.path());
  // What leaks in every cycle takes the smallest block of malloc a hundred times; threads may hold a few on their own
  EXPECT_LT(in_use(), before + 100 * 32);
  EXPECT_EQ(maps().find("libggml-mrrope.so"), std::string::npos);
}

}  // namespace
}  // namespace mrrope::test
