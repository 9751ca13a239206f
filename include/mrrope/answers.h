// SPDX-License-Identifier: MIT
//
// Answers without their texts: what tables and verdicts need of ten million of them.
//
//   Answers answers;
//   for (const Record& record : …) answers.add(record);   // one at a time; none is kept
//   answers.close();
//   answers.rows();                                       // as score_table()
//   answers.compare({"mrrope-pro", 4}, {"yarn", 4}, 32768);
//
// A sample is known by its plan, task, length and the hash of its prompt, and counts once, as it was first. Memory: 22
// bytes an answer, 8 more where likelihoods are known and 4 where depths were asked for; and until close() 11 to 21
// to find samples that come twice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mrrope/records.h"
#include "mrrope/statistics.h"

namespace mrrope::eval {

class Answers {
 public:
  // `by`: a label of the items, by whose value answers are told apart, too.
  explicit Answers(std::string by = {});
  ~Answers();
  Answers(Answers&&) noexcept;
  Answers& operator=(Answers&&) noexcept;
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  struct Added {
    bool fresh = false;    // or a sample that is there already
    std::size_t plan = 0;  // in plans()
  };
  // Domain: record.answer(); not closed.
  Added add(const Record& record);
  // After the last of them, and before anything else is asked but the names.
  void close();

  // In the order of the records.
  [[nodiscard]] const std::vector<PlanName>& plans() const noexcept;
  [[nodiscard]] const std::vector<std::string>& tasks() const noexcept;
  [[nodiscard]] const std::vector<std::string>& values() const noexcept;  // of `by`
  [[nodiscard]] const std::set<std::string>& labels() const noexcept;     // names, if `by` is one

  // All answers, those of one task, or those of one of values().
  struct Part {
    std::optional<std::size_t> task = {};
    std::optional<std::size_t> value = {};
  };
  // By task and plan in the order of the records, then by length.
  [[nodiscard]] std::vector<ScoreRow> rows(const Part& part) const;
  [[nodiscard]] std::vector<ScoreRow> rows() const { return rows({}); }
  // Over the samples that both plans have. None if there is no such plan.
  [[nodiscard]] ScoreComparison compare(const PlanName& a, const PlanName& b, std::int64_t length,
                                        const Part& part) const;
  [[nodiscard]] ScoreComparison compare(const PlanName& a, const PlanName& b, std::int64_t length) const {
    return compare(a, b, length, {});
  }
  [[nodiscard]] NllComparison compare_nll(const PlanName& a, const PlanName& b, std::int64_t length,
                                          const Part& part) const;
  [[nodiscard]] NllComparison compare_nll(const PlanName& a, const PlanName& b, std::int64_t length) const {
    return compare_nll(a, b, length, {});
  }

  // An answer whose sample has a needle.
  struct Needle {
    std::size_t task = 0, plan = 0;
    std::int64_t length = 0;
    double score = 0;
    float depth = 0;         // 0 … 1
    float asked_depth = -1;  // negative: none was asked for
  };
  void for_each_needle(const std::function<void(const Needle&)>& take) const;
  // Different ones of a task, whatever the plan and the length.
  [[nodiscard]] std::size_t prompts(std::size_t task) const;

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

// Those among `records`, closed.
Answers answers_of(std::span<const Record> records);

}  // namespace mrrope::eval
