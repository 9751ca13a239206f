// SPDX-License-Identifier: MIT
#include "mrrope/merge.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "mrrope/records.h"
#include "runs/run_files.h"
#include "tests/support/answers.h"
#include "tests/support/temporary_folder.h"

namespace mrrope::eval {
namespace {

namespace fs = std::filesystem;
using test::answer_record;

class MergeTest : public ::testing::Test {
 protected:
  // A run of samples first … last - 1, as shard `name` of a larger one; its path.
  std::string shard(const std::string& name, std::int64_t first, std::int64_t last, const RunInfo& info) {
    Result<RunFolder> run = RunFolder::open(folder_.path(name), info);
    EXPECT_TRUE(run) << to_string(run.error());
    for (std::int64_t i = first; i < last; ++i) EXPECT_TRUE(run->append(answer_record({.index = i})));
    return folder_.path(name);
  }
  std::string shard(const std::string& name, std::int64_t first, std::int64_t last) {
    return shard(name, first, last, info_);
  }
  [[nodiscard]] std::string output() const { return folder_.path("run"); }
  void expect_nothing_left(std::ptrdiff_t inputs) const {
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), inputs);
  }

  test::TemporaryFolder folder_;
  RunInfo info_{.task = "ruler",
                .model = "m",
                .model_hash = "aa",
                .architecture = "",
                .engine = "",
                .settings = {{"samples", "500"}},
                .command = {"mrrope", "eval", "ruler"}};
};

std::string file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(MergeTest, ShardsBecomeTheRunTheyAreShardsOf) {
  const std::vector<std::string> shards = {shard("0", 0, 10), shard("1", 10, 17), shard("2", 17, 17)};
  const std::string whole = shard("whole", 0, 17, info_);
  const Result<Merged> merged = merge_runs(shards, output());
  ASSERT_TRUE(merged) << to_string(merged.error());
  EXPECT_EQ(merged->records, 17U);
  EXPECT_EQ(merged->repeated, 0U);
  EXPECT_TRUE(merged->torn.empty());
  EXPECT_EQ(file(output() + "/records.jsonl"), file(whole + "/records.jsonl"));
  EXPECT_EQ(file(output() + "/run.json"), file(whole + "/run.json"));
  expect_nothing_left(5);
  EXPECT_TRUE(RunFolder::open(output(), info_));  // and can be continued
  const auto mode = [](const std::string& path) { return std::filesystem::status(path).permissions(); };
  EXPECT_EQ(mode(output()), mode(whole)) << "as open as any new folder";
}

TEST_F(MergeTest, EqualKeysAreKeptOnceAndContradictionsCounted) {
  const std::string first = shard("0", 0, 10);
  const std::string second = shard("1", 5, 12);
  {
    Result<RunFolder> run = RunFolder::open(shard("2", 0, 0), info_);
    ASSERT_TRUE(run);
    ASSERT_TRUE(run->append(answer_record({.index = 0, .score = 0.5})));
    Record slower = answer_record({.index = 1});
    slower.seconds = 77;  // is not part of the result
    ASSERT_TRUE(run->append(slower));
  }
  const Result<Merged> merged = merge_runs({first, second, folder_.path("2")}, output());
  ASSERT_TRUE(merged) << to_string(merged.error());
  EXPECT_EQ(merged->records, 12U);
  EXPECT_EQ(merged->repeated, 7U);
  EXPECT_EQ(merged->contradictions, 1U);
  const Result<RunFolder> run = RunFolder::read(output());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->records().front().answer()->score, 1);
  EXPECT_EQ(run->records().size(), 12U);
}

TEST_F(MergeTest, PointsAreComparedToo) {
  Record r;
  r.key = "k";
  r.reading()->points = {{512, 511, 3.5}};
  for (const std::string name : {"0", "1"}) {
    Result<RunFolder> run = RunFolder::open(folder_.path(name), info_);
    ASSERT_TRUE(run->append(r));
    r.reading()->points[0].nll = 3.25;
  }
  EXPECT_EQ(merge_runs({folder_.path("0"), folder_.path("1")}, output())->contradictions, 1U);
}

TEST_F(MergeTest, RunsMeasuredInDifferentWaysAreNotOneRun) {
  RunInfo other = info_;
  other.settings["cache-type-k"] = "f16";
  ASSERT_TRUE(merge_runs({shard("0", 0, 1), shard("1", 1, 2, other)}, output()));
  EXPECT_EQ(RunFolder::read(output())->info().settings, other.settings);
  other.settings["cache-type-k"] = "q8_0";
  const Result<Merged> merged =
      merge_runs({folder_.path("0"), folder_.path("1"), shard("2", 2, 3, other)}, folder_.path("all"));
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().where, folder_.path("2"));
  EXPECT_EQ(merged.error().message.find("was measured with cache-type-k q8_0, not f16 as "), 0U);
}

TEST_F(MergeTest, ARunFromBeforeItemsWereDrawnIsNotOneWithALaterOne) {
  RunInfo drawn = info_;
  drawn.settings.emplace(kDrawnSetting, kDrawnBySeed);
  const std::string before = shard("before", 0, 1), after = shard("after", 1, 2, drawn);
  EXPECT_FALSE(merge_runs({before, after}, output()));
  EXPECT_FALSE(merge_runs({after, before}, output()));
}

TEST_F(MergeTest, ATornLastLineOfAnyInputIsLeftOutAndNamed) {
  const std::string line = to_json(answer_record({.index = 99})) + "\n";
  for (std::size_t cut = 1; cut < line.size(); cut += 11) {
    fs::remove_all(folder_.path());
    fs::create_directory(folder_.path());
    const std::vector<std::string> inputs = {shard("0", 0, 3), shard("1", 3, 5)};
    std::ofstream(inputs[0] + "/records.jsonl", std::ios::app) << line.substr(0, cut);
    const Result<Merged> merged = merge_runs(inputs, output());
    ASSERT_TRUE(merged) << to_string(merged.error());
    EXPECT_EQ(merged->records, 5U);
    EXPECT_EQ(merged->torn, std::vector{inputs[0]});
    EXPECT_EQ(RunFolder::read(output())->records().size(), 5U);
  }
}

TEST_F(MergeTest, DamageElsewhereIsAnErrorThatNamesFileAndLine) {
  const std::string good = to_json(answer_record({.index = 7}));
  for (const std::string& bad : {std::string("{\"damaged\": true}"), good.substr(0, 100), std::string(), good + "x",
                                 std::string(1, '\0'), std::string("\xff\xfe")}) {
    fs::remove_all(folder_.path());
    fs::create_directory(folder_.path());
    const std::vector<std::string> inputs = {shard("0", 0, 3), shard("1", 3, 5)};
    std::ofstream(inputs[1] + "/records.jsonl", std::ios::app) << bad << "\n" << good << "\n";
    const Result<Merged> merged = merge_runs(inputs, output());
    ASSERT_FALSE(merged) << bad;
    EXPECT_EQ(merged.error().where, inputs[1] + "/records.jsonl:3");
    expect_nothing_left(2);
  }
}

TEST_F(MergeTest, AnotherTaskOrModelIsRefusedWithBothNames) {
  RunInfo other = info_;
  other.task = "niah";
  Result<Merged> merged = merge_runs({shard("0", 0, 1), shard("1", 1, 2, other)}, output());
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().where, folder_.path("1"));
  EXPECT_EQ(merged.error().message, "holds niah of m (aa), but " + folder_.path("0") + " holds ruler of m (aa)");
  other = info_;
  other.model_hash = "bb";
  merged = merge_runs({folder_.path("0"), shard("2", 1, 2, other)}, output());
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::inconsistent);
  expect_nothing_left(3);
}

TEST_F(MergeTest, WhatIsThereIsNotReplaced) {
  const std::string first = shard("0", 0, 3);
  const std::string before = file(first + "/records.jsonl");
  EXPECT_FALSE(merge_runs({first}, first));
  EXPECT_FALSE(merge_runs({first}, first + "/"));
  EXPECT_FALSE(merge_runs({first}, "/"));
  EXPECT_FALSE(merge_runs({first}, ""));
  EXPECT_FALSE(merge_runs({}, output()));
  EXPECT_FALSE(merge_runs({first, folder_.path("none")}, output()));
  EXPECT_FALSE(merge_runs({first}, folder_.path("no/such/folder")));
  EXPECT_EQ(file(first + "/records.jsonl"), before);
  expect_nothing_left(1);
  EXPECT_TRUE(merge_runs({first}, output() + "/"));
  EXPECT_EQ(file(output() + "/records.jsonl"), before);
}

// A limit on file sizes behaves as a full disk does.
TEST_F(MergeTest, AFullDiskIsReportedAndLeavesNothing) {
  const std::string first = shard("0", 0, 50);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Result<Merged> merged = merge_runs({first}, output());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::io);
  expect_nothing_left(1);
}

}  // namespace
}  // namespace mrrope::eval
