// SPDX-License-Identifier: MIT
//
// Names, keys and shapes after lm_eval 0.4.13: loggers/evaluation_tracker.py, result_schema.py, tasks/ruler.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "files/file.h"
#include "files/output_file.h"
#include "mrrope/export.h"
#include "mrrope/statistics.h"
#include "mrrope/version.h"
#include "runs/line_writer.h"

namespace mrrope::eval {

namespace {

using base::Json;

// One number of the results.
struct Metric {
  std::int64_t length = 0;
  double value = 0;
  double stderr_value = 0;
  std::size_t samples = 0;
};

struct TaskResults {
  std::string name;
  bool answers = false;  // or perplexities
  std::vector<Metric> metrics;
  std::vector<const Record*> records;
};

struct PlanResults {
  std::string method;
  double factor = 1;
  std::vector<TaskResults> tasks;  // in the order of the records
};

std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Records may have names that differ, and are the same as the name of a file.
std::string unused_name(const std::string& name, std::set<std::string>& used) {
  const std::string safe = base::safe_file_name(name);
  std::string free = safe;
  for (int n = 2; !used.insert(free).second; ++n) free = fmt::format("{}-{}", safe, n);
  return free;
}

// datetime.isoformat() with ':' as '-', in UTC.
std::string file_time(std::chrono::system_clock::time_point time) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}-{:02}-{:02}.{:06}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, micros % 1'000'000);
}

std::string model_name(const RunInfo& info, const PlanResults& plan) {
  if (info.served) return plan.method;
  return plan.method == "none" ? info.model + "-none"
                               : fmt::format("{}-{}-x{:g}", info.model, plan.method, plan.factor);
}

// ---- Records by plan and task --------------------------------------------------------------------------------------

// The element that `is` true of; a new one at the end if there is none.
template <class T, class Is>
T& find_or_add(std::vector<T>& list, T fresh, Is is) {
  const auto found = std::find_if(list.begin(), list.end(), is);
  return found != list.end() ? *found : list.emplace_back(std::move(fresh));
}

std::vector<PlanResults> results_of(std::span<const Record> records) {
  std::vector<PlanResults> plans;
  std::set<std::tuple<std::string_view, std::string_view, double, std::int64_t, std::string_view>> seen;
  for (const Record& r : records) {
    // A prompt that was asked twice counts once, in the table as in the samples
    const Answer* answer = r.answer();
    if (answer != nullptr && !seen.emplace(r.task, r.method, r.factor, answer->length, r.document_hash).second)
      continue;
    PlanResults& plan = find_or_add(plans, {.method = r.method, .factor = r.factor, .tasks = {}},
                                    [&](const PlanResults& p) { return p.method == r.method && p.factor == r.factor; });
    find_or_add(plan.tasks, {.name = r.task, .answers = answer != nullptr, .metrics = {}, .records = {}},
                [&](const TaskResults& t) { return t.name == r.task; })
        .records.push_back(&r);
  }
  const std::vector<ScoreRow> scores = score_table(records);
  const std::vector<PplRow> perplexities = ppl_table(records);
  for (PlanResults& plan : plans) {
    for (TaskResults& task : plan.tasks) {
      for (const ScoreRow& s : scores) {
        if (s.task != task.name || s.method != plan.method || s.factor != plan.factor) continue;
        task.metrics.push_back({s.length, s.score, s.stderr_score, s.samples});
      }
      for (const PplRow& p : perplexities) {
        if (task.answers || p.method != plan.method || p.factor != plan.factor) continue;
        task.metrics.push_back({p.length, p.ppl, p.stderr_ppl, p.documents});
      }
    }
  }
  return plans;
}

// ---- results_*.json ------------------------------------------------------------------------------------------------

// {"name": …, "4096,none": 0.97, "4096_stderr,none": 0.01}
Json metrics_json(const std::string& name, std::size_t records, const std::vector<Metric>& metrics) {
  Json json{{"name", name}, {"alias", name}, {"sample_len", records}};
  for (const Metric& m : metrics) {
    json[fmt::format("{},none", m.length)] = m.value;
    const bool known = m.samples > 1 && std::isfinite(m.stderr_value);
    json[fmt::format("{}_stderr,none", m.length)] = known ? Json(m.stderr_value) : Json("N/A");
  }
  return json;
}

Json config_json(const TaskResults& task, const std::string& group, const std::string& version) {
  Json lengths = Json::array();
  Json metrics = Json::array();
  for (const Metric& m : task.metrics) {
    lengths.push_back(m.length);
    metrics.push_back(
        Json{{"metric", std::to_string(m.length)}, {"aggregation", "mean"}, {"higher_is_better", task.answers}});
  }
  return Json{{"task", task.name},
              {"group", group},
              {"output_type", task.answers ? "generate_until" : "loglikelihood_rolling"},
              {"metric_list", metrics},
              {"repeats", 1},
              {"num_fewshot", 0},
              {"metadata", {{"version", version}, {"generator", "mrrope " + version}, {"max_seq_lengths", lengths}}}};
}

// The mean over tasks, at lengths that all of them have.
std::vector<Metric> group_metrics(const PlanResults& plan, std::span<const MeanScoreRow> means) {
  std::vector<Metric> metrics;
  for (const MeanScoreRow& m : means) {
    if (m.method != plan.method || m.factor != plan.factor || m.tasks != plan.tasks.size()) continue;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (const TaskResults& task : plan.tasks) {
      for (const Metric& t : task.metrics) fewest = t.length == m.length ? std::min(fewest, t.samples) : fewest;
    }
    metrics.push_back({m.length, m.score, m.stderr_score, fewest});
  }
  return metrics;
}

Json results_json(const RunInfo& info, const PlanResults& plan, std::span<const MeanScoreRow> means, double unix_time) {
  const std::string version = info.version.empty() ? MRROPE_VERSION : info.version;
  const std::string name = model_name(info, plan);
  Json json;
  for (const char* key :
       {"results", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples"}) {
    json[key] = Json::object();
  }
  std::size_t records = 0;
  double seconds = 0;
  Json hashes = Json::object();
  Json names = Json::array();
  std::int64_t longest = 0;
  for (const TaskResults& task : plan.tasks) {
    names.push_back(task.name);
    records += task.records.size();
    std::string samples;
    for (const Record* r : task.records) {
      seconds += r->seconds;
      samples += r->document_hash;
    }
    hashes[task.name] = content_hash(samples);
    json["results"][task.name] = metrics_json(task.name, task.records.size(), task.metrics);
    json["configs"][task.name] = config_json(task, info.task, version);
    json["versions"][task.name] = version;
    json["n-shot"][task.name] = 0;
    json["n-samples"][task.name] = {{"original", task.records.size()}, {"effective", task.records.size()}};
    for (const Metric& m : task.metrics) {
      json["higher_is_better"][task.name][std::to_string(m.length)] = task.answers;
      longest = std::max(longest, m.length);
    }
  }
  if (plan.tasks.size() > 1) {
    const std::vector<Metric> metrics = group_metrics(plan, means);
    json["results"][info.task] = metrics_json(info.task, records, metrics);
    json["groups"][info.task] = json["results"][info.task];
    json["group_subtasks"][info.task] = names;
    json["versions"][info.task] = version;
    json["n-shot"][info.task] = 0;
    for (const Metric& m : metrics) json["higher_is_better"][info.task][std::to_string(m.length)] = true;
  }
  json["config"] = {{"model", info.engine},
                    {"model_args",
                     {{"pretrained", info.served ? plan.method : info.model},
                      {"rope_method", plan.method},
                      {"rope_scale", plan.factor}}},
                    {"batch_size", nullptr},
                    {"batch_sizes", Json::array()},
                    {"device", nullptr},
                    {"use_cache", nullptr},
                    {"limit", nullptr},
                    {"bootstrap_iters", 0},
                    {"gen_kwargs", nullptr},
                    {"mrrope",
                     {{"version", version},
                      {"model_hash", info.model_hash},
                      {"settings", info.settings},
                      {"command", info.command}}}};
  json["git_hash"] = nullptr;
  json["date"] = unix_time;
  json["pretty_env_info"] = info.machine;
  json["lm_eval_version"] = "mrrope " + version;
  json["upper_git_hash"] = nullptr;
  json["max_length"] = longest;
  json["task_hashes"] = hashes;
  json["model_source"] = info.engine;
  json["model_name"] = name;
  json["model_name_sanitized"] = base::safe_file_name(name);
  json["system_instruction"] = nullptr;
  json["system_instruction_sha"] = nullptr;
  json["fewshot_as_multiturn"] = nullptr;
  json["chat_template"] = nullptr;
  json["chat_template_sha"] = nullptr;
  json["total_evaluation_time_seconds"] = fmt::format("{}", seconds);
  return json;
}

// ---- samples_*.jsonl -----------------------------------------------------------------------------------------------

// Every line of a file has the same keys of the same kinds: readers build a table from them.
Json sample_json(const TaskResults& task, const Record& record, std::size_t number) {
  Json doc{{"document", record.document}};
  Json references = Json::array();
  std::string response;
  Json metrics = Json::array();
  Json values = Json::object();
  for (const Metric& m : task.metrics) {
    metrics.push_back(std::to_string(m.length));
    values[std::to_string(m.length)] = -1.0;
  }
  if (const Answer* answer = record.answer()) {
    const Answer& a = *answer;
    references = a.references;
    response = a.text;
    doc.update({{"index", a.index},
                {"outputs", references},
                {"length", a.prompt_tokens},
                {"max_length", a.length},
                {"depth", a.depth},
                {"new_tokens", a.new_tokens},
                {"finish", a.finish}});
    values[std::to_string(a.length)] = a.score;
    for (const auto& [rule, value] : a.others) {
      metrics.push_back(rule);
      values[rule] = value;
    }
  } else {
    for (const Reading::Point& p : record.reading()->points) {
      if (p.predicted <= 0) continue;
      values[std::to_string(p.length)] = std::exp(p.nll / static_cast<double>(p.predicted));
      response = fmt::format("{}", -p.nll);
    }
  }
  const std::string target = record.answer() != nullptr ? text_of(references) : "";
  Json json{{"doc_id", number},
            {"doc", doc},
            {"target", target},
            {"arguments", {{"gen_args_0", {{"arg_0", ""}}}}},
            {"resps", Json::array({Json::array({response})})},
            {"filtered_resps", Json::array({response})},
            {"filter", "none"},
            {"metrics", metrics},
            {"doc_hash", content_hash(text_of(doc))},
            {"prompt_hash", record.document_hash},
            {"target_hash", content_hash(target)}};
  json.update(values);
  return json;
}

Result<void> write_samples(const std::string& path, const TaskResults& task) {
  Result<base::PendingFile> file = base::PendingFile::create(path, false);
  if (!file) return file.error();
  LineWriter lines(file->file());
  for (std::size_t i = 0; i < task.records.size(); ++i) {
    if (const auto ok = lines.line(text_of(sample_json(task, *task.records[i], i))); !ok) return ok.error();
  }
  if (const auto ok = lines.flush(); !ok) return ok.error();
  return file->commit();
}

}  // namespace

Result<std::vector<std::string>> export_lm_eval(const RunInfo& info, std::span<const Record> records,
                                                const std::string& folder, std::chrono::system_clock::time_point time) {
  if (records.empty()) return Error{ErrorCode::invalid_argument, "there are no records to export", folder};
  const std::string stamp = file_time(time);
  const double unix_time = std::chrono::duration<double>(time.time_since_epoch()).count();
  const std::vector<MeanScoreRow> means = mean_scores(score_table(records));
  std::vector<std::string> files;
  std::set<std::string> folders;
  for (const PlanResults& plan : results_of(records)) {
    const std::string place = folder + "/" + unused_name(model_name(info, plan), folders);
    std::error_code status;
    std::filesystem::create_directories(place, status);
    if (status) return base::os_error("make the folder", place, status.value());
    std::set<std::string> tasks;
    for (const TaskResults& task : plan.tasks) {
      files.push_back(fmt::format("{}/samples_{}_{}.jsonl", place, unused_name(task.name, tasks), stamp));
      if (const auto ok = write_samples(files.back(), task); !ok) return ok.error();
    }
    files.push_back(fmt::format("{}/results_{}.json", place, stamp));
    const std::string text = text_of(results_json(info, plan, means, unix_time), 2) + "\n";
    if (const auto ok = base::write_file(files.back(), text, false); !ok) return ok.error();
  }
  return files;
}

}  // namespace mrrope::eval
