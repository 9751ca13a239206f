// SPDX-License-Identifier: MIT
//
// The verdict of mrrope tune in words: the table and the sentences, from differences on what the search has not seen.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mrrope/units.h"
#include "report/sections.h"
#include "report/tune_words.h"

namespace mrrope::report {

namespace {

using Metric = TuneFile::Metric;

constexpr std::array<Metric, 4> kMetrics = {Metric::ppl_long, Metric::ppl_short, Metric::answer_nll, Metric::score};

// How a difference is written: 3.6 %, 0.030 nats per token, 17.2 points.
struct Unit {
  double times;
  int digits;
  std::string_view after;
};
Unit unit_of(Metric metric) {
  switch (metric) {
    case Metric::answer_nll: return {1, 3, " nats per token"};
    case Metric::score: return {100, 1, " points"};
    case Metric::ppl_long:
    case Metric::ppl_short: break;
  }
  return {100, 1, " %"};
}

// "3.6 ± 0.6 % lower", "no different (-0.2 ± 0.5 %)"; `less`, `more`: what it is called where it differs.
std::string standing(const TuneFile::Difference& d, std::string_view less, std::string_view more) {
  const Unit unit = unit_of(d.metric);
  const double value = unit.times * d.difference;
  const double half = unit.times * (d.high - d.low) / 2;
  if (d.better || d.worse) {
    return fmt::format("{:.{}f} ± {:.{}f}{} {}", std::fabs(value), unit.digits, half, unit.digits, unit.after,
                       value < 0 ? less : more);
  }
  return fmt::format("no different ({:+.{}f} ± {:.{}f}{})", value, unit.digits, half, unit.digits, unit.after);
}

// "perplexity is 3.6 ± 0.6 % lower at 8k and 6.3 ± 2.5 % lower within 512 tokens; …": the tuned table against the best
// fixed one.
std::string differences(const TuneFile& tune) {
  const std::string& fixed = tune.best_fixed_table().method;
  std::vector<std::string> texts;
  if (const auto* d = tune.find(fixed, Metric::ppl_long)) {
    texts.push_back(fmt::format("{} at {}", standing(*d, "lower", "higher"), format_context(tune.read_tokens)));
  }
  if (const auto* d = tune.find(fixed, Metric::ppl_short)) {
    texts.push_back(
        fmt::format("{} within {} tokens", standing(*d, "lower", "higher"), format_context(tune.context_trained)));
  }
  std::vector<std::string> answers;
  if (const auto* d = tune.find(fixed, Metric::answer_nll)) {
    answers.push_back(fmt::format("right answers are {}", standing(*d, "likelier", "less likely")));
  }
  if (const auto* d = tune.find(fixed, Metric::score)) {
    answers.push_back(fmt::format("scores are {}", standing(*d, "lower", "higher")));
  }
  std::string out = texts.empty() ? "" : "perplexity is " + listed(texts);
  if (!answers.empty()) out += (out.empty() ? "" : "; ") + listed(answers);
  return out;
}

std::string unseen(const TuneFile& tune) {
  const auto counted = [](std::int64_t n, const char* word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  };
  std::string items = counted(tune.held_out_texts, "text");
  if (tune.held_out_prompts > 0) items += " and " + counted(tune.held_out_prompts, "prompt");
  return items + " that the search had not seen";
}

std::string cell(const TuneFile::Difference& d) {
  const Unit unit = unit_of(d.metric);
  return fmt::format("{:+.{}f} ± {:.{}f}{}{}", unit.times * d.difference, unit.digits,
                     unit.times * (d.high - d.low) / 2, unit.digits, unit.after == " %" ? " %" : "",
                     d.better || d.worse ? " *" : "");
}

}  // namespace

std::string tune_sentence(const TuneFile& tune) {
  const std::string& fixed = tune.best_fixed_table().method;
  if (tune.tuned == tune.best_fixed) {
    return fmt::format("Nothing better than {} was found: of {} tables none has a lower loss on the tuning texts.",
                       fixed, tune.evaluations);
  }
  const std::string numbers = differences(tune);
  const std::string its = numbers.empty() ? "" : fmt::format(", its {}", numbers);
  if (tune.tuned_is_recommended) {
    return fmt::format("The tuned plan ({}) is better than {}, the best published method here: on {}{}.", tune.label,
                       fixed, unseen(tune), its);
  }
  const auto* decides = tune.find(fixed, tune.prefer == "short" ? Metric::ppl_short : Metric::ppl_long);
  if (decides != nullptr && decides->better) {
    return fmt::format("{} stays: the best table of the search ({}) is better at texts and worse at answers. On {}{}.",
                       fixed, tune.label, unseen(tune), its);
  }
  return fmt::format("Nothing better than {} was found: the best table of the search ({}) does not beat it. On {}{}.",
                     fixed, tune.label, unseen(tune), its);
}

Figure verdict_figure(const TuneFile& tune, const std::string& name) {
  Figure figure{.name = name,
                .title = "The verdict: what was found, on texts and prompts that the search had not seen"};
  figure.data.columns = {"against", "metric", "difference", "low", "high", "items", "verdict"};
  figure.table.header = {"against", "ppl at " + format_context(tune.read_tokens),
                         "within " + format_context(tune.context_trained), "-ln p, answers", "points"};
  const std::array<std::string, kMetrics.size()> names = {"ppl_long", "ppl_short", "answer_nll", "score"};
  std::vector<std::string> shown;
  for (const TuneFile::Difference& d : tune.verdict) {
    if (d.against == tune.tuned_table().method) continue;  // nothing but itself was found
    figure.data.rows.push_back({d.against, names[static_cast<std::size_t>(d.metric)], d.difference, d.low, d.high,
                                d.items,
                                std::string(d.better  ? "better"
                                            : d.worse ? "worse"
                                                      : "no difference")});
    if (std::find(shown.begin(), shown.end(), d.against) == shown.end()) shown.push_back(d.against);
  }
  for (const std::string& against : shown) {
    std::vector<std::string> cells = {against};
    for (const Metric metric : kMetrics) {
      const auto* d = tune.find(against, metric);
      cells.push_back(d != nullptr ? cell(*d) : "-");
    }
    figure.table.rows.push_back(std::move(cells));
  }
  figure.conclusion = tune_sentence(tune);
  figure.reading =
      "What was found, less each of these; negative is better, except in points. ± is half of the 95 % interval; * "
      "marks a difference. "
      "Only the comparison with the method that was best on the tuning texts decides.";
  return figure;
}

std::vector<std::string> tune_verdict(const Context& context) {
  std::vector<std::string> out;
  for (const TuneFile& tune : context.runs.tunes) {
    out.push_back(tune_sentence(tune));
    if (tune.built_in_texts) {
      out.emplace_back("It was tuned on built-in prose; texts of your own say more about what your model will read.");
    }
  }
  return out;
}

}  // namespace mrrope::report
