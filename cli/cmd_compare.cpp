// SPDX-License-Identifier: MIT
//
// mrrope compare: which plan is better on the same documents or samples, and how sure that is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/text.h"
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

// The command that measured the only plan, with other methods: what is there is not measured again.
std::string another_method(const CompareOptions& options, const eval::RunInfo& info, const eval::PlanName& plan,
                           std::int64_t longest) {
  if (info.served) {
    return fmt::format(
        "One plan only. Serve the model under another and ask it with the same command and\n"
        "another --label, into {}\n",
        base::shell_quoted(options.runs.front()));
  }
  const std::string others = plan.method == "none"   ? "yarn,mrrope-pro"
                             : plan.method == "yarn" ? "none,mrrope-pro"
                                                     : "none,yarn";
  std::string command = "mrrope eval";
  bool methods = false;
  bool factor = false;
  for (std::size_t i = 1; i < info.command.size(); ++i) {
    std::string word = info.command[i];
    if (i > 1 && info.command[i - 1] == "--methods") word = others;
    if (word.starts_with("--methods=")) word = "--methods=" + others;
    methods = methods || word.starts_with("--methods");
    factor = factor || word.starts_with("--factor");
    command += " " + base::shell_quoted(word);
  }
  if (info.command.size() < 2) command += fmt::format(" … -o {}", base::shell_quoted(options.runs.front()));
  if (!methods) command += " --methods " + others;
  if (!factor && info.context_trained > 0) {
    command += fmt::format(" --factor {}",
                           std::max<std::int64_t>(2, (longest + info.context_trained - 1) / info.context_trained));
  }
  return fmt::format("One method only: nothing to compare it with yet\nnext      {}\n", command);
}

Json perplexities(const std::vector<eval::PplRow>& rows) {
  Json out = Json::array();
  for (const eval::PplRow& row : rows) {
    out.push_back(Json{{"plan", eval::PlanName{row.method, row.factor}.text()},
                       {"length", row.length},
                       {"ppl", row.ppl},
                       {"last_2k_ppl", row.last_ppl ? Json(*row.last_ppl) : Json(nullptr)},
                       {"documents", row.documents}});
  }
  return out;
}

// What there is to say of a single plan. Domain: rows are of one, and there are some.
Compared one_reading(const CompareOptions& options, const std::vector<eval::PplRow>& rows, const eval::RunInfo& info) {
  const eval::PlanName plan{rows.front().method, rows.front().factor};
  std::vector<std::string> header = {"PPL"};
  std::vector<std::string> cells = {plan.text()};
  std::size_t documents = 0;
  for (const eval::PplRow& row : rows) {
    header.push_back(format_context(row.length));
    cells.push_back(fmt::format("{:.3f}", options.last ? row.last_ppl.value_or(row.ppl) : row.ppl));
    documents = std::max(documents, row.documents);
  }
  TextTable table(header, 1);
  table.add(cells);
  return {Json{{"schema", "mrrope.compare/1"},
               {"baseline", nullptr},
               {"perplexities", perplexities(rows)},
               {"comparisons", Json::array()}},
          fmt::format("{}Over {} document{}{}\n", table.text(), documents, documents == 1 ? "" : "s",
                      options.last ? "; the last 2048 tokens before each length beyond 2k" : "") +
              another_method(options, info, plan, rows.back().length)};
}

Result<Compared> compare_readings(const CompareOptions& options, const std::vector<eval::Record>& records,
                                  const eval::RunInfo& info) {
  std::vector<eval::PlanName> plans;
  std::vector<std::int64_t> lengths;
  const std::vector<eval::PplRow> rows = ppl_table(records);
  for (const eval::PplRow& row : rows) {
    if (std::find(plans.begin(), plans.end(), eval::PlanName{row.method, row.factor}) == plans.end()) {
      plans.push_back({row.method, row.factor});
    }
    lengths.push_back(row.length);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (plans.empty()) {
    return Error{ErrorCode::invalid_argument, "no records yet; mrrope eval … -o FOLDER writes some",
                 options.runs.front()};
  }
  const Result<eval::PlanName> base = choose_baseline(plans, options.baseline);
  if (!base) return base.error();
  if (plans.size() == 1) return one_reading(options, rows, info);

  Json json{{"schema", "mrrope.compare/1"},
            {"baseline", base->text()},
            {"perplexities", perplexities(rows)},
            {"comparisons", Json::array()}};
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
        found = fmt::format("{} at {}{}{}", c.verdict(base->text()), format_context(length), found.empty() ? "" : "; ",
                            found);
      } else if (c.documents > 0 && length == lengths.front()) {
        found = fmt::format("{} at {}", c.verdict(base->text()), format_context(length));
      }
      const auto known = [&c](double value) {
        return c.documents > 0 && std::isfinite(value) ? Json(value) : Json(nullptr);
      };
      json["comparisons"].push_back(Json{{"plan", plan.text()},
                                         {"method", plan.method},
                                         {"factor", plan.factor},
                                         {"length", length},
                                         {"documents", c.documents},
                                         {"ratio", known(c.ratio)},
                                         {"low", known(c.ratio_low)},
                                         {"high", known(c.ratio_high)},
                                         {"too_few", c.too_few()},
                                         {"differs", c.differs}});
    }
    table.add(cells);
    if (!found.empty()) sentences += wrap(plan.text() + ": " + found, terminal().width - 2, 2) + "\n";
  }
  std::string text = fmt::format(
      "{}{}{}\n\n{}", table.text(),
      documents == 1 ? "* a difference; ± 95 %, over stretches of 256 tokens of one document: true of\n"
                       "this text, and maybe of no other"
                     : fmt::format("* a difference; ± 95 %, paired over {} documents", documents),
      options.last && lengths.front() <= 2048 ? "\nThe last 2048 tokens; up to 2k that is all of them" : "", sentences);
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
  std::vector<eval::Record> answers(std::make_move_iterator(middle), std::make_move_iterator(records.end()));
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
    const eval::Record last = answers.back();
    Result<Compared> compared = compare_answers(options, std::move(answers), *info);
    if (!compared) return fail(compared.error());
    const bool alone = compared->json["baseline"].is_null();
    text += (text.empty() ? "" : "\n") + compared->text;
    if (alone && records.empty()) {
      text += another_method(options, *info, {last.method, last.factor}, last.answer()->length);
    }
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
  command->add_flag("--last", options->last, "perplexity of the last 2048 tokens before each length");
  command
      ->add_option("--by", options->by,
                   "scores by task as well, or by a label of the items:\ndomain, difficulty, length, …")
      ->type_name("LABEL");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &action] { action = [options] { return run_compare(*options); }; });
}

}  // namespace mrrope::cli
