// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// All answers, or those of one task or label.
struct Group {
  std::string name;  // empty: all
  eval::Answers::Part part;
  std::vector<eval::MeanScoreRow> means;
  std::size_t tasks = 0;

  [[nodiscard]] const eval::MeanScoreRow* at(const eval::PlanName& plan, std::int64_t length) const {
    const auto row = std::find_if(means.begin(), means.end(), [&](const eval::MeanScoreRow& m) {
      return m.method == plan.method && m.factor == plan.factor && m.length == length;
    });
    return row == means.end() ? nullptr : &*row;
  }
  // The first cell of a line.
  [[nodiscard]] std::string label(const eval::PlanName& plan) const { return name.empty() ? plan.text() : "  " + name; }
};

Group group_of(std::string name, const eval::Answers& answers, const eval::Answers::Part& part) {
  const std::vector<eval::ScoreRow> rows = answers.rows(part);
  return {std::move(name), part, mean_scores(rows), scope_of(rows).tasks.size()};
}

// All of them first, then those of each value.
Result<std::vector<Group>> groups_of(const eval::Answers& answers, const std::string& by) {
  std::vector<Group> groups = {group_of("", answers, {})};
  if (by.empty()) return groups;
  const std::vector<std::string>& values = by == "task" ? answers.tasks() : answers.values();
  if (values.empty()) {
    std::string known = "task";
    for (const std::string& name : answers.labels()) known += ", " + name;
    return Error{ErrorCode::invalid_argument, fmt::format("the records have no \"{}\" (they have: {})", by, known),
                 "--by"};
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    groups.push_back(
        group_of(values[i], answers, by == "task" ? eval::Answers::Part{.task = i} : eval::Answers::Part{.value = i}));
  }
  return groups;
}

// Means over tasks, and how far each plan reaches by RULER's rule.
std::string mean_table(const Scope& scope, const std::vector<Group>& groups) {
  std::vector<std::string> header = header_of(
      scope.tasks.size() == 1 ? scope.tasks.front() : fmt::format("mean of {} tasks", scope.tasks.size()), scope);
  header.insert(header.end(), {"effective", "surely"});
  TextTable table(header, 1);
  bool partial = false;
  for (const eval::PlanName& plan : scope.plans) {
    for (const Group& group : groups) {
      std::vector<std::string> cells = {group.label(plan)};
      for (const std::int64_t length : scope.lengths) {
        const eval::MeanScoreRow* row = group.at(plan, length);
        const bool lacks = row != nullptr && row->tasks < group.tasks;
        partial = partial || lacks;
        cells.push_back(row == nullptr ? "-" : row->cell() + (lacks ? " ?" : "  "));
      }
      const eval::EffectiveLength reach = effective_length(group.means, plan.method, plan.factor);
      cells.push_back(reach.length > 0 ? format_context(reach.length) : "-");
      cells.push_back(reach.sure > 0 ? format_context(reach.sure) : "-");
      table.add(cells);
    }
  }
  return fmt::format(
      "{}{}Percent right with its 95 % interval. Effective: the longest length above\n"
      "RULER's 85.6 %; surely: the longest whose whole interval is above it\n",
      table.text(), partial ? "? lacks tasks that others have: a mean of something else\n" : "");
}

// The likelihood of the right answer beside hits and misses: it tells plans apart from fewer samples.
std::string nll_table(const Scope& scope, const std::vector<Group>& groups) {
  TextTable table(header_of("-ln p of the right answer", scope), 1);
  for (const eval::PlanName& plan : scope.plans) {
    for (const Group& group : groups) {
      std::vector<std::string> cells = {group.label(plan)};
      for (const std::int64_t length : scope.lengths) {
        const eval::MeanScoreRow* row = group.at(plan, length);
        const bool known = row != nullptr && row->nll && row->tasks == group.tasks;
        cells.push_back(known ? fmt::format("{:.3f} ± {:.3f}", *row->nll, row->stderr_nll) : "-");
      }
      table.add(cells);
    }
  }
  return fmt::format("\n{}Nats per token ± standard error; lower is better\n", table.text());
}

// Whose answers: {"task": null | "vt", "label": null | {"domain": "Code"}}.
Json head(const eval::PlanName& plan, std::int64_t length, const Group& group, const std::string& by) {
  const bool all = group.name.empty();
  return Json{{"plan", plan.text()},
              {"method", plan.method},
              {"factor", plan.factor},
              {"length", length},
              {"task", !all && by == "task" ? Json(group.name) : Json(nullptr)},
              {"label", !all && by != "task" ? Json{{by, group.name}} : Json(nullptr)}};
}

Json to_json(Json out, const eval::ScoreComparison& c, const eval::NllComparison& nll) {
  const auto known = [&c](double value) { return c.samples > 0 ? Json(value) : Json(nullptr); };
  const auto known_nll = [&nll](double value) {
    return nll.samples > 0 && std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  out.update(Json{{"samples", c.samples},
                  {"too_few", c.too_few()},
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
                    {"differs", nll.differs}}}});
  return out;
}

Json to_json(Json out, const eval::MeanScoreRow& m) {
  out.update(Json{{"tasks", m.tasks},
                  {"score", m.score},
                  {"stderr", m.stderr_score},
                  {"low", m.low},
                  {"high", m.high},
                  {"answer_nll", m.nll ? Json(*m.nll) : Json(nullptr)}});
  return out;
}

// The plans against one of them: tables of hits and of likelihoods, and what they come to.
class Against {
 public:
  Against(const eval::Answers& answers, const Scope& scope, const std::string& what)
      : answers_(answers),
        scope_(scope),
        points_(header_of("points against " + what, scope), 1),
        nats_(header_of("nats against " + what, scope), 1) {}

  void add(const PlanPair& pair, const Group& group, const std::string& by, Json& comparisons) {
    const auto& [plan, base, name] = pair;
    std::vector<std::string> cells = {group.name.empty() ? name : "  " + group.name};
    std::vector<std::string> nll_cells = cells;
    std::string found;
    for (const std::int64_t length : scope_.lengths) {
      const eval::ScoreComparison c = answers_.compare(plan, base, length, group.part);
      samples_ = std::max(samples_, c.samples);
      few_ = few_ || c.too_few();
      cells.push_back(c.cell() + (c.samples == 0 || c.differs ? "" : "  "));  // room for the star of others
      const eval::NllComparison nll = answers_.compare_nll(plan, base, length, group.part);
      nll_ = nll_ || nll.samples > 0;
      nll_cells.push_back(nll.cell() + (nll.samples == 0 || nll.differs ? "" : "  "));
      comparisons.push_back(to_json(head(plan, length, group, by), c, nll));
      // In words: what long texts gain, and what short ones pay
      const std::string verdict = fmt::format("{} at {}", c.verdict(base.text()), format_context(length));
      if (c.samples > 0 && length == scope_.lengths.back()) found = verdict + (found.empty() ? "" : "; ") + found;
      else if (c.samples > 0 && length == scope_.lengths.front()) found = verdict;
    }
    points_.add(cells);
    nats_.add(nll_cells);
    if (group.name.empty() && !found.empty()) {
      sentences_ += wrap(name + ": " + found, terminal().width - 2, 2) + "\n";
    }
  }

  [[nodiscard]] std::string text(const std::string& nll_means) const {
    std::string out = "\n" + points_.text();
    if (nll_) out += nll_means + "\n" + nats_.text();
    out += fmt::format("* a difference (paired test over {} sample{}, p < 0.05); ± or (a to b): 95 %\n", samples_,
                       samples_ == 1 ? "" : "s");
    if (few_) {
      out += fmt::format("(n = …) too few samples: whatever fewer than {} say may be chance\n", eval::kFewestSamples);
    }
    return out + "\n" + sentences_;
  }

 private:
  const eval::Answers& answers_;
  const Scope& scope_;
  TextTable points_, nats_;
  std::size_t samples_ = 0;
  bool few_ = false, nll_ = false;
  std::string sentences_;
};

}  // namespace

Result<Compared> compare_answers(const CompareOptions& options, const eval::Answers& answers,
                                 const eval::RunInfo& info) {
  const Scope scope = scope_of(answers.rows());
  const Result<eval::PlanName> base = choose_baseline(scope.plans, options.baseline);
  if (!base) return base.error();
  const Result<std::vector<Group>> groups = groups_of(answers, options.by);
  if (!groups) return groups.error();

  const bool alone = scope.plans.size() == 1;
  Json json{{"schema", "mrrope.compare/1"},
            {"baseline", alone ? Json(nullptr) : Json(base->text())},
            {"scores", Json::array()},
            {"comparisons", Json::array()}};
  Against against(answers, scope, base->text());
  for (const Group& group : *groups) {
    for (const eval::MeanScoreRow& m : group.means) {
      json["scores"].push_back(to_json(head({m.method, m.factor}, m.length, group, options.by), m));
    }
  }
  for (const eval::PlanName& plan : scope.plans) {
    for (const Group& group : *groups) {
      if (plan != *base) against.add({plan, *base, plan.text()}, group, options.by, json["comparisons"]);
    }
  }
  Against costs(answers, scope, "cache " + own_cache(info));
  const std::vector<PlanPair> caches = cache_pairs(scope.plans);
  for (const PlanPair& pair : caches) {
    for (const Group& group : *groups) costs.add(pair, group, options.by, json["caches"]);
  }
  const auto& means = groups->front().means;
  const bool likelihoods =
      std::any_of(means.begin(), means.end(), [](const eval::MeanScoreRow& m) { return m.nll.has_value(); });
  const std::string nll_means = likelihoods ? nll_table(scope, *groups) : "";
  std::string text = mean_table(scope, *groups) + (alone ? nll_means : against.text(nll_means));
  if (!caches.empty()) text += costs.text("");
  return Compared{std::move(json), text + needle_chart(answers, info)};
}

}  // namespace mrrope::cli
