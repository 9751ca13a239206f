// SPDX-License-Identifier: MIT
#include "report/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "files/file.h"
#include "report/html.h"
#include "runs/run_files.h"

namespace mrrope::report {

namespace {

constexpr std::uint64_t kMaxPlanFile = std::uint64_t{16} << 20;

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

template <class T>
std::size_t place_of(std::vector<T>& list, const T& thing) {
  const auto found = std::find(list.begin(), list.end(), thing);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(thing);
  return list.size() - 1;
}

class Reader {
 public:
  Result<void> folder(const std::string& path) {
    const Result<eval::RunInfo> info = eval::read_run_info(path);
    if (!info) return info.error();
    if (!runs_.sources.empty() && info->model_hash != runs_.sources.front().info.model_hash) {
      const RunSource& first = runs_.sources.front();
      return Error{ErrorCode::inconsistent,
                   fmt::format("holds {} of {}, but {} holds {} of {}; one page is about one model", info->task,
                               info->model, first.path, first.info.task, first.info.model),
                   path};
    }
    for (const RunSource& source : runs_.sources) {
      const std::string setting = different_setting(*info, source.info);
      if (setting.empty()) continue;
      return Error{
          ErrorCode::inconsistent,
          fmt::format("was measured with {} as {}; one page is about one way of measuring", setting, source.path),
          path};
    }
    runs_.sources.push_back({path, *info});
    if (const auto ok = tune(path); !ok) return ok.error();
    const Result<eval::RecordsEnd> end = eval::read_records(
        path, [this](eval::Record&& record, std::string_view /*line*/) { return take(std::move(record)); });
    if (!end) return end.error();
    if (end->torn) runs_.torn.push_back(path);
    return {};
  }

  Result<void> plan(const std::string& path) {
    const Result<std::string> text = base::read_file(path, kMaxPlanFile);
    if (!text) return text.error();
    const Result<base::Json> json = base::parse_json(*text);
    if (json && is_published(*json)) {
      Result<PublishedFile> published = read_published(*json);
      if (!published) return Error{published.error().code, to_string(published.error()), path};
      runs_.published.push_back(*std::move(published));
      return {};
    }
    if (json && json->is_object() && json->value("schema", base::Json()) == "mrrope.attention/1") {
      Result<AttentionFile> attention = read_attention(*json);
      if (!attention) return Error{attention.error().code, to_string(attention.error()), path};
      runs_.attention.push_back(*std::move(attention));
      return {};
    }
    Result<Plan> plan = plan_from_json(*text);
    if (!plan) return Error{plan.error().code, to_string(plan.error()), path};
    runs_.plans.push_back(*std::move(plan));
    return {};
  }

  Runs finish() && { return std::move(runs_); }

 private:
  Result<void> tune(const std::string& folder) {
    Result<std::optional<TuneFile>> tune = read_tune(folder);
    if (!tune) return tune.error();
    if (!*tune) return {};
    if ((*tune)->model_hash != runs_.sources.back().info.model_hash) {
      return Error{ErrorCode::inconsistent, "model_hash: expected the one of run.json; this is about another model",
                   folder + "/tune.json"};
    }
    runs_.tunes.push_back(**std::move(tune));
    return {};
  }

  // Once: a record of two runs, and an answer to the same sample that another command asked for.
  Result<void> take(eval::Record&& record) {
    const eval::Answer* answer = record.answer();
    const std::string identity = answer != nullptr ? fmt::format("{}\n{}\n{}\n{}\n{}", record.task, record.method,
                                                                 record.factor, answer->length, record.document_hash)
                                                   : record.key;
    if (!seen_.insert(hash_of(identity)).second) return {};
    return add_record(runs_, std::move(record));
  }

  Runs runs_;
  std::unordered_set<std::uint64_t> seen_;
};

// A sample is known by its task and its prompt; one that was measured twice counts as it was first. Without those whose
// value is not known.
std::vector<eval::ScorePair> paired(const Runs& runs, const eval::PlanName& a, const eval::PlanName& b,
                                    std::int64_t length, double Score::*value) {
  const auto index = [&](const eval::PlanName& plan) {
    return std::find(runs.scored_plans.begin(), runs.scored_plans.end(), plan) - runs.scored_plans.begin();
  };
  const auto plan_a = index(a);
  const auto plan_b = index(b);
  std::unordered_map<std::uint64_t, double> of_a;
  const auto sample = [](const Score& s) { return s.sample * 31 + s.task; };
  for (const Score& s : runs.scores) {
    if (s.plan == plan_a && s.length == length && !std::isnan(s.*value)) of_a.emplace(sample(s), s.*value);
  }
  std::vector<eval::ScorePair> pairs;
  for (const Score& s : runs.scores) {
    if (s.plan != plan_b || s.length != length || std::isnan(s.*value)) continue;
    const auto found = of_a.find(sample(s));
    if (found == of_a.end()) continue;
    pairs.push_back({found->second, s.*value});
    of_a.erase(found);
  }
  return pairs;
}

}  // namespace

Result<void> add_record(Runs& runs, eval::Record record) {
  record.method = printable(record.method);
  record.task = printable(record.task);
  ++runs.records;
  ++runs.sources.back().records;
  if (record.reading() != nullptr) {
    (record.task == "gap" ? runs.gaps : runs.passes).push_back(std::move(record));
    return {};
  }
  const std::size_t task = place_of(runs.tasks, record.task);
  const std::size_t plan = place_of(runs.scored_plans, eval::PlanName{record.method, record.factor});
  if (std::max(task, plan) > std::numeric_limits<std::uint16_t>::max()) {
    return Error{ErrorCode::unsupported, "more than 65536 tasks or plans in one page", runs.sources.back().path};
  }
  const eval::Answer& answer = *record.answer();
  if (plan == runs.rotations.size()) runs.rotations.push_back(answer.rotation);
  if (runs.rotations[plan] != answer.rotation) runs.rotations[plan].clear();
  runs.scores.push_back({.sample = hash_of(record.document_hash),
                         .length = answer.length,
                         .score = answer.score,
                         .nll = eval::nll_per_token(answer).value_or(std::numeric_limits<double>::quiet_NaN()),
                         .depth = static_cast<float>(answer.depth),
                         .asked_depth = static_cast<float>(answer.asked_depth),
                         .task = static_cast<std::uint16_t>(task),
                         .plan = static_cast<std::uint16_t>(plan),
                         .cut = answer.finish == "length",
                         .empty = eval::is_empty(answer)});
  return {};
}

std::int64_t Runs::context_trained() const {
  for (const RunSource& source : sources) {
    if (source.info.context_trained > 0) return source.info.context_trained;
  }
  return plans.empty() ? 0 : plans.front().spec.context_trained;
}

Result<Runs> read_runs(std::span<const std::string> paths) {
  Reader reader;
  for (const std::string& path : paths) {
    std::error_code status;
    if (const auto ok = std::filesystem::is_directory(path, status) ? reader.folder(path) : reader.plan(path); !ok) {
      return ok.error();
    }
  }
  Runs runs = std::move(reader).finish();
  if (runs.records == 0 && runs.plans.empty()) {  // attention alone says nothing of the model
    return Error{ErrorCode::invalid_argument, "no records yet; mrrope eval … -o FOLDER writes some",
                 paths.empty() ? "" : paths.front()};
  }
  return runs;
}

std::vector<eval::PlanName> plans_of(std::span<const eval::Record> records) {
  std::vector<eval::PlanName> plans;
  for (const eval::Record& record : records) place_of(plans, eval::PlanName{record.method, record.factor});
  return plans;
}

std::vector<eval::PlanName> plans_of(const Runs& runs) {
  std::vector<eval::PlanName> plans = plans_of(runs.passes);
  for (const eval::PlanName& plan : plans_of(runs.gaps)) place_of(plans, plan);
  for (const eval::PlanName& plan : runs.scored_plans) place_of(plans, plan);
  for (const Plan& plan : runs.plans) place_of(plans, eval::PlanName{spell(plan.method), plan.factor});
  for (const AttentionFile& file : runs.attention) {
    for (const AttentionFile::Curve& curve : file.curves) place_of(plans, curve.plan);
  }
  return plans;
}

std::vector<eval::ScoreRow> score_rows(const Runs& runs) {
  eval::ScoreTable table;
  for (const Score& s : runs.scores) {
    const eval::PlanName& plan = runs.scored_plans[s.plan];
    table.add({.task = runs.tasks[s.task],
               .method = plan.method,
               .factor = plan.factor,
               .length = s.length,
               .score = s.score,
               .nll = std::isnan(s.nll) ? std::nullopt : std::optional(s.nll),
               .cut = s.cut,
               .empty = s.empty});
  }
  return table.rows();
}

eval::ScoreComparison compare_plans(const Runs& runs, const eval::PlanName& a, const eval::PlanName& b,
                                    std::int64_t length) {
  eval::ScoreComparison out = compare_scores(paired(runs, a, b, length, &Score::score));
  out.length = length;
  return out;
}

eval::NllComparison compare_plans_nll(const Runs& runs, const eval::PlanName& a, const eval::PlanName& b,
                                      std::int64_t length) {
  eval::NllComparison out = compare_nll(paired(runs, a, b, length, &Score::nll));
  out.length = length;
  return out;
}

}  // namespace mrrope::report
