// SPDX-License-Identifier: MIT
//
// Published values beside ours: the same model, method, length and task, and whether theirs is in our interval.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "mrrope/units.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

constexpr double kNormal95 = 1.96;

// What was measured where something was published.
struct Ours {
  eval::PlanName plan;
  double value = 0, low = 0, high = 0;  // in the unit of the publication
};

std::optional<Ours> measured_ppl(const std::vector<eval::PplRow>& rows, const PublishedValue& published) {
  for (const eval::PplRow& row : rows) {
    if (row.method != published.method || row.length != published.length) continue;
    const double reach = kNormal95 * row.stderr_ppl;
    return Ours{{row.method, row.factor}, row.ppl, row.ppl - reach, row.ppl + reach};
  }
  return std::nullopt;
}

// What a page keeps of the scores.
struct Scores {
  explicit Scores(const Runs& r) : runs(&r), tasks(r.answers.rows()), means(mean_scores(tasks)) {
    for (std::size_t value = 0; value < r.answers.values().size(); ++value) {
      labelled.emplace(r.answers.values()[value], r.answers.rows({.task = {}, .value = value}));
    }
  }
  const Runs* runs;
  std::vector<eval::ScoreRow> tasks;
  std::vector<eval::MeanScoreRow> means;
  std::map<std::string, std::vector<eval::ScoreRow>> labelled;  // tasks, by the value of Runs::label
};

std::optional<Ours> measured_score(const Scores& scores, const PublishedValue& published) {
  const auto ours = [&](const auto& rows, const auto& wanted) -> std::optional<Ours> {
    for (const auto& row : rows) {
      if (row.method == published.method && row.length == published.length && wanted(row)) {
        return Ours{{row.method, row.factor}, 100 * row.score, 100 * row.low, 100 * row.high};
      }
    }
    return std::nullopt;
  };
  const auto of_task = [&](const eval::ScoreRow& row) { return row.task == published.task; };
  if (published.labels.empty()) {
    if (published.task.empty()) return ours(scores.means, [](const eval::MeanScoreRow&) { return true; });
    return ours(scores.tasks, of_task);
  }
  const auto& [name, value] = *published.labels.begin();  // answers are told apart by one label
  const auto rows = scores.labelled.find(value);
  if (published.labels.size() > 1 || name != scores.runs->label || rows == scores.labelled.end()) return std::nullopt;
  return ours(rows->second, of_task);
}

// Theirs has as many digits as they printed; one that is rounded to the edge of ours is inside.
std::string judged(const PublishedValue& published, const Ours& ours) {
  if (published.above) return ours.high > published.value ? "agrees" : "lower";
  if (published.value < ours.low) return "higher";
  return published.value > ours.high ? "lower" : "agrees";
}

std::string theirs(const PublishedValue& published) {
  const bool percent = published.metric == PublishedValue::Metric::score;
  return fmt::format("{}{:g}{}", published.above ? "> " : "", published.value, percent ? " %" : "");
}

std::string shown(const PublishedValue& published, const Ours& ours) {
  return published.metric == PublishedValue::Metric::score
             ? fmt::format("{:.1f} ({:.0f}–{:.0f}) %", ours.value, ours.low, ours.high)
             : fmt::format("{:.3f} ({:.3f}–{:.3f})", ours.value, ours.low, ours.high);
}

std::string asked(const PublishedValue& published) {
  std::string text = published.metric == PublishedValue::Metric::ppl ? "perplexity"
                     : published.task.empty()                        ? "mean score"
                                                                     : published.task;
  for (const auto& [name, value] : published.labels) text += fmt::format(", {} {}", name, value);
  return text;
}

// A file has several models, a page one. Where none is called as this one, all are shown: another model under the same
// plans says something, if not the same.
bool is_of_this_model(const Runs& runs, const PublishedFile& file, const PublishedValue& value) {
  const auto is_ours = [&](const PublishedValue& v) {
    return std::any_of(runs.sources.begin(), runs.sources.end(),
                       [&](const RunSource& source) { return source.info.model == v.model; });
  };
  return is_ours(value) || std::none_of(file.values.begin(), file.values.end(), is_ours);
}

}  // namespace

std::optional<Section> published_section(const Context& context) {
  const Runs& runs = context.runs;
  if (runs.published.empty()) return std::nullopt;
  const std::vector<eval::PplRow>& ppl = runs.passes.rows();
  const Scores scores(runs);
  Section section{.name = "published", .title = "Published and measured", .figures = {}};
  for (std::size_t i = 0; i < runs.published.size(); ++i) {
    const PublishedFile& file = runs.published[i];
    Figure figure{.name = i == 0 ? "published" : fmt::format("published-{}", i + 1), .title = file.source};
    figure.data.columns = {"model", "method", "length", "what", "published", "measured", "low", "high", "place"};
    figure.table.header = {"model", "method", "what", "length", "published", "measured", "ours", "place"};
    figure.table.left = 3;
    std::size_t agree = 0, measured = 0, all = 0;
    for (const PublishedValue& value : file.values) {
      if (!is_of_this_model(runs, file, value)) continue;
      const std::optional<Ours> ours =
          value.metric == PublishedValue::Metric::ppl ? measured_ppl(ppl, value) : measured_score(scores, value);
      const std::string verdict = ours ? judged(value, *ours) : "not measured";
      ++all;
      if (ours) ++measured;
      if (verdict == "agrees") ++agree;
      const auto cell = [&](double Ours::*member) { return ours ? Cell((*ours).*member) : Cell(); };
      figure.data.rows.push_back({value.model, value.method, value.length, asked(value), value.value,
                                  cell(&Ours::value), cell(&Ours::low), cell(&Ours::high), value.place});
      figure.table.rows.push_back({value.model, value.method, asked(value), format_context(value.length), theirs(value),
                                   ours ? shown(value, *ours) : "-", verdict, value.place});
    }
    figure.conclusion = measured == 0
                            ? fmt::format("None of {} published values was measured here.", all)
                            : fmt::format("{} of {} published values were measured; {} lie in our 95 % interval.",
                                          measured, all, agree);
    figure.reading =
        "Ours with its 95 % interval: of scores Wilson's, of perplexities by the spread over documents. “higher” and "
        "“lower” are ours against theirs, whose own uncertainty was not published.";
    section.figures.push_back(std::move(figure));
  }
  return section;
}

}  // namespace mrrope::report
