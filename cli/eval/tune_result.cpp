// SPDX-License-Identifier: MIT
#include "cli/eval/tune_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/eval/eval.h"
#include "cli/next.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/tune_space.h"
#include "mrrope/catalogue.h"
#include "mrrope/targets.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

using base::Json;

std::size_t measured(const eval::Tuned& tuned) {
  return static_cast<std::size_t>(std::count_if(tuned.candidates.begin(), tuned.candidates.end(),
                                                [](const tune::Candidate& c) { return !c.losses.empty(); }));
}

// ---- For programs --------------------------------------------------------------------------------------------------

Json search_json(const TuneResult& result) {
  const eval::Tuned& tuned = result.tuned;
  const std::vector<std::size_t> front = tune::front(tuned.candidates);
  const auto count = static_cast<std::int64_t>(measured(tuned));
  Json list = Json::array();
  for (std::size_t i = 0; i < tuned.candidates.size(); ++i) {
    const tune::Candidate& c = tuned.candidates[i];
    if (c.losses.empty()) continue;
    const tune::Loss mean = c.mean();
    list.push_back(Json{{"method", c.name()},
                        {"fixed", c.fixed},
                        {"tokens", tuned.tokens / count * (static_cast<std::int64_t>(i) + 1)},
                        {"beyond", mean.beyond},
                        {"within", mean.within},
                        {"objective", tune::preferred(mean, result.options.prefer)},
                        {"front", std::find(front.begin(), front.end(), i) != front.end()}});
  }
  return list;
}

Json verdict_json(const tune::Verdict& verdict) {
  Json list = Json::array();
  for (const tune::Difference& d : verdict.differences) {
    list.push_back(Json{{"against", d.against},
                        {"metric", tune::to_string(d.metric)},
                        {"difference", d.difference},
                        {"low", d.low},
                        {"high", d.high},
                        {"items", d.items},
                        {"better", d.better},
                        {"worse", d.worse}});
  }
  return list;
}

// ---- For people ----------------------------------------------------------------------------------------------------

std::string cell(const tune::Difference& d) {
  const bool nats = d.metric == tune::Metric::answer_nll;
  const bool relative = d.metric == tune::Metric::ppl_long || d.metric == tune::Metric::ppl_short;
  const double unit = nats ? 1 : 100;
  return fmt::format("{:+.{}f} ± {:.{}f}{}{}", unit * d.difference, nats ? 3 : 1, unit * (d.high - d.low) / 2,
                     nats ? 3 : 1, relative ? " %" : "", d.better || d.worse ? " *" : "  ");
}

std::string verdict_table(const eval::Tuned& tuned, const eval::TuneOptions& options) {
  TextTable table({"against", "ppl at " + format_context(options.read_tokens),
                   "within " + format_context(options.context_trained), "-ln p, answers", "points"},
                  1);
  std::vector<std::string> names;
  for (const tune::Difference& d : tuned.verdict.differences) {
    if (d.against == tuned.tuned) continue;  // nothing but itself was found
    if (std::find(names.begin(), names.end(), d.against) == names.end()) names.push_back(d.against);
  }
  for (const std::string& name : names) {
    std::vector<std::string> cells = {name, "-", "-", "-", "-"};
    for (const tune::Difference& d : tuned.verdict.differences) {
      if (d.against == name) cells[1 + static_cast<std::size_t>(d.metric)] = cell(d);
    }
    table.add(cells);
  }
  return table.text();
}

// What the other preferences would take of the tables that were measured, against what was found.
void print_front(const TuneResult& result) {
  const std::vector<tune::Candidate>& all = result.tuned.candidates;
  const std::vector<std::size_t> front = tune::front(all);
  const auto chosen = [&](tune::Prefer prefer) {
    return *std::min_element(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
      return tune::preferred(all[a].mean(), prefer) < tune::preferred(all[b].mean(), prefer);
    });
  };
  const std::size_t here = chosen(result.options.prefer);
  print("front     {} table{} that none beats both within {} and beyond\n", front.size(), front.size() == 1 ? "" : "s",
        format_context(result.options.context_trained));
  for (const tune::Prefer prefer : {tune::Prefer::short_texts, tune::Prefer::balanced, tune::Prefer::long_texts}) {
    const std::size_t there = chosen(prefer);
    if (there == here) continue;
    print("          --prefer {} of these: {:+.3f} nats a token within, {:+.3f} beyond\n", tune::to_string(prefer),
          all[there].mean().within - all[here].mean().within, all[there].mean().beyond - all[here].mean().beyond);
  }
}

// To the file that carries what was found; to a search of what it can carry; to the plug-in where it carries nothing.
void print_next(const TuneResult& result, const ModelFile& file) {
  const std::string model = base::shell_quoted(result.model);
  const std::string trained = result.trained.empty() ? "" : " --trained " + base::shell_quoted(result.trained);
  const Result<Delivery> delivery = deliver("llama.cpp", result.tuned.plan, file);
  if (delivery) {
    print("next      mrrope extend {} --plan {}{} -o longer.gguf\n", model, base::shell_quoted(result.folder), trained);
    return;
  }
  print("{}", wrap("note      " + delivery.error().message, terminal().width - 10, 10) + "\n");
  const std::int64_t target = result.options.context_target;
  const Result<RopeSpec> spec = rope_spec(file);
  if (spec && space_for("llama.cpp", file, *spec, target)) {
    std::string texts;
    for (const std::string& text : result.texts) texts += " -f " + base::shell_quoted(text);
    print("next      mrrope tune {} -c {}{}{} --target llama.cpp -o tuned-llama.cpp\n", model, format_context(target),
          trained, texts);
  } else {
    print("next      {}\n", plug_in_step(file, result.model, result.tuned.plan, result.folder + "/plan.json").command);
  }
}

}  // namespace

std::string tune_json(const TuneResult& result) {
  const eval::Tuned& tuned = result.tuned;
  const eval::TuneOptions& options = result.options;
  return base::write_json(Json{{"schema", tune::kTuneSchema},
                               {"model", result.model},
                               {"model_hash", result.model_hash},
                               {"context_trained", options.context_trained},
                               {"context", options.context_target},
                               {"read_tokens", options.read_tokens},
                               {"prefer", tune::to_string(options.prefer)},
                               {"built_in_texts", result.built_in_texts},
                               {"held_out_texts", tuned.held_out_texts},
                               {"held_out_prompts", tuned.held_out_prompts},
                               {"plan", Json::parse(to_json(tuned.plan))},
                               {"tuned", tuned.tuned},
                               {"label", tuned.label},
                               {"best_fixed", tuned.best_fixed},
                               {"evaluations", measured(tuned)},
                               {"tokens", tuned.tokens},
                               {"search", search_json(result)},
                               {"verdict", verdict_json(tuned.verdict)},
                               {"recommended", tuned.verdict.recommended}});
}

void print_tuned(const TuneResult& result, const ModelFile& file) {
  const eval::Tuned& tuned = result.tuned;
  print("searched  {} tables, {} tokens\n", measured(tuned), tuned.tokens);
  print("found     {}\n", tuned.label == tuned.tuned ? tuned.tuned : tuned.label + ", " + tuned.tuned);
  print_front(result);
  print("verdict   on {} unseen texts and {} unseen prompts:\n\n{}", tuned.held_out_texts, tuned.held_out_prompts,
        verdict_table(tuned, result.options));
  print(
      "What was found, less each of these; negative is better, except in points. ± is half of\n"
      "the 95 % interval; * marks a difference\n\n");
  if (tuned.verdict.recommended == "tuned") {
    print("use       what was found: better than {}, the best of the published methods here\n", tuned.best_fixed);
  } else if (tuned.tuned == tuned.best_fixed) {
    print("use       {}: nothing better was found on the tuning texts\n", tuned.best_fixed);
  } else {
    print("use       {}: what was found is no better on texts it has not seen\n", tuned.best_fixed);
  }
  if (result.built_in_texts) {
    print("note      tuned on built-in prose; -f 'your/texts/*' tunes on what you will read\n");
  }
  print_next(result, file);
  print("          mrrope report {} -o page.html\n", base::shell_quoted(result.folder));
}

}  // namespace mrrope::cli
