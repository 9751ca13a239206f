// SPDX-License-Identifier: MIT
//
// Which samples a command asks for.
#include "measure/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace mrrope::eval {
namespace {

using Slots = std::set<std::tuple<std::int64_t, std::int64_t, double>>;  // length, index, depth

Slots slots(const BenchmarkOptions& options, const char* task = "niah", std::size_t items = 0) {
  Slots out;
  const Result<std::vector<SampleSlot>> found = slots_of(options, *find_task(task), items);
  EXPECT_TRUE(found);
  for (const SampleSlot& slot : *found) {
    EXPECT_TRUE(out.emplace(slot.request.length, slot.request.index, slot.request.depth.value_or(-1)).second);
  }
  return out;
}

bool holds(const Slots& more, const Slots& fewer) {
  return std::includes(more.begin(), more.end(), fewer.begin(), fewer.end());
}

TEST(Samples, MoreOfThemTakeUpThoseThereAre) {
  const BenchmarkOptions few{.tasks = {}, .lengths = {1024, 4096}, .samples = 3, .depths = 5};
  BenchmarkOptions many = few;
  many.samples = 7;
  EXPECT_EQ(slots(few).size(), 2U * 3 * 5);
  EXPECT_EQ(slots(many).size(), 2U * 7 * 5);
  EXPECT_TRUE(holds(slots(many), slots(few)));
}

TEST(Samples, ShardsHaveEachOnceAndKeepWhatTheyHave) {
  for (const int depths : {0, 4}) {
    const BenchmarkOptions few{.tasks = {}, .lengths = {2048}, .samples = 5, .depths = depths, .shards = 3};
    BenchmarkOptions many = few;
    many.lengths = {1024, 2048, 4096};
    many.samples = 8;
    Slots all;
    for (std::int64_t shard = 0; shard < 3; ++shard) {
      BenchmarkOptions here = few;
      BenchmarkOptions later = many;
      here.shard = later.shard = shard;
      const Slots found = slots(later);
      EXPECT_TRUE(holds(found, slots(here))) << "shard " << shard;
      for (const auto& slot : found) EXPECT_TRUE(all.insert(slot).second);
    }
    many.shards = 1;
    EXPECT_EQ(all, slots(many));
  }
}

// With ten depths in ten shards the first shard had ten needles at one depth, and its heat map looked like a result.
TEST(Samples, OfAShardAreAtManyDepths) {
  for (const int depths : {6, 9, 10, 11}) {
    for (const std::int64_t shards : {5, 6, 10, 12}) {
      for (std::int64_t shard = 0; shard < shards; ++shard) {
        const BenchmarkOptions options{
            .tasks = {}, .lengths = {4096}, .samples = 10, .depths = depths, .shard = shard, .shards = shards};
        std::set<double> found;
        std::size_t count = 0;
        for (const auto& [length, index, depth] : slots(options)) found.insert(depth), ++count;
        // A fair draw leaves 1 - 1/e of the smaller number different on average; less than a third would be a pattern
        EXPECT_GE(3 * found.size(), std::min(count, static_cast<std::size_t>(depths))) << depths << " in " << shards;
        EXPECT_LE(count, static_cast<std::size_t>(10 * depths / shards + 1));
      }
    }
  }
}

TEST(Samples, AreNoMoreThanTheItemsOfAFileAndAsManyAsAskedWithoutOne) {
  const BenchmarkOptions options{.tasks = {}, .lengths = {4096}, .samples = 8};
  EXPECT_EQ(slots(options, "code_debug", 2).size(), 2U);
  EXPECT_EQ(slots(options, "passkey", 2).size(), 2U);
  EXPECT_EQ(slots(options, "passkey", 0).size(), 8U);
}

// Without shards a sample divided by nought.
TEST(Samples, OfAShardThatIsNoneAreAnError) {
  for (const auto& [shard, shards] : {std::pair{0, 0}, {0, -1}, {-1, 2}, {2, 2}}) {
    const BenchmarkOptions options{.tasks = {}, .lengths = {4096}, .shard = shard, .shards = shards};
    const auto found = slots_of(options, *find_task("niah"), 0);
    ASSERT_FALSE(found) << shard << "/" << shards;
    EXPECT_EQ(found.error().option, "shard");
  }
}

}  // namespace
}  // namespace mrrope::eval
