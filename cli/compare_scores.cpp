// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/run_charts.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

namespace {

using base::Json;

template <class T>
void add_new(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

// What is in the records, in their order; lengths ascending.
struct Scope {
  std::vector<eval::PlanName> plans;
  std::vector<std::string> tasks;
  std::vector<std::int64_t> lengths;
};

Scope scope_of(const std::vector<eval::ScoreRow>& rows) {
  Scope scope;
  for (const eval::ScoreRow& row : rows) {
    add_new(scope.plans, eval::PlanName{row.method, row.factor});
    add_new(scope.tasks, row.task);
    add_new(scope.lengths, row.length);
  }
  std::sort(scope.lengths.begin(), scope.lengths.end());
  return scope;
}

std::vector<std::string> header_of(std::string first, const Scope& scope) {
  std::vector<std::string> header = {std::move(first)};
  for (const std::int64_t length : scope.lengths) header.push_back(format_context(length));
  return header;
}

// Means over tasks, and how far each plan reaches by RULER's rule.
std::string mean_table(const Scope& scope, const std::vector<eval::MeanScoreRow>& means) {
  std::vector<std::string> header = header_of(
      scope.tasks.size() == 1 ? scope.tasks.front() : fmt::format("mean of {} tasks", scope.tasks.size()), scope);
  header.insert(header.end(), {"effective", "surely"});
  TextTable table(header, 1);
  bool partial = false;
  for (const eval::PlanName& plan : scope.plans) {
    std::vector<std::string> cells = {plan.text()};
    for (const std::int64_t length : scope.lengths) {
      const auto row = std::find_if(means.begin(), means.end(), [&](const eval::MeanScoreRow& m) {
        return m.method == plan.method && m.factor == plan.factor && m.length == length;
      });
      if (row == means.end()) {
        cells.emplace_back("-");
        continue;
      }
      const bool lacks = row->tasks < scope.tasks.size();
      partial = partial || lacks;
      cells.push_back(fmt::format("{:.1f} ± {:.1f}{}", 100 * row->score, 100 * row->stderr_score, lacks ? " ?" : "  "));
    }
    const eval::EffectiveLength reach = effective_length(means, plan.method, plan.factor);
    cells.push_back(reach.length > 0 ? format_context(reach.length) : "-");
    cells.push_back(reach.sure > 0 ? format_context(reach.sure) : "-");
    table.add(cells);
  }
  return fmt::format(
      "{}{}Percent right ± standard error. Effective: the longest length above RULER's\n"
      "85.6 %; surely: with its 95 % lower bound\n",
      table.text(), partial ? "? lacks tasks that others have; no mean of the same thing\n" : "");
}

// The likelihood of the right answer beside hits and misses: it tells plans apart from fewer samples.
std::string nll_tables(const Scope& scope, const std::vector<eval::MeanScoreRow>& means, const TextTable& against) {
  TextTable table(header_of("-ln p of the right answer", scope), 1);
  for (const eval::PlanName& plan : scope.plans) {
    std::vector<std::string> cells = {plan.text()};
    for (const std::int64_t length : scope.lengths) {
      const auto row = std::find_if(means.begin(), means.end(), [&](const eval::MeanScoreRow& m) {
        return m.method == plan.method && m.factor == plan.factor && m.length == length;
      });
      const bool known = row != means.end() && row->nll && row->tasks == scope.tasks.size();
      cells.push_back(known ? fmt::format("{:.3f} ± {:.3f}", *row->nll, row->stderr_nll) : "-");
    }
    table.add(cells);
  }
  return fmt::format("\n{}Nats per token ± standard error; lower is better\n\n{}", table.text(), against.text());
}

Json to_json(const eval::PlanName& plan, const eval::ScoreComparison& c, const eval::NllComparison& nll) {
  const auto known = [&c](double value) { return c.samples > 0 ? Json(value) : Json(nullptr); };
  const auto known_nll = [&nll](double value) { return nll.samples > 0 ? Json(value) : Json(nullptr); };
  return Json{{"plan", plan.text()},
              {"method", plan.method},
              {"factor", plan.factor},
              {"task", c.task.empty() ? Json(nullptr) : Json(c.task)},
              {"length", c.length},
              {"samples", c.samples},
              {"difference", known(c.difference)},
              {"low", known(c.low)},
              {"high", known(c.high)},
              {"p_value", known(c.p_value)},
              {"differs", c.differs},
              {"answer_nll",
               {{"samples", nll.samples},
                {"difference", known_nll(nll.difference)},
                {"low", known_nll(nll.low)},
                {"high", known_nll(nll.high)},
                {"differs", nll.differs}}}};
}

Json to_json(const eval::MeanScoreRow& m) {
  return Json{{"plan", eval::PlanName{m.method, m.factor}.text()},
              {"method", m.method},
              {"factor", m.factor},
              {"length", m.length},
              {"tasks", m.tasks},
              {"score", m.score},
              {"stderr", m.stderr_score},
              {"low", m.low},
              {"answer_nll", m.nll ? Json(*m.nll) : Json(nullptr)}};
}

}  // namespace

Result<Compared> compare_answers(const CompareOptions& options, const std::vector<eval::Record>& records,
                                 const eval::RunInfo& info) {
  const std::vector<eval::ScoreRow> rows = score_table(records);
  const std::vector<eval::MeanScoreRow> means = mean_scores(rows);
  const Scope scope = scope_of(rows);
  const Result<eval::PlanName> base = baseline_of(options, scope.plans);
  if (!base) return base.error();

  Json json{{"schema", "mrrope.compare/1"},
            {"baseline", base->text()},
            {"scores", Json::array()},
            {"comparisons", Json::array()}};
  for (const eval::MeanScoreRow& m : means) json["scores"].push_back(to_json(m));
  std::vector<std::string> tasks = {""};
  if (options.by_task && scope.tasks.size() > 1) tasks.insert(tasks.end(), scope.tasks.begin(), scope.tasks.end());
  TextTable table(header_of("points against " + base->text(), scope), 1);
  TextTable nll_table(header_of("nats against " + base->text(), scope), 1);
  std::size_t samples = 0;
  std::size_t nll_samples = 0;
  for (const eval::PlanName& plan : scope.plans) {
    if (plan == *base) continue;
    for (const std::string& task : tasks) {
      std::vector<std::string> cells = {task.empty() ? plan.text() : "  " + task};
      std::vector<std::string> nll_cells = cells;
      for (const std::int64_t length : scope.lengths) {
        const eval::ScoreComparison c =
            compare_scores(records, plan.method, plan.factor, base->method, base->factor, task, length);
        samples = std::max(samples, c.samples);
        cells.push_back(c.cell() + (c.samples == 0 || c.differs ? "" : "  "));  // room for the star of others
        const eval::NllComparison nll =
            compare_nll(records, plan.method, plan.factor, base->method, base->factor, task, length);
        nll_samples = std::max(nll_samples, nll.samples);
        nll_cells.push_back(nll.cell() + (nll.samples == 0 || nll.differs ? "" : "  "));
        json["comparisons"].push_back(to_json(plan, c, nll));
      }
      table.add(cells);
      nll_table.add(nll_cells);
    }
  }
  std::string text = fmt::format(
      "{}\n{}{}* a difference; ± half of the 95 % interval, paired over {} sample{}\n", mean_table(scope, means),
      table.text(), nll_samples > 0 ? nll_tables(scope, means, nll_table) : "", samples, samples == 1 ? "" : "s");
  return Compared{std::move(json), text + needle_chart(records, info)};
}

}  // namespace mrrope::cli
