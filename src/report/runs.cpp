// SPDX-License-Identifier: MIT
#include "report/runs.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "base/paths.h"
#include "files/file.h"
#include "report/html.h"
#include "runs/run_files.h"

namespace mrrope::report {

namespace {

constexpr std::uint64_t kMaxPlanFile = std::uint64_t{16} << 20;

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
    const Result<eval::RecordsEnd> end =
        eval::read_records(path, [this](eval::Record&& record, std::string_view /*line*/) { return take(record); });
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

  // Domain: no record yet.
  void tell_apart() {
    for (const PublishedFile& file : runs_.published) {
      for (const PublishedValue& value : file.values) {
        if (!value.labels.empty() && runs_.label.empty()) runs_.label = value.labels.begin()->first;
      }
    }
    runs_.answers = eval::Answers(runs_.label);
  }

  Runs finish() && {
    runs_.answers.close();
    runs_.passes.close();
    runs_.gaps.close();
    return std::move(runs_);
  }

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
  Result<void> take(eval::Record& record) {
    make_printable(record.method);
    make_printable(record.task);
    if (const eval::Answer* answer = record.answer()) {
      const auto [fresh, plan] = runs_.answers.add(record);
      if (!fresh) return {};
      if (plan == runs_.rotations.size()) runs_.rotations.push_back(answer->rotation);
      if (runs_.rotations[plan] != answer->rotation) runs_.rotations[plan].clear();
    } else {
      if (!keys_.add(record.key)) return {};
      (record.task == "gap" ? runs_.gaps : runs_.passes).add(record);
      if (texts_.add(record.document + '\0' + record.document_hash) && ++runs_.all_texts <= kMostTexts) {
        runs_.texts.push_back({record.document, record.document_hash});
      }
    }
    ++runs_.records;
    ++runs_.sources.back().records;
    return {};
  }

  // There are few names, and many records of each.
  void make_printable(std::string& name) {
    const auto found = names_.find(name);
    if (found != names_.end()) name = found->second;
    else name = names_.emplace(name, printable(name)).first->second;
  }

  Runs runs_;
  eval::SeenTexts keys_, texts_;  // of readings
  std::unordered_map<std::string, std::string> names_;
};

}  // namespace

std::int64_t Runs::context_trained() const {
  for (const RunSource& source : sources) {
    if (source.info.context_trained > 0) return source.info.context_trained;
  }
  return plans.empty() ? 0 : plans.front().spec.context_trained;
}

Result<Runs> read_runs(std::span<const std::string> paths) {
  Reader reader;
  for (const bool folders : {false, true}) {  // published values say by which label answers are told apart
    for (const std::string& path : paths) {
      std::error_code status;
      if (std::filesystem::is_directory(base::to_path(path), status) != folders) continue;
      if (const auto ok = folders ? reader.folder(path) : reader.plan(path); !ok) return ok.error();
    }
    if (!folders) reader.tell_apart();
  }
  Runs runs = std::move(reader).finish();
  if (runs.records == 0 && runs.plans.empty()) {  // attention alone says nothing of the model
    return Error{ErrorCode::invalid_argument, "no records yet; mrrope eval writes some",
                 paths.empty() ? "" : paths.front()};
  }
  return runs;
}

std::vector<eval::PlanName> plans_of(const Runs& runs) {
  eval::PlanNumbers plans;
  for (const auto* some : {&runs.passes.plans(), &runs.gaps.plans(), &runs.answers.plans()}) {
    for (const eval::PlanName& plan : *some) plans(plan);
  }
  for (const Plan& plan : runs.plans) plans(eval::PlanName{spell(plan.method), plan.factor});
  for (const AttentionFile& file : runs.attention) {
    for (const AttentionFile::Curve& curve : file.curves) plans(curve.plan);
  }
  return plans.names();
}

}  // namespace mrrope::report
