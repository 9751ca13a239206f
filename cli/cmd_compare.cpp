// SPDX-License-Identifier: MIT
//
// mrrope compare: which plan is better on the same documents or samples, and how sure that is.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/run_charts.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

Result<eval::PlanName> baseline_of(const CompareOptions& options, const std::vector<eval::PlanName>& plans) {
  if (plans.size() < 2) {
    return Error{ErrorCode::invalid_argument,
                 "there is only one method to look at; measure another into the same folder", options.runs.front()};
  }
  return choose_baseline(plans, options.baseline);
}

namespace {

using base::Json;

Result<Compared> compare_readings(const CompareOptions& options, const std::vector<eval::Record>& records,
                                  const eval::RunInfo& info) {
  std::vector<eval::PlanName> plans;
  std::vector<std::int64_t> lengths;
  for (const eval::PplRow& row : ppl_table(records)) {
    if (std::find(plans.begin(), plans.end(), eval::PlanName{row.method, row.factor}) == plans.end()) {
      plans.push_back({row.method, row.factor});
    }
    lengths.push_back(row.length);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const Result<eval::PlanName> base = baseline_of(options, plans);
  if (!base) return base.error();

  Json json{{"schema", "mrrope.compare/1"}, {"baseline", base->text()}, {"comparisons", Json::array()}};
  std::vector<std::string> header = {"PPL against " + base->text()};
  for (const std::int64_t length : lengths) header.push_back(format_context(length));
  TextTable table(header, 1);
  std::size_t documents = 0;
  std::string sentences;
  for (const eval::PlanName& plan : plans) {
    if (plan == *base) continue;
    std::vector<std::string> cells = {plan.text()};
    std::string found;
    for (const std::int64_t length : lengths) {
      const eval::Comparison c =
          compare_ppl(records, plan.method, plan.factor, base->method, base->factor, length, options.last);
      documents = std::max(documents, c.documents);
      cells.push_back(c.cell() + (c.documents == 0 || c.differs ? "" : "  "));  // room for the star of others
      // In words: what long texts gain, and what short ones pay
      if (c.documents > 0 && length == lengths.back()) {
        found = fmt::format("{} at {}{}{}", c.verdict(), format_context(length), found.empty() ? "" : "; ", found);
      } else if (c.documents > 0 && length == lengths.front()) {
        found = fmt::format("{} at {}", c.verdict(), format_context(length));
      }
      const auto known = [&c](double value) { return c.documents > 0 ? Json(value) : Json(nullptr); };
      json["comparisons"].push_back(Json{{"plan", plan.text()},
                                         {"method", plan.method},
                                         {"factor", plan.factor},
                                         {"length", length},
                                         {"documents", c.documents},
                                         {"ratio", known(c.ratio)},
                                         {"low", known(c.ratio_low)},
                                         {"high", known(c.ratio_high)},
                                         {"differs", c.differs}});
    }
    table.add(cells);
    if (!found.empty()) sentences += wrap(plan.text() + ": " + found, terminal().width - 2, 2) + "\n";
  }
  std::string text =
      fmt::format("{}* a difference; ± half of the 95 % interval, paired over {} document{}{}\n\n{}", table.text(),
                  documents, documents == 1 ? "" : "s",
                  documents == 1 ? " and its stretches of 256 tokens: a verdict about this text only" : "", sentences);
  return Compared{std::move(json), text + loss_chart(records, info)};
}

int run_compare(const CompareOptions& options) {
  std::vector<eval::Record> records;
  std::optional<eval::RunInfo> info;  // of the first
  for (const std::string& path : options.runs) {
    const Result<eval::RunFolder> run = eval::RunFolder::read(path);
    if (!run) return fail(run.error());
    if (!info) info = run->info();
    if (run->info().task != info->task || run->info().model_hash != info->model_hash) {
      return fail({ErrorCode::inconsistent,
                   fmt::format("holds {} of {}, but {} holds {} of {}; only plans are compared", run->info().task,
                               run->info().model, options.runs.front(), info->task, info->model),
                   path});
    }
    if (const std::string setting = different_setting(run->info(), *info); !setting.empty()) {
      return fail({ErrorCode::inconsistent,
                   fmt::format("was measured with {} as {}; only plans are compared", setting, options.runs.front()),
                   path});
    }
    records.insert(records.end(), run->records().begin(), run->records().end());
  }
  // A run of mrrope tune has both kinds
  const auto middle = std::stable_partition(records.begin(), records.end(),
                                            [](const eval::Record& r) { return r.reading() != nullptr; });
  const std::vector<eval::Record> answers(std::make_move_iterator(middle), std::make_move_iterator(records.end()));
  records.erase(middle, records.end());
  Json json;
  std::string text;
  if (!records.empty() || answers.empty()) {
    Result<Compared> compared = compare_readings(options, records, *info);
    if (!compared) return fail(compared.error());
    json = std::move(compared->json);
    text = std::move(compared->text);
  }
  if (!answers.empty()) {
    Result<Compared> compared = compare_answers(options, answers, *info);
    if (!compared) return fail(compared.error());
    text += (text.empty() ? "" : "\n") + compared->text;
    if (json.is_null()) json = Json{{"schema", "mrrope.compare/1"}, {"baseline", compared->json["baseline"]}};
    json["scores"] = std::move(compared->json["scores"]);
    for (Json& one : compared->json["comparisons"]) json["comparisons"].push_back(std::move(one));
  }
  print("{}", options.json ? base::write_json(json) : text);
  return 0;
}

}  // namespace

void add_compare(CLI::App& program, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = program.add_subcommand("compare",
                                             "paired verdicts on measured runs\n"
                                             "\n"
                                             "  mrrope compare run --baseline yarn\n");
  command->add_option("RUN", options->runs, "folders that mrrope eval wrote, of one model and task")->required();
  command->add_option("--baseline", options->baseline, "a method (default: yarn, else none)")->type_name("METHOD");
  command->add_flag("--last", options->last, "perplexity over the last 2048 tokens before each length");
  command->add_flag("--by-task", options->by_task, "scores of every task as well");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &action] { action = [options] { return run_compare(*options); }; });
}

}  // namespace mrrope::cli
