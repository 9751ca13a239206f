// SPDX-License-Identifier: MIT
#include "cli/measured_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mrrope/records.h"

namespace mrrope::cli {

Result<MeasuredCosts> MeasuredCosts::read(const std::vector<std::string>& runs, std::int64_t context_trained) {
  MeasuredCosts out;
  out.trained_ = context_trained;
  std::vector<eval::Record> records;
  for (const std::string& path : runs) {
    const Result<eval::RunFolder> run = eval::RunFolder::read(path);
    if (!run) return Error{run.error().code, to_string(run.error()), "--from"};
    if (run->info().task != "ppl") {
      return Error{
          ErrorCode::invalid_argument,
          fmt::format("{} measures {}; rungs are chosen by perplexity (mrrope eval ppl)", path, run->info().task),
          "--from"};
    }
    if (run->info().context_trained != context_trained) {
      return Error{ErrorCode::inconsistent,
                   fmt::format("{} measured a model of {} tokens; this one has {}", path, run->info().context_trained,
                               context_trained),
                   "--from"};
    }
    records.insert(records.end(), run->records().begin(), run->records().end());
  }
  out.rows_ = eval::ppl_table(records);
  for (const eval::PplRow& row : out.rows_) {
    if (row.method == "none" && row.length <= context_trained && row.length > out.as_it_is_.length) out.as_it_is_ = row;
  }
  if (out.as_it_is_.length == 0) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the runs have no perplexity of the model as it is at {} tokens or less: mrrope eval ppl "
                             "… --methods none,… --lengths {},…",
                             context_trained, context_trained),
                 "--from"};
  }
  return out;
}

std::optional<MeasuredPlan> MeasuredCosts::best(std::int64_t length) const {
  const double factor = static_cast<double>(length) / static_cast<double>(trained_);
  const auto for_this = [&](const eval::PplRow& row) {
    return row.method != "none" && std::fabs(row.factor / factor - 1) < 1e-6;
  };
  const eval::PplRow* chosen = nullptr;
  int methods = 0;
  for (const eval::PplRow& row : rows_) {
    if (!for_this(row) || row.length != length) continue;
    ++methods;
    if (chosen == nullptr || row.ppl < chosen->ppl) chosen = &row;
  }
  if (chosen == nullptr) return std::nullopt;
  const auto inside = std::find_if(rows_.begin(), rows_.end(), [&](const eval::PplRow& row) {
    return row.method == chosen->method && row.factor == chosen->factor && row.length == as_it_is_.length;
  });
  const Result<Method> method = parse_method(chosen->method);
  if (inside == rows_.end() || !method) return std::nullopt;
  const double change = inside->ppl / as_it_is_.ppl - 1;
  return MeasuredPlan{
      .method = *method,
      .cost = std::max(0.0, change),
      .why = fmt::format("Measured: {} reads {} tokens best of {} (perplexity {:.4g}); at {} tokens it costs {:+.2f} % "
                         "against the model as it is.",
                         brief(*method), length, methods, chosen->ppl, as_it_is_.length, 100 * change)};
}

}  // namespace mrrope::cli
