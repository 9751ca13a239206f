// SPDX-License-Identifier: MIT
//
// Readings by plan: what tables, comparisons and curves of perplexity need of a million of them.
//
//   Readings readings;
//   for (const Record& record : …) readings.add(record);   // one at a time; none is kept
//   readings.close();
//   readings.rows();                                       // as ppl_table()
//   readings.compare({"mrrope-pro", 4}, {"yarn", 4}, 32768);
//
// Memory: some 150 bytes a record, 40 for each of its points and 8 for each of its stretches.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "mrrope/records.h"
#include "mrrope/statistics.h"
#include "runs/numbered.h"
#include "runs/seen.h"

namespace mrrope::eval {

class Readings {
 public:
  Readings() = default;
  Readings(Readings&&) = default;
  Readings& operator=(Readings&&) = default;
  Readings(const Readings&) = delete;
  Readings& operator=(const Readings&) = delete;
  ~Readings() = default;

  // Domain: record.reading(); not closed.
  void add(const Record& record);
  // After the last of them, and before rows and comparisons are asked for.
  void close();

  struct Document {
    std::uint64_t hash = 0;  // of document_hash
    Reading reading;         // without the rotation
  };
  // What was computed under a plan, or under a rung of it.
  struct Rotation {
    std::size_t plan = 0;
    std::string rung;
    std::vector<double> inv_freq;
    double attention_scale = 1;
  };

  // In the order of the records; rotations once each.
  [[nodiscard]] const std::vector<PlanName>& plans() const noexcept { return plans_.names(); }
  [[nodiscard]] const std::deque<Document>& of(std::size_t plan) const { return measured_[plan].documents; }
  [[nodiscard]] const std::vector<Rotation>& rotations() const noexcept { return rotations_; }

  [[nodiscard]] const std::vector<PplRow>& rows() const noexcept { return rows_; }
  [[nodiscard]] const PplRow* row(const PlanName& plan, std::int64_t length) const;  // null: not measured
  [[nodiscard]] Comparison compare(const PlanName& a, const PlanName& b, std::int64_t length, bool last = false) const;

  // A document as far as a length.
  struct Reach {
    const Document* document = nullptr;
    const Reading::Point* point = nullptr;
  };

 private:
  struct Length {
    std::vector<Reach> reaches;  // each document once
    std::size_t row = 0;
  };
  struct Measured {
    std::deque<Document> documents;
    std::map<std::int64_t, Length> lengths;  // after close()
  };
  [[nodiscard]] const Length* find(const PlanName& plan, std::int64_t length) const;

  PlanNumbers plans_;
  std::deque<Measured> measured_;  // by plan
  std::vector<Rotation> rotations_;
  Seen<SeenHash> rotations_seen_;
  std::vector<PplRow> rows_;
  mutable std::map<std::tuple<const Length*, const Length*, bool>, Comparison> compared_;  // a page asks again
};

// Those among `records`, closed.
Readings readings_of(std::span<const Record> records);

}  // namespace mrrope::eval
