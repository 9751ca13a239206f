// SPDX-License-Identifier: MIT
//
// samples_*.jsonl of lm-evaluation-harness: one line for each record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mrrope/records.h"

namespace mrrope::eval {

// Lines of one plan and task. Every line has the same keys of the same kinds, because readers build a table from them;
// only rules that score beside the task's own are there where a record has them.
class SampleLines {
 public:
  // `lengths`: those of the task's metrics, in their order.
  explicit SampleLines(const std::vector<std::int64_t>& lengths);

  // The next one, without its end; until the next call.
  const std::string& line(const Record& record);

 private:
  void put_value(const std::string& name, double value);

  struct Metric {
    std::string name;
    double value = -1;
  };
  std::vector<Metric> metrics_;  // of this line: lengths, then other rules
  std::size_t lengths_ = 0;
  std::size_t number_ = 0;
  std::string line_, doc_, response_, target_;
};

}  // namespace mrrope::eval
