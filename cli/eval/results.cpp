// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/eval/eval.h"
#include "cli/run_charts.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"
#include "mrrope/statistics.h"
#include "runs/readings.h"

namespace mrrope::cli {

namespace {

using base::Json;

eval::Readings asked(std::span<const eval::Record> all, std::span<const eval::Candidate> candidates) {
  eval::Readings readings;
  for (const eval::Candidate& c : candidates) {
    for (const eval::Record& r : all) {
      if (r.method == c.method && r.factor == c.factor && r.rung == c.rung) readings.add(r);
    }
  }
  readings.close();
  return readings;
}

Json to_json(const eval::PplRow& row) {
  Json json{{"method", row.method},       {"factor", row.factor},
            {"length", row.length},       {"ppl", row.ppl},
            {"stderr", row.stderr_ppl},   {"documents", row.documents},
            {"predicted", row.predicted}, {"last_2k_ppl", row.last_ppl ? Json(*row.last_ppl) : Json(nullptr)}};
  if (row.kl >= 0) {
    json["kl"] = row.kl;
    json["kl_tokens"] = row.kl_tokens;
  }
  return json;
}

std::string short_ppl(double ppl) { return ppl < 1000 ? fmt::format("{:.3f}", ppl) : fmt::format("{:.0f}", ppl); }

}  // namespace

int print_results(const EvalOptions& options, const eval::RunInfo& info, std::span<const eval::Record> all,
                  std::span<const eval::Candidate> candidates, std::span<const std::int64_t> lengths) {
  const eval::Readings readings = asked(all, candidates);
  std::vector<eval::PplRow> rows = readings.rows();
  std::erase_if(rows, [&](const eval::PplRow& r) {
    return std::find(lengths.begin(), lengths.end(), r.length) == lengths.end();
  });
  if (rows.empty()) {
    return fail({ErrorCode::invalid_argument, "no text is as long as the shortest; nothing was measured",
                 info.task == "gap" ? "--tokens" : "--lengths"});
  }
  if (options.json) {
    Json json = report_head(info);
    for (const eval::PplRow& row : rows) json["results"].push_back(to_json(row));
    print("{}", base::write_json(json));
    return 0;
  }

  const bool gap = info.task == "gap";
  const bool kl = std::any_of(rows.begin(), rows.end(), [](const eval::PplRow& r) { return r.kl >= 0; });
  std::vector<std::string> header = {"method", "S"};
  for (const std::int64_t length : lengths) header.push_back((gap ? "+" : "") + format_context(length));
  const bool end = std::any_of(rows.begin(), rows.end(), [](const eval::PplRow& r) { return r.last_ppl.has_value(); });
  if (end) header.emplace_back("last 2k");
  if (kl) header.emplace_back("KL short");
  TextTable table(header, 1);
  std::size_t documents = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const eval::Candidate& c = candidates[i];
    if (i > 0 && c.same_row(candidates[i - 1])) continue;  // another rung
    std::vector<std::string> cells = {c.method, fmt::format("{:g}", c.factor)};
    const eval::PplRow* last = nullptr;
    double short_kl = -1;
    for (const std::int64_t length : lengths) {
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const eval::PplRow& r) {
        return r.method == c.method && r.factor == c.factor && r.length == length;
      });
      cells.push_back(row != rows.end() ? short_ppl(row->ppl) : "-");
      if (row == rows.end()) continue;
      last = &*row;
      short_kl = std::max(short_kl, row->kl);  // of a ladder the rung of short texts says it
    }
    if (end) cells.push_back(last != nullptr && last->last_ppl ? short_ppl(*last->last_ppl) : "-");
    if (kl) cells.push_back(short_kl >= 0 ? fmt::format("{:.4f}", short_kl) : "-");
    if (last != nullptr) documents = std::max(documents, last->documents);
    table.add(cells);
  }
  print("{}", table.text());
  print("Perplexity of {} over {} of {} document{}\n", info.model,
        gap ? "the last segment, by its distance," : "the first N tokens", documents, documents == 1 ? "" : "s");
  if (!gap) print("{}", loss_chart(readings, info));
  print_next(options);
  return 0;
}

}  // namespace mrrope::cli
