// SPDX-License-Identifier: MIT
//
// Tasks with answers: the mean by length, how far each plan reaches, and the table of tasks.
#include <fmt/format.h>

#include <algorithm>

#include "mrrope/units.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

std::vector<std::int64_t> lengths_of(const std::vector<eval::MeanScoreRow>& means) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(means.size());
  for (const eval::MeanScoreRow& m : means) lengths.push_back(m.length);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

std::int64_t judged_length(const std::vector<eval::MeanScoreRow>& means) {
  std::vector<std::int64_t> measured;
  measured.reserve(means.size());
  for (const eval::MeanScoreRow& m : means) measured.push_back(m.length);
  return common_length(measured);
}

const eval::MeanScoreRow* mean_at(const std::vector<eval::MeanScoreRow>& means, const eval::PlanName& plan,
                                  std::int64_t length) {
  for (const eval::MeanScoreRow& m : means) {
    if (m.method == plan.method && m.factor == plan.factor && m.length == length) return &m;
  }
  return nullptr;
}

// Over as many tasks as any plan has at that length; a mean over fewer is of something else.
bool complete(const std::vector<eval::MeanScoreRow>& means, const eval::MeanScoreRow& mean) {
  return std::none_of(means.begin(), means.end(),
                      [&](const eval::MeanScoreRow& m) { return m.length == mean.length && m.tasks > mean.tasks; });
}

// The mean of a plan that may be held against those of other plans; null: none, or one over fewer tasks.
const eval::MeanScoreRow* ranked_at(const std::vector<eval::MeanScoreRow>& means, const eval::PlanName& plan,
                                    std::int64_t length) {
  const eval::MeanScoreRow* mean = mean_at(means, plan, length);
  return mean != nullptr && complete(means, *mean) ? mean : nullptr;
}

std::string what(const Runs& runs) {
  return runs.answers.tasks().size() == 1 ? runs.answers.tasks().front()
                                          : fmt::format("mean of {} tasks", runs.answers.tasks().size());
}

std::string reach_text(std::int64_t length) { return length > 0 ? format_context(length) : "-"; }

// The best at the longest length, with those the paired samples do not tell apart.
std::string best_sentence(const Runs& runs, const std::vector<eval::MeanScoreRow>& means) {
  const std::int64_t length = judged_length(means);
  const eval::MeanScoreRow* best = nullptr;
  eval::PlanName first;
  for (const eval::PlanName& plan : runs.answers.plans()) {
    const eval::MeanScoreRow* m = ranked_at(means, plan, length);
    if (m == nullptr || (best != nullptr && m->score <= best->score)) continue;
    best = m;
    first = plan;
  }
  std::vector<std::string> tied;
  std::vector<std::string> few;  // samples, to tell
  std::size_t fewest = eval::kFewestSamples;
  std::vector<std::string> higher;  // on the samples that both have
  std::vector<std::string> apart;   // without such samples
  std::size_t others = 0;
  for (const eval::PlanName& plan : runs.answers.plans()) {
    if (plan == first || ranked_at(means, plan, length) == nullptr) continue;
    ++others;
    const eval::ScoreComparison c = runs.answers.compare(first, plan, length);
    if (c.samples == 0) {
      apart.push_back(plan.text());
    } else if (c.too_few()) {
      few.push_back(plan.text());
      fewest = std::min(fewest, c.samples);
    } else if (!c.differs) tied.push_back(plan.text());
    else if (c.difference < 0) higher.push_back(plan.text());
  }
  if (others == 0) {
    return fmt::format("{} scores {:.1f} % at {} ({}).", first.text(), 100 * best->score, format_context(length),
                       what(runs));
  }
  if (tied.size() + few.size() == others && best->score == 0) {
    return fmt::format("No plan finds anything at {} ({}).", format_context(length), what(runs));
  }
  std::string text = fmt::format("{} scores highest at {}: {:.1f} % ({}).", first.text(), format_context(length),
                                 100 * best->score, what(runs));
  if (!tied.empty()) {
    text += fmt::format(" On the same samples it is tied with {}.", listed(tied));
  }
  if (!few.empty()) text += fmt::format(" Too few samples ({}) to compare it with {}.", fewest, listed(few));
  if (!higher.empty()) text += fmt::format(" On the samples that both have, {} higher.", listed_are(higher));
  if (!apart.empty()) text += fmt::format(" Of {} other samples were measured.", listed(apart));
  if (tied.empty() && few.empty() && higher.empty() && apart.empty())
    text += " Every other plan is lower, on the same samples.";
  return text;
}

std::string reach_sentence(const Runs& runs, const std::vector<eval::MeanScoreRow>& means) {
  std::string text;
  std::vector<std::string> nowhere;
  for (const eval::PlanName& plan : runs.answers.plans()) {
    const eval::EffectiveLength e = effective_length(means, plan.method, plan.factor);
    if (e.length == 0) {
      nowhere.push_back(plan.text());
      continue;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", plan.text(), format_context(e.length));
    if (e.sure == 0) text += " (not sure of it)";
    if (e.sure != 0 && e.sure != e.length) text += fmt::format(" (surely {})", format_context(e.sure));
  }
  if (!nowhere.empty()) text += fmt::format("{}no length for {}", text.empty() ? "" : "; ", listed(nowhere));
  return fmt::format("Effective length, the longest above RULER's 85.6 %: {}.", text);
}

Figure mean_figure(const Context& context, const std::vector<eval::MeanScoreRow>& means) {
  const Runs& runs = context.runs;
  const std::vector<std::int64_t> lengths = lengths_of(means);
  Figure figure{.name = "scores", .title = "Score by length"};
  figure.data.columns = {"plan", "length", "score", "low", "high", "stderr", "tasks"};
  figure.table.header = {what(runs)};
  for (const std::int64_t length : lengths) figure.table.header.push_back(format_context(length));
  figure.table.header.insert(figure.table.header.end(), {"effective", "surely"});
  bool partial = false;
  for (const eval::PlanName& plan : runs.answers.plans()) {
    std::vector<std::string> cells = {plan.text()};
    for (const std::int64_t length : lengths) {
      const eval::MeanScoreRow* m = mean_at(means, plan, length);
      if (m == nullptr) {
        cells.emplace_back("-");
        continue;
      }
      const bool whole = complete(means, *m);
      cells.push_back(m->cell() + (whole ? "" : " ?"));
      if (!whole) {
        partial = true;
        continue;
      }
      figure.data.rows.push_back({plan.text(), length, 100 * m->score, 100 * m->low, 100 * m->high,
                                  100 * m->stderr_score, static_cast<std::int64_t>(m->tasks)});
    }
    const eval::EffectiveLength e = effective_length(means, plan.method, plan.factor);
    cells.push_back(reach_text(e.length));
    cells.push_back(reach_text(e.sure));
    figure.table.rows.push_back(std::move(cells));
  }
  figure.conclusion = best_sentence(runs, means) + " " + reach_sentence(runs, means);
  figure.reading = fmt::format(
      "Percent right, {}, with 95 % intervals (Wilson's, which know that five of five is not certain); higher is "
      "better. The line at 85.6 is RULER's threshold; “surely” is the longest length whose whole interval is above it.",
      what(runs));
  if (partial) figure.reading += " A mean with a question mark lacks tasks that other plans have; it is not drawn.";
  const base::Json look = context.look.encodings(runs.answers.plans());
  figure.spec = make_spec(R"({
    "width": "container", "height": 300,
    "layer": [
      {"data": {"values": [{}]}, "mark": {"type": "rule", "strokeDash": [1, 3], "color": "#808080"}, "encoding": {"y": {"datum": 85.6}}},
      {"mark": {"type": "area", "opacity": 0.13, "tooltip": false},
       "encoding": {"x": "@x", "y": {"field": "low", "type": "quantitative", "title": "percent right", "scale": {"domain": [0, 100]}},
                    "y2": {"field": "high"}, "color": "@colour"}},
      {"mark": {"type": "line", "strokeWidth": 2},
       "encoding": {"x": "@x", "y": {"field": "score", "type": "quantitative"}, "color": "@colour", "strokeDash": "@dash"}},
      {"mark": {"type": "point", "size": 50, "filled": true, "tooltip": {"content": "data"}},
       "encoding": {"x": "@x", "y": {"field": "score", "type": "quantitative"}, "color": "@colour", "shape": "@shape"}}
    ]})",
                          figure.conclusion, figure.data,
                          {{"x", length_axis(lengths, "tokens of prompt and answer")},
                           {"colour", look["colour"]},
                           {"dash", look["dash"]},
                           {"shape", look["shape"]}});
  for (base::Json& layer : trained_layers(runs.context_trained(), lengths)) figure.spec["layer"].push_back(layer);
  return figure;
}

std::optional<Figure> paired_table(const Context& context, const std::vector<eval::MeanScoreRow>& means) {
  const Runs& runs = context.runs;
  if (runs.answers.plans().size() < 2) return std::nullopt;
  const std::vector<std::int64_t> lengths = lengths_of(means);
  const std::int64_t judged = judged_length(means);
  const eval::PlanName base = baseline_of(context, runs.answers.plans());
  Figure figure{.name = "scores-paired", .title = "The same samples against " + base.text()};
  figure.data.columns = {"plan", "length", "points", "low", "high", "samples", "p_value", "verdict"};
  figure.table.header = {"against " + base.text()};
  for (const std::int64_t length : lengths) figure.table.header.push_back(format_context(length));
  std::string all;
  for (const eval::PlanName& plan : runs.answers.plans()) {
    if (plan == base) continue;
    std::vector<std::string> cells = {plan.text()};
    for (const std::int64_t length : lengths) {
      const eval::ScoreComparison c = runs.answers.compare(plan, base, length);
      cells.push_back(c.cell());
      if (c.samples == 0) continue;
      figure.data.rows.push_back({plan.text(), length, c.difference, c.low, c.high,
                                  static_cast<std::int64_t>(c.samples), c.p_value, c.verdict()});
      if (length == judged) all += fmt::format("{}{} {}", all.empty() ? "" : "; ", plan.text(), c.verdict(base.text()));
    }
    figure.table.rows.push_back(std::move(cells));
  }
  if (figure.data.rows.empty()) return std::nullopt;
  figure.conclusion = fmt::format("At {} against {}: {}.", format_context(judged), base.text(), all);
  figure.reading =
      "Differences sample by sample in points of 100, over all tasks, with 95 % intervals; * a difference by the "
      "paired "
      "permutation test (p < 0.05), which decides where the interval says otherwise.";
  return figure;
}

// What the models thought of the right answers; none if no run in process says it.
std::optional<Figure> right_table(const Context& context, const std::vector<eval::MeanScoreRow>& means) {
  const Runs& runs = context.runs;
  const std::vector<std::int64_t> lengths = lengths_of(means);
  const std::int64_t judged = judged_length(means);
  const eval::PlanName base = baseline_of(context, runs.answers.plans());
  Figure figure{.name = "right-answers", .title = "How likely the right answer was"};
  figure.data.columns = {"plan", "length", "nats", "stderr"};
  figure.table.header = {"-ln p, nats per token"};
  for (const std::int64_t length : lengths) figure.table.header.push_back(format_context(length));
  std::string all;
  for (const eval::PlanName& plan : runs.answers.plans()) {
    std::vector<std::string> cells = {plan.text()};
    for (const std::int64_t length : lengths) {
      const eval::MeanScoreRow* m = ranked_at(means, plan, length);
      cells.push_back(m != nullptr && m->nll ? fmt::format("{:.3f} ± {:.3f}", *m->nll, m->stderr_nll) : "-");
      if (m != nullptr && m->nll) figure.data.rows.push_back({plan.text(), length, *m->nll, m->stderr_nll});
    }
    figure.table.rows.push_back(std::move(cells));
    const eval::NllComparison c = runs.answers.compare_nll(plan, base, judged);
    if (plan != base && c.samples > 0)
      all += fmt::format("{}{} {}", all.empty() ? "" : "; ", plan.text(), c.verdict(base.text()));
  }
  if (figure.data.rows.empty()) return std::nullopt;
  figure.conclusion =
      all.empty() ? std::string("A likelihood says more than a hit or a miss.")
                  : fmt::format("At {} against {}, on the same samples: {}.", format_context(judged), base.text(), all);
  figure.reading =
      "-ln p of the right answer after the prompt, whatever the model said; lower is better, 0 is certain. It tells "
      "plans "
      "apart from fewer samples than hits do. ± standard error.";
  return figure;
}

// RULER's table: every task at every length, plan by plan.
Figure task_table(const Runs& runs, const std::vector<eval::ScoreRow>& rows, const std::vector<std::int64_t>& lengths) {
  Figure figure{.name = "tasks", .title = "Task by task"};
  figure.data.columns = {"task", "plan", "length", "score", "stderr", "samples", "cut", "empty"};
  figure.table.header = {"task", "plan"};
  figure.table.left = 2;
  for (const std::int64_t length : lengths) figure.table.header.push_back(format_context(length));
  std::size_t samples = 0;
  double cut = 0;
  for (const std::string& task : runs.answers.tasks()) {
    for (const eval::PlanName& plan : runs.answers.plans()) {
      std::vector<std::string> cells = {task, plan.text()};
      for (const std::int64_t length : lengths) {
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const eval::ScoreRow& r) {
          return r.task == task && eval::PlanName{r.method, r.factor} == plan && r.length == length;
        });
        cells.push_back(row == rows.end() ? "-" : row->cell());
        if (row == rows.end()) continue;
        samples = std::max(samples, row->samples);
        cut = std::max(cut, row->cut);
        figure.data.rows.push_back({task, plan.text(), length, 100 * row->score, 100 * row->stderr_score,
                                    static_cast<std::int64_t>(row->samples), row->cut, row->empty});
      }
      figure.table.rows.push_back(std::move(cells));
    }
  }
  figure.conclusion =
      cut > 0.5
          ? fmt::format("Up to {:.0f} % of the answers of a cell were ended by their budget of tokens.", 100 * cut)
          : std::string("A mean hides which task gives way first; this table does not.");
  figure.reading = fmt::format("Percent right with its 95 % interval, up to {} samples in a cell.", samples);
  return figure;
}

}  // namespace

std::optional<Section> score_section(const Context& context) {
  const std::vector<eval::ScoreRow> rows = context.runs.answers.rows();
  if (rows.empty()) return std::nullopt;
  const std::vector<eval::MeanScoreRow> means = mean_scores(rows);
  Section section{.name = "scores", .title = "Tasks", .figures = {}};
  section.figures.push_back(mean_figure(context, means));
  if (auto figure = paired_table(context, means)) section.figures.push_back(*std::move(figure));
  if (auto figure = right_table(context, means)) section.figures.push_back(*std::move(figure));
  for (Figure& figure : needle_figures(context)) section.figures.push_back(std::move(figure));
  if (context.runs.answers.tasks().size() > 1)
    section.figures.push_back(task_table(context.runs, rows, lengths_of(means)));
  return section;
}

std::vector<std::string> score_verdict(const Context& context) {
  const std::vector<eval::MeanScoreRow> means = mean_scores(context.runs.answers.rows());
  if (means.empty()) return {};
  return {best_sentence(context.runs, means), reach_sentence(context.runs, means)};
}

}  // namespace mrrope::report
