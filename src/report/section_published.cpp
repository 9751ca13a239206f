// SPDX-License-Identifier: MIT
//
// Published values beside ours: the same model, method, length and task, and whether theirs is in our interval.
#include <fmt/format.h>

#include <algorithm>
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

std::optional<Ours> measured_score(const std::vector<eval::ScoreRow>& tasks,
                                   const std::vector<eval::MeanScoreRow>& means, const PublishedValue& published) {
  if (!published.labels.empty()) return std::nullopt;  // what is left of an answer on a page has none
  const auto ours = [&](const auto& rows, const auto& wanted) -> std::optional<Ours> {
    for (const auto& row : rows) {
      if (row.method == published.method && row.length == published.length && wanted(row)) {
        return Ours{{row.method, row.factor}, 100 * row.score, 100 * row.low, 100 * row.high};
      }
    }
    return std::nullopt;
  };
  if (published.task.empty()) return ours(means, [](const eval::MeanScoreRow&) { return true; });
  return ours(tasks, [&](const eval::ScoreRow& row) { return row.task == published.task; });
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
  const std::vector<eval::PplRow> ppl = ppl_table(runs.passes);
  const std::vector<eval::ScoreRow> tasks = score_rows(runs);
  const std::vector<eval::MeanScoreRow> means = mean_scores(tasks);
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
          value.metric == PublishedValue::Metric::ppl ? measured_ppl(ppl, value) : measured_score(tasks, means, value);
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
