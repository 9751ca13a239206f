// SPDX-License-Identifier: MIT
//
// Answers kept as columns against the plain way: all records in memory, maps of names, and the same sums.
#include "mrrope/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tests/support/answers.h"
#include "tests/support/random_records.h"

namespace mrrope::eval {
namespace {

// ---- The plain way -------------------------------------------------------------------------------------------------

struct Sample {
  std::string_view task;
  std::int64_t length = 0;
  std::string_view document_hash;
  bool operator==(const Sample&) const = default;
};

struct HashOfSample {
  std::size_t operator()(const Sample& s) const noexcept {
    const std::hash<std::string_view> hash;
    return hash(s.document_hash) ^ (hash(s.task) * 31) ^ static_cast<std::size_t>(s.length);
  }
};

// Values of the samples that both plans have. A sample measured twice counts once, as it was first.
std::vector<ScorePair> paired(std::span<const Record> records, const PlanName& plan_a, const PlanName& plan_b,
                              std::int64_t length, const std::function<std::optional<double>(const Answer&)>& value) {
  struct Pair {
    const Answer* a = nullptr;
    const Answer* b = nullptr;
  };
  std::unordered_map<Sample, Pair, HashOfSample> pairs;
  for (const Record& r : records) {
    const Answer* answer = r.answer();
    if (answer == nullptr || answer->length != length) continue;
    const bool is_a = r.method == plan_a.method && r.factor == plan_a.factor;
    const bool is_b = r.method == plan_b.method && r.factor == plan_b.factor;
    if (!is_a && !is_b) continue;
    Pair& pair = pairs[{r.task, length, r.document_hash}];
    if (is_a && pair.a == nullptr) pair.a = answer;
    if (is_b && pair.b == nullptr) pair.b = answer;
  }
  std::vector<ScorePair> values;
  for (const auto& [sample, pair] : pairs) {
    if (pair.a == nullptr || pair.b == nullptr) continue;
    const std::optional<double> a = value(*pair.a);
    const std::optional<double> b = value(*pair.b);
    if (a && b) values.push_back({*a, *b});
  }
  return values;
}

// Rows by name, not in the order of the records.
std::map<std::tuple<std::string, std::string, double, std::int64_t>, ScoreRow> plain_table(
    std::span<const Record> records) {
  std::set<std::tuple<std::string_view, std::string_view, double, std::int64_t, std::string_view>> seen;
  std::map<std::tuple<std::string, std::string, double, std::int64_t>, std::vector<const Answer*>> groups;
  for (const Record& r : records) {
    const Answer* answer = r.answer();
    if (answer == nullptr) continue;
    if (!seen.emplace(r.task, r.method, r.factor, answer->length, r.document_hash).second) continue;
    groups[{r.task, r.method, r.factor, answer->length}].push_back(answer);
  }
  std::map<std::tuple<std::string, std::string, double, std::int64_t>, ScoreRow> rows;
  for (const auto& [name, answers] : groups) {
    std::vector<double> scores;
    std::vector<double> nll;
    ScoreRow row;
    std::size_t cut = 0;
    std::size_t empty = 0;
    for (const Answer* a : answers) {
      scores.push_back(a->score);
      if (const auto n = nll_per_token(*a)) nll.push_back(*n);
      if (a->finish == "length") ++cut;
      if (is_empty(*a)) ++empty;
    }
    row.score = estimate(scores).mean;
    row.stderr_score = estimate(scores).stderr_mean;
    row.samples = scores.size();
    row.cut = static_cast<double>(cut) / static_cast<double>(scores.size());
    row.empty = static_cast<double>(empty) / static_cast<double>(scores.size());
    if (!nll.empty()) row.nll = estimate(nll).mean;
    row.stderr_nll = estimate(nll).stderr_mean;
    rows[name] = row;
  }
  return rows;
}

// ---- Tests ---------------------------------------------------------------------------------------------------------

std::vector<Record> random_records(std::uint64_t seed, std::size_t count) {
  test::RandomRecords random(seed);
  std::vector<Record> records;
  for (std::size_t i = 0; i < count; ++i) records.push_back(random.next());
  return records;
}

// To the last bit.
void expect_same(const std::vector<ScoreRow>& rows, std::span<const Record> records) {
  const auto plain = plain_table(records);
  ASSERT_EQ(rows.size(), plain.size());
  for (const ScoreRow& row : rows) {
    const ScoreRow& expected = plain.at({row.task, row.method, row.factor, row.length});
    EXPECT_EQ(row.score, expected.score);
    EXPECT_EQ(row.stderr_score, expected.stderr_score);
    EXPECT_EQ(row.samples, expected.samples);
    EXPECT_EQ(row.cut, expected.cut);
    EXPECT_EQ(row.empty, expected.empty);
    EXPECT_EQ(row.nll, expected.nll);
    EXPECT_EQ(row.stderr_nll, expected.stderr_nll);
  }
}

void expect_same(const ScoreComparison& a, const ScoreComparison& b) {
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.difference, b.difference);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.p_value, b.p_value);
  EXPECT_EQ(a.a_better, b.a_better);
  EXPECT_EQ(a.b_better, b.b_better);
}

void expect_same_pairs(const Answers& answers, const Answers::Part& part, std::span<const Record> records) {
  const PlanName& a = answers.plans().front();
  for (const PlanName& b : answers.plans()) {
    for (const std::int64_t length : {1024, 2048, 4096, 4097}) {
      expect_same(
          answers.compare(a, b, length, part),
          compare_scores(paired(records, a, b, length, [](const Answer& x) { return std::optional(x.score); })));
      const NllComparison c = answers.compare_nll(a, b, length, part);
      const NllComparison expected = compare_nll(paired(records, a, b, length, nll_per_token));
      EXPECT_EQ(c.samples, expected.samples);
      EXPECT_EQ(c.difference, expected.difference);
      EXPECT_EQ(c.low, expected.low);
      EXPECT_EQ(c.high, expected.high);
    }
  }
}

TEST(Answers, RowsAndVerdictsAreThoseOfThePlainWay) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const std::vector<Record> records = random_records(seed, 1500);
    const Answers answers = answers_of(records);
    expect_same(answers.rows(), records);
    expect_same_pairs(answers, {}, records);
  }
}

TEST(Answers, PartsAreThoseOfTheRecordsThatBelongToThem) {
  const std::vector<Record> records = random_records(4, 1500);
  Answers answers("domain");
  for (const Record& r : records) {
    if (r.answer() != nullptr) answers.add(r);
  }
  answers.close();
  EXPECT_EQ(answers.labels(), (std::set<std::string>{"domain", "i d"}));
  expect_same(answers.rows(), records);  // whatever they are told apart by
  expect_same_pairs(answers, {}, records);
  ASSERT_EQ(answers.values().size(), 4U);
  for (std::size_t value = 0; value < 4; ++value) {
    std::vector<Record> of_value;
    for (const Record& r : records) {
      if (r.answer() != nullptr && r.answer()->labels.contains("domain") &&
          r.answer()->labels.at("domain") == answers.values()[value]) {
        of_value.push_back(r);
      }
    }
    expect_same(answers.rows({.task = {}, .value = value}), of_value);
    expect_same_pairs(answers, {.task = {}, .value = value}, of_value);
  }
  for (std::size_t task = 0; task < answers.tasks().size(); ++task) {
    std::vector<Record> of_task;
    for (const Record& r : records) {
      if (r.task == answers.tasks()[task]) of_task.push_back(r);
    }
    expect_same(answers.rows({.task = task, .value = {}}), of_task);
    expect_same_pairs(answers, {.task = task, .value = {}}, of_task);
  }
}

TEST(Answers, ASampleCountsOnceAsItWasFirst) {
  Answers answers;
  Record record = test::answer_record({.score = 1});
  EXPECT_TRUE(answers.add(record).fresh);
  record.answer()->score = 0;
  record.key = "another";
  EXPECT_FALSE(answers.add(record).fresh);
  record.factor = 8;
  EXPECT_TRUE(answers.add(record).fresh);
  answers.close();
  ASSERT_EQ(answers.rows().size(), 2U);
  EXPECT_EQ(answers.rows()[0].score, 1);
  EXPECT_EQ(answers.rows()[1].score, 0);
  EXPECT_EQ(answers.prompts(0), 1U);
}

TEST(Answers, NeedlesAreThoseOfTheRecords) {
  const std::vector<Record> records = random_records(5, 3000);
  std::set<std::tuple<std::string_view, std::string_view, double, std::int64_t, std::string_view>> seen;
  std::map<std::pair<float, float>, double> expected;  // of depths that are unique
  for (const Record& r : records) {
    const Answer* a = r.answer();
    if (a == nullptr || !seen.emplace(r.task, r.method, r.factor, a->length, r.document_hash).second) continue;
    if (a->depth >= 0) expected[{static_cast<float>(a->depth), static_cast<float>(a->asked_depth)}] += a->score;
  }
  std::map<std::pair<float, float>, double> found;
  answers_of(records).for_each_needle([&](const Answers::Needle& n) { found[{n.depth, n.asked_depth}] += n.score; });
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace mrrope::eval
