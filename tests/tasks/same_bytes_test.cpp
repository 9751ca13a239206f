// SPDX-License-Identifier: MIT
//
// The same samples everywhere: hashes that every compiler and library has to reproduce. A change of a prompt, however
// small, makes results incomparable with older ones; it shows here.
#include <map>
#include <set>

#include "mrrope/records.h"
#include "tasks/random.h"
#include "tasks/words.h"
#include "tests/tasks/support.h"

namespace mrrope::eval {
namespace {

using namespace tests;

// The outputs for seed 1234567 that Rosetta Code lists for splitmix64.
TEST(TasksSameBytes, ChanceIsSplitmix64) {
  drafts::Random random(1234567);
  for (const std::uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                       4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(random.next(), expected);
  }
}

TEST(TasksSameBytes, DrawsAreUniformAndForksIndependentOfWhatWasDrawn) {
  drafts::Random random(5);
  int counts[7] = {};
  for (int i = 0; i < 70'000; ++i) ++counts[random.below(7)];
  for (const int n : counts) EXPECT_NEAR(n, 10'000, 400);  // four standard deviations
  EXPECT_EQ(random.fork("a").next(), drafts::Random(5).fork("a").next());
  EXPECT_NE(random.fork("a").next(), random.fork("b").next());
  EXPECT_NE(random.fork(0).next(), drafts::Random(5).next());
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.between(-1, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-1, 0, 1, 2}));
}

TEST(TasksSameBytes, WordsArePlainAndDifferent) {
  EXPECT_EQ(drafts::nouns().size(), 1627U);
  EXPECT_EQ(drafts::adjectives().size(), 613U);
  std::set<std::string_view> all(drafts::nouns().begin(), drafts::nouns().end());
  all.insert(drafts::adjectives().begin(), drafts::adjectives().end());
  EXPECT_EQ(all.size(), 1627U + 613U);
  for (const std::string_view word : all) {
    EXPECT_GE(word.size(), 4U);
    for (const char c : word) EXPECT_TRUE(c >= 'a' && c <= 'z') << word;
  }
}

// clang-format off
const std::map<std::string_view, std::string_view> kHashes = {
    {"niah", "b2ff0d295be757d5"},
    {"niah_text", "e6a5e5f3781e8d8d"},
    {"niah_implied", "eb8f72214211a7be"},
    {"niah_single_1", "b5cbc1aa090d5673"},
    {"niah_single_2", "8fbd09780f528ec9"},
    {"niah_single_3", "18b67232f4c986f7"},
    {"niah_multikey_1", "d8a6e876835a7bcf"},
    {"niah_multikey_2", "b803c32f894c75f4"},
    {"niah_multikey_3", "d4ec5407c94274eb"},
    {"niah_multivalue", "97d2ad17fd168ef8"},
    {"niah_multiquery", "0e62bc32ad7f7859"},
    {"vt", "c16fa7867faf984f"},
    {"cwe", "a99824b6c4ca69de"},
    {"fwe", "62d6dfba0180a9d6"},
    {"qa_1", "05477218cc0f6232"},
    {"qa_2", "d6f39794706290bc"},
    {"passkey", "f3b5c3b4ae843a9b"},
    {"number_string", "091beef067e6735c"},
    {"kv_retrieval", "6804cdeb72b62dc6"},
    {"math_find", "b5eb4446d0734fe2"},
};
// clang-format on

TEST(TasksSameBytes, SamplesAreTheOnesTheyWere) {
  for (const Task& task : tasks()) {
    if (!is_generated(task)) continue;
    std::string bytes;
    for (const std::int64_t length : {1024, 4096, 40'000}) {
      const Result<Sample> sample =
          make_sample(task, made_texts(), {.length = length, .index = length / 1000}, count_pieces);
      ASSERT_TRUE(sample) << task.name;
      bytes += sample->prompt + sample->answer_prefix;
      for (const std::string& reference : sample->references) bytes += reference;
    }
    const auto golden = kHashes.find(task.name);
    const std::string hash = content_hash(bytes).substr(0, 16);
    EXPECT_EQ(golden == kHashes.end() ? "" : golden->second, hash) << task.name;
  }
}

TEST(TasksSameBytes, TasksAreFoundByTheirNamesAndAliases) {
  EXPECT_EQ(find_task("ruler_vt"), find_task("vt"));
  EXPECT_EQ(find_task("ruler_qa_hotpot"), find_task("qa_2"));
  EXPECT_EQ(find_task("infinitebench_passkey"), find_task("passkey"));
  EXPECT_EQ(find_task(""), nullptr);
  EXPECT_EQ(find_task("niah_single_4"), nullptr);
  std::set<std::string_view> names;
  for (const Task& task : tasks()) {
    EXPECT_TRUE(names.insert(task.name).second);
    EXPECT_EQ(find_task(task.name), &task);
  }
  EXPECT_EQ(std::count_if(tasks().begin(), tasks().end(), [](const Task& t) { return t.group == "ruler"; }), 13);
  const Task unknown{.name = "chess", .alias = "", .group = "", .summary = ""};
  EXPECT_EQ(make_sample(unknown, {}, {}, count_bytes).error().option, "tasks");
}

}  // namespace
}  // namespace mrrope::eval
