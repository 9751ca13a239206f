// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/benchmark.h"
#include "cli/run_charts.h"
#include "cli/table.h"
#include "mrrope/statistics.h"
#include "mrrope/units.h"

namespace mrrope::cli {

using base::Json;

base::Json score_json(const ScoreRow& row) {
  return Json{{"task", row.task},     {"method", row.method},     {"factor", row.factor},
              {"length", row.length}, {"score", row.score},       {"stderr", row.stderr_score},
              {"n", row.samples},     {"cut_by_budget", row.cut}, {"empty", row.empty}};
}

int print_scores(const EvalOptions& options, const RunFolder& run, std::span<const std::int64_t> lengths,
                 std::span<const std::string> tasks) {
  std::vector<ScoreRow> rows = score_table(run.records());
  const auto asked = [&](const ScoreRow& row) {
    return std::find(lengths.begin(), lengths.end(), row.length) != lengths.end() &&
           std::find(tasks.begin(), tasks.end(), row.task) != tasks.end();
  };
  std::erase_if(rows, [&](const ScoreRow& row) { return !asked(row); });
  if (options.json) {
    Json json = report_head(run.info());
    for (const ScoreRow& row : rows) json["results"].push_back(score_json(row));
    fmt::print("{}", base::write_json(json));
    return 0;
  }

  std::vector<std::string> header = {"task", "method", "S"};
  for (const std::int64_t length : lengths) header.push_back(format_context(length));
  TextTable table(header, 2);
  std::vector<const ScoreRow*> first;  // of each line
  for (const ScoreRow& row : rows) {
    const auto same = [&](const ScoreRow* r) {
      return r->task == row.task && r->method == row.method && r->factor == row.factor;
    };
    if (std::none_of(first.begin(), first.end(), same)) first.push_back(&row);
  }
  std::size_t n = 0;
  for (const ScoreRow* line : first) {
    std::vector<std::string> cells = {line->task, line->method, fmt::format("{:g}", line->factor)};
    for (const std::int64_t length : lengths) {
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const ScoreRow& r) {
        return r.task == line->task && r.method == line->method && r.factor == line->factor && r.length == length;
      });
      cells.push_back(row == rows.end() ? "-"
                                        : fmt::format("{:.1f} ± {:.1f}", 100 * row->score, 100 * row->stderr_score));
      if (row != rows.end()) n = std::max(n, row->samples);
    }
    table.add(cells);
  }
  fmt::print("{}Percent right ± standard error by length; up to {} samples each\n", table.text(), n);
  std::vector<Record> shown;  // a folder may hold more than was asked for now
  for (const Record& r : run.records()) {
    if (r.answer && std::find(tasks.begin(), tasks.end(), r.task) != tasks.end() &&
        std::find(lengths.begin(), lengths.end(), r.answer->length) != lengths.end()) {
      shown.push_back(r);
    }
  }
  fmt::print("{}", needle_chart(shown, run.info()));
  print_next(options);
  return 0;
}

}  // namespace mrrope::cli
