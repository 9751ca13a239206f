// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "mrrope/records.h"
#include "runs/run_files.h"

namespace mrrope::eval {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolderTest() : root_(fs::temp_directory_path() / fs::path("mrrope_run_XXXXXX")) {
    std::string name = root_.string();
    root_ = ::mkdtemp(name.data());
  }
  ~RunFolderTest() override { fs::remove_all(root_); }
  [[nodiscard]] std::string folder() const { return (root_ / "run").string(); }
  [[nodiscard]] std::string log() const { return (root_ / "run" / "records.jsonl").string(); }

  fs::path root_;
  RunInfo info_{.task = "ppl",
                .model = "m.gguf",
                .model_hash = "aa",
                .architecture = "llama",
                .context_trained = 512,
                .engine = "test",
                .settings = {{"flash-attn", "auto"}},
                .command = {"mrrope", "eval"}};
};

Record sample(const std::string& key) {
  Record r;
  r.key = key;
  r.task = "ppl";
  r.method = "mrrope-pro";
  r.factor = 16;
  r.document = "a \"strange\" name\n\xff";
  r.document_hash = "bb";
  r.reading()->points = {{512, 511, 0.1 + 0.2}, {1024, 1023, 1e300}};
  r.reading()->bucket = 256;
  r.reading()->bucket_nll = {1.0 / 3, 5e-324};
  r.reading()->inv_freq = {1, 0.5};
  r.reading()->attention_scale = 1.2772588722239782;
  return r;
}

TEST_F(RunFolderTest, ARecordComesBackBitForBit) {
  Record r = sample("k");
  r.document = "plain";
  const Result<Record> back = record_from_json(to_json(r));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, r);
  EXPECT_EQ(to_json(sample("k")).find('\n'), std::string::npos);
}

TEST_F(RunFolderTest, ARecordOfALadderSaysItsRungAndOthersNothingOfIt) {
  Record r = sample("k");
  r.document = "plain";
  EXPECT_EQ(to_json(r).find("rung"), std::string::npos);
  r.rung = "16k";
  const Result<Record> back = record_from_json(to_json(r));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, r);
}

TEST_F(RunFolderTest, ARunCanBeContinued) {
  {
    Result<RunFolder> run = RunFolder::open(folder(), info_);
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_TRUE(run->append(sample("one")));
    EXPECT_TRUE(run->append(sample("two")));
  }
  Result<RunFolder> run = RunFolder::open(folder(), info_);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->records().size(), 2U);
  EXPECT_NE(run->find("two"), nullptr);
  EXPECT_EQ(run->find("three"), nullptr);
  EXPECT_EQ(run->info(), info_);
}

TEST_F(RunFolderTest, ATornLastLineIsTakenAwayAtEveryLength) {
  const std::string line = to_json(sample("torn")) + "\n";
  for (std::size_t cut = 0; cut < line.size(); cut += 7) {
    fs::remove_all(folder());
    {
      Result<RunFolder> run = RunFolder::open(folder(), info_);
      ASSERT_TRUE(run);
      ASSERT_TRUE(run->append(sample("whole")));
    }
    std::ofstream(log(), std::ios::app) << line.substr(0, cut);
    EXPECT_EQ(RunFolder::read(folder())->records().size(), 1U);
    Result<RunFolder> run = RunFolder::open(folder(), info_);
    ASSERT_TRUE(run) << cut << ": " << to_string(run.error());
    EXPECT_EQ(run->records().size(), 1U) << cut;
    ASSERT_TRUE(run->append(sample("torn")));
    EXPECT_EQ(RunFolder::read(folder())->records().size(), 2U) << cut;
  }
}

TEST_F(RunFolderTest, DamageBeforeTheLastLineIsAnErrorThatNamesTheLine) {
  {
    Result<RunFolder> run = RunFolder::open(folder(), info_);
    ASSERT_TRUE(run->append(sample("one")));
  }
  std::ofstream(log(), std::ios::app) << "{\"damaged\": true}\n" << to_json(sample("two")) << "\n";
  const Result<RunFolder> run = RunFolder::open(folder(), info_);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().where.find("records.jsonl:2"), std::string::npos) << run.error().where;
}

// A later mrrope had appended to the folder; this one took its last record for damage, and away.
TEST_F(RunFolderTest, ALineOfAnotherVersionIsAnErrorAndStays) {
  for (const bool ended : {true, false}) {
    fs::remove_all(folder());
    {
      Result<RunFolder> run = RunFolder::open(folder(), info_);
      ASSERT_TRUE(run->append(sample("one")));
    }
    std::ofstream(log(), std::ios::app) << "{\"schema\": \"mrrope.record/2\", \"key\": \"k\"}" << (ended ? "\n" : "");
    const auto size = fs::file_size(log());
    for (const Result<RunFolder>& run : {RunFolder::open(folder(), info_), RunFolder::read(folder())}) {
      ASSERT_FALSE(run);
      EXPECT_EQ(run.error().code, ErrorCode::unsupported);
      EXPECT_EQ(run.error().where, log() + ":2");
      EXPECT_NE(run.error().message.find("found mrrope.record/2: another version of mrrope wrote it"),
                std::string::npos)
          << run.error().message;
    }
    EXPECT_EQ(fs::file_size(log()), size);
  }
}

TEST_F(RunFolderTest, ALastLineThatIsCompleteAndNoRecordIsNotDropped) {
  {
    Result<RunFolder> run = RunFolder::open(folder(), info_);
    ASSERT_TRUE(run->append(sample("one")));
  }
  std::ofstream(log(), std::ios::app) << "{\"mine\": true}\n";
  const auto size = fs::file_size(log());
  const Result<RunFolder> run = RunFolder::open(folder(), info_);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().where, log() + ":2");
  EXPECT_EQ(fs::file_size(log()), size);
}

TEST_F(RunFolderTest, RecordsOfSomebodyElseAreNotTouched) {
  fs::create_directory(folder());
  std::ofstream(log()) << "not mrrope's";
  const Result<RunFolder> run = RunFolder::open(folder(), info_);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("no run.json"), std::string::npos) << run.error().message;
  EXPECT_EQ(fs::file_size(log()), 12U);
  EXPECT_FALSE(fs::exists(folder() + "/run.json"));
}

// A folder from a stranger once emptied whatever the link led to: a last line without an end was taken for a damaged
// one.
TEST_F(RunFolderTest, ALinkInThePlaceOfTheRecordsIsRefused) {
  ASSERT_TRUE(RunFolder::open(folder(), info_));
  const fs::path token = root_ / "token";
  std::ofstream(token) << "my only key";
  fs::remove(log());
  fs::create_symlink(token, log());
  EXPECT_FALSE(RunFolder::open(folder(), info_));
  EXPECT_EQ(fs::file_size(token), 11U);
}

// A line of 60 MB took 1.3 GB.
TEST_F(RunFolderTest, ALineIsBoundedBeforeItIsParsed) {
  {
    Result<RunFolder> run = RunFolder::open(folder(), info_);
    ASSERT_TRUE(run->append(sample("one")));
    Record large = sample("large");
    large.document = std::string(kMaxRecordBytes, 'x');
    const Result<void> appended = run->append(large);
    ASSERT_FALSE(appended);
    EXPECT_NE(appended.error().message.find("at most 16777216 bytes"), std::string::npos) << appended.error().message;
  }
  const std::string tail = to_json(sample("two")).substr(1);
  for (const char* end : {"\n", ""}) {
    std::ofstream(log()) << to_json(sample("one")) << "\n{" << std::string(kMaxRecordBytes, ' ') << tail << end;
    const auto size = fs::file_size(log());
    const Result<RunFolder> run = RunFolder::open(folder(), info_);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().where, log() + ":2");
    EXPECT_NE(run.error().message.find("more than 16777216 bytes"), std::string::npos) << run.error().message;
    EXPECT_EQ(fs::file_size(log()), size);
  }
}

TEST_F(RunFolderTest, AnotherModelOrTaskNeedsAnotherFolder) {
  ASSERT_TRUE(RunFolder::open(folder(), info_));
  RunInfo other = info_;
  other.model_hash = "cc";
  EXPECT_FALSE(RunFolder::open(folder(), other));
  other = info_;
  other.task = "gap";
  EXPECT_FALSE(RunFolder::open(folder(), other));
}

// A key is made of the settings of the folder: with others, records of another measurement would be found.
TEST_F(RunFolderTest, OtherSettingsNeedAnotherFolder) {
  ASSERT_TRUE(RunFolder::open(folder(), info_));
  RunInfo other = info_;
  other.settings["flash-attn"] = "off";
  const Result<RunFolder> run = RunFolder::open(folder(), other);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::inconsistent);
  EXPECT_EQ(run.error().message, "this folder was measured with flash-attn auto, not off; take another one");
}

// Files have an order, so what was asked from their beginning is no part of what a seed draws.
TEST_F(RunFolderTest, AFolderFromBeforeItemsWereDrawnIsNotContinued) {
  ASSERT_TRUE(RunFolder::open(folder(), info_));
  RunInfo drawn = info_;
  drawn.settings.emplace(kDrawnSetting, kDrawnBySeed);
  const Result<RunFolder> run = RunFolder::open(folder(), drawn);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::inconsistent);
}

TEST_F(RunFolderTest, TwoProcessesDoNotWriteIntoOneFolder) {
  const Result<RunFolder> first = RunFolder::open(folder(), info_);
  ASSERT_TRUE(first);
  const Result<RunFolder> second = RunFolder::open(folder(), info_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another process"), std::string::npos);
}

// A limit on file sizes behaves as a full disk does: the write fails half-way.
TEST_F(RunFolderTest, AFullDiskIsReportedAndTheFileStaysWhole) {
  Result<RunFolder> run = RunFolder::open(folder(), info_);
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->append(sample("one")));
  const auto size = fs::file_size(log());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{size + 100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Result<void> appended = run->append(sample("two"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::io);
  EXPECT_EQ(fs::file_size(log()), size);
  EXPECT_TRUE(run->append(sample("two")));
  EXPECT_EQ(RunFolder::read(folder())->records().size(), 2U);
}

TEST_F(RunFolderTest, ContentHashesSeeEveryByteOfSmallFiles) {
  std::string bytes(10'000, 'x');
  const std::string path = (root_ / "f").string();
  std::ofstream(path) << bytes;
  const std::string before = *content_hash_of_file(path);
  bytes[9'999] = 'y';
  std::ofstream(path) << bytes;
  EXPECT_NE(*content_hash_of_file(path), before);
  EXPECT_EQ(content_hash("").size(), 32U);
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing, from its specification
}

}  // namespace
}  // namespace mrrope::eval
