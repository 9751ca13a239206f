// SPDX-License-Identifier: MIT
//
// mrrope compare: which plan is better on the same documents or samples, and how sure that is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/run_charts.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"
#include "mrrope/statistics.h"
#include "runs/cache_name.h"
#include "runs/readings.h"
#include "runs/run_files.h"

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

// Pairs of plans, each over all lengths: a table, what it comes to, and the same as JSON.
struct Pairs {
  std::string table;
  std::string sentences;
  Json json = Json::array();
  std::size_t documents = 0;
};

Pairs compare_pairs(const CompareOptions& options, const eval::Readings& readings, const std::vector<PlanPair>& pairs,
                    const std::vector<std::int64_t>& lengths, std::string title) {
  Pairs out;
  std::vector<std::string> header = {std::move(title)};
  for (const std::int64_t length : lengths) header.push_back(format_context(length));
  TextTable table(header, 1);
  for (const auto& [plan, base, name] : pairs) {
    std::vector<std::string> cells = {name};
    std::string found;
    for (const std::int64_t length : lengths) {
      const eval::Comparison c = readings.compare(plan, base, length, options.last);
      out.documents = std::max(out.documents, c.documents);
      cells.push_back(c.cell() + (c.documents == 0 || c.differs ? "" : "  "));  // room for the star of others
      // In words: what long texts gain, and what short ones pay
      if (c.documents > 0 && length == lengths.back()) {
        found = fmt::format("{} at {}{}{}", c.verdict(base.text()), format_context(length), found.empty() ? "" : "; ",
                            found);
      } else if (c.documents > 0 && length == lengths.front()) {
        found = fmt::format("{} at {}", c.verdict(base.text()), format_context(length));
      }
      const auto known = [&c](double value) {
        return c.documents > 0 && std::isfinite(value) ? Json(value) : Json(nullptr);
      };
      out.json.push_back(Json{{"plan", plan.text()},
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
    if (!found.empty()) out.sentences += wrap(name + ": " + found, terminal().width - 2, 2) + "\n";
  }
  out.table = table.text();
  return out;
}

Result<Compared> compare_readings(const CompareOptions& options, const eval::Readings& readings,
                                  const eval::RunInfo& info) {
  std::vector<eval::PlanName> plans;  // that have rows
  std::vector<std::int64_t> lengths;
  const std::vector<eval::PplRow>& rows = readings.rows();
  for (const eval::PplRow& row : rows) {
    if (eval::PlanName plan{row.method, row.factor}; plans.empty() || plans.back() != plan) plans.push_back(plan);
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
  std::vector<PlanPair> others;
  for (const eval::PlanName& plan : plans) {
    if (plan != *base) others.push_back({plan, *base, plan.text()});
  }
  const Pairs against = compare_pairs(options, readings, others, lengths, "PPL against " + base->text());
  json["comparisons"] = against.json;
  std::string text = fmt::format(
      "{}{}{}\n\n{}", against.table,
      against.documents == 1 ? "* a difference; ± 95 %, over stretches of 256 tokens of one document: true of\n"
                               "this text, and maybe of no other"
                             : fmt::format("* a difference; ± 95 %, paired over {} documents", against.documents),
      options.last && lengths.front() <= 2048 ? "\nThe last 2048 tokens; up to 2k that is all of them" : "",
      against.sentences);
  if (const std::vector<PlanPair> caches = cache_pairs(plans); !caches.empty()) {
    const Pairs costs = compare_pairs(options, readings, caches, lengths, "PPL against cache " + own_cache(info));
    json["caches"] = costs.json;
    text += fmt::format("\n{}\n{}", costs.table, costs.sentences);
  }
  return Compared{std::move(json), text + loss_chart(readings, info)};
}

// What is in the folders, read once.
struct Measured {
  eval::RunInfo info;  // of the first
  eval::Readings readings;
  eval::Answers answers;
  std::optional<eval::PlanName> last;  // of the answers
  std::int64_t last_length = 0;
};

Result<void> add_run(const std::string& path, Measured& measured) {
  eval::SeenTexts keys;
  const auto take = [&](eval::Record&& record, std::string_view /*line*/) -> Result<void> {
    if (const eval::Answer* answer = record.answer()) {
      measured.answers.add(record);
      measured.last = eval::PlanName{record.method, record.factor};
      measured.last_length = answer->length;
    } else if (keys.add(record.key)) {
      measured.readings.add(record);
    }
    return {};
  };
  const Result<eval::RecordsEnd> end = eval::read_records(path, take);
  if (!end) return end.error();
  return {};
}

Result<Measured> read_measured(const CompareOptions& options) {
  Measured measured;
  measured.answers = eval::Answers(options.by == "task" ? "" : options.by);
  bool first = true;
  for (const std::string& path : options.runs) {
    const Result<eval::RunInfo> info = eval::read_run_info(path);
    if (!info) return info.error();
    if (std::exchange(first, false)) measured.info = *info;
    if (info->task != measured.info.task || info->model_hash != measured.info.model_hash) {
      return Error{ErrorCode::inconsistent,
                   fmt::format("holds {} of {}, but {} holds {} of {}; only plans are compared", info->task,
                               info->model, options.runs.front(), measured.info.task, measured.info.model),
                   path};
    }
    if (const std::string setting = different_setting(*info, measured.info); !setting.empty()) {
      return Error{ErrorCode::inconsistent,
                   fmt::format("was measured with {} as {}; only plans are compared", setting, options.runs.front()),
                   path};
    }
    if (const auto ok = add_run(path, measured); !ok) return ok.error();
  }
  measured.answers.close();
  measured.readings.close();
  return measured;
}

}  // namespace

std::string own_cache(const eval::RunInfo& info) {
  const auto found = info.settings.find("cache-type-k");
  return found == info.settings.end() ? "of the run" : found->second;
}

std::vector<PlanPair> cache_pairs(const std::vector<eval::PlanName>& plans) {
  std::vector<PlanPair> pairs;
  for (const eval::PlanName& plan : plans) {
    const std::string_view cache = eval::cache_of(plan.method);
    if (cache.empty()) continue;
    const eval::PlanName plain{std::string(eval::without_cache(plan.method)), plan.factor};
    if (std::find(plans.begin(), plans.end(), plain) == plans.end()) continue;
    pairs.push_back({plan, plain, fmt::format("{} under {}", cache, plain.text())});
  }
  return pairs;
}

namespace {

int run_compare(const CompareOptions& options) {
  const Result<Measured> measured = read_measured(options);
  if (!measured) return fail(measured.error());
  const auto& [info, readings, answers, last, last_length] = *measured;
  Json json;
  std::string text;
  if (!readings.plans().empty() || !last) {  // a run of mrrope tune has both kinds
    Result<Compared> compared = compare_readings(options, readings, info);
    if (!compared) return fail(compared.error());
    json = std::move(compared->json);
    text = std::move(compared->text);
  }
  if (last) {
    Result<Compared> compared = compare_answers(options, answers, info);
    if (!compared) return fail(compared.error());
    const bool alone = compared->json["baseline"].is_null();
    text += (text.empty() ? "" : "\n") + compared->text;
    if (alone && readings.plans().empty()) text += another_method(options, info, *last, last_length);
    if (json.is_null()) json = Json{{"schema", "mrrope.compare/1"}, {"baseline", compared->json["baseline"]}};
    json["scores"] = std::move(compared->json["scores"]);
    for (Json& one : compared->json["caches"]) json["caches"].push_back(std::move(one));
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
