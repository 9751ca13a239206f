// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/eval/benchmark.h"
#include "cli/run_charts.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/answers.h"
#include "mrrope/statistics.h"
#include "mrrope/units.h"

namespace mrrope::cli {

using base::Json;

base::Json score_json(const eval::ScoreRow& row) {
  return Json{{"task", row.task},
              {"method", row.method},
              {"factor", row.factor},
              {"length", row.length},
              {"score", row.score},
              {"stderr", row.samples > 1 ? Json(row.stderr_score) : Json(nullptr)},
              {"low", row.low},
              {"high", row.high},
              {"n", row.samples},
              {"cut_by_budget", row.cut},
              {"empty", row.empty},
              {"answer_nll", row.nll ? Json(*row.nll) : Json(nullptr)},
              {"answer_nll_stderr", row.nll && row.samples > 1 ? Json(row.stderr_nll) : Json(nullptr)}};
}

std::vector<eval::Record> records_of(const eval::RunFolder& run, std::span<const std::string> keys) {
  std::vector<eval::Record> records;
  for (const std::string& key : keys) {
    if (const eval::Record* record = run.find(key)) records.push_back(*record);
  }
  return records;
}

int print_scores(const EvalOptions& options, const eval::RunInfo& info, std::span<const eval::Record> records,
                 std::span<const std::int64_t> lengths) {
  const eval::Answers answers = eval::answers_of(records);
  const std::vector<eval::ScoreRow> rows = answers.rows();
  if (rows.empty()) return fail({ErrorCode::invalid_argument, "no prompt fits; nothing was measured", "--lengths"});
  if (options.json) {
    Json json = report_head(info);
    for (const eval::ScoreRow& row : rows) json["results"].push_back(score_json(row));
    print("{}", base::write_json(json));
    return 0;
  }

  std::vector<std::string> header = {"task", "method", "S"};
  for (const std::int64_t length : lengths) header.push_back(format_context(length));
  TextTable table(header, 2);
  std::vector<const eval::ScoreRow*> first;  // of each line
  for (const eval::ScoreRow& row : rows) {
    const auto same = [&](const eval::ScoreRow* r) {
      return r->task == row.task && r->method == row.method && r->factor == row.factor;
    };
    if (std::none_of(first.begin(), first.end(), same)) first.push_back(&row);
  }
  std::size_t n = 0;
  for (const eval::ScoreRow* line : first) {
    std::vector<std::string> cells = {line->task, line->method, fmt::format("{:g}", line->factor)};
    for (const std::int64_t length : lengths) {
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const eval::ScoreRow& r) {
        return r.task == line->task && r.method == line->method && r.factor == line->factor && r.length == length;
      });
      cells.push_back(row == rows.end() ? "-" : row->cell());
      if (row != rows.end()) n = std::max(n, row->samples);
    }
    table.add(cells);
  }
  print("{}Percent right by length, with its 95 % interval; {} each\n", table.text(),
        n == 1 ? "one sample" : fmt::format("up to {} samples", n));
  print("{}", needle_chart(answers, info));
  print_next(options);
  return 0;
}

}  // namespace mrrope::cli
