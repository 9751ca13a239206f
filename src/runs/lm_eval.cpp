// SPDX-License-Identifier: MIT
//
// Names, keys and shapes after lm_eval 0.4.13: loggers/evaluation_tracker.py, result_schema.py, tasks/ruler.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "base/paths.h"
#include "files/file.h"
#include "files/links.h"
#include "files/output_file.h"
#include "mrrope/answers.h"
#include "mrrope/export.h"
#include "mrrope/statistics.h"
#include "mrrope/version.h"
#include "runs/hasher.h"
#include "runs/line_writer.h"
#include "runs/lm_eval_samples.h"
#include "runs/readings.h"
#include "runs/run_files.h"

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
  std::size_t records = 0;
  double seconds = 0;
  Hasher prompts;
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
  using std::chrono::microseconds;
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<microseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}-{:02}-{:02}.{:06}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::string model_name(const RunInfo& info, const PlanResults& plan) {
  if (info.served) return plan.method;
  return plan.method == "none" ? info.model + "-none"
                               : fmt::format("{}-{}-x{:g}", info.model, plan.method, plan.factor);
}

// ---- Records by plan and task --------------------------------------------------------------------------------------

PlanResults* find_plan(std::vector<PlanResults>& plans, const Record& r) {
  const auto found = std::find_if(plans.begin(), plans.end(),
                                  [&](const PlanResults& p) { return p.method == r.method && p.factor == r.factor; });
  return found != plans.end() ? &*found : nullptr;
}

TaskResults* find_task(PlanResults& plan, const Record& r) {
  const auto found =
      std::find_if(plan.tasks.begin(), plan.tasks.end(), [&](const TaskResults& t) { return t.name == r.task; });
  return found != plan.tasks.end() ? &*found : nullptr;
}

// What is known of a run when it was read once.
struct Survey {
  std::vector<PlanResults> plans;
  std::vector<MeanScoreRow> means;
  // By record: a prompt that was asked twice counts once, in the table as in the samples, and so does a text's key.
  std::vector<bool> left_out;
};

void add_metrics(Survey& survey, const std::vector<ScoreRow>& scores, const std::vector<PplRow>& perplexities) {
  for (PlanResults& plan : survey.plans) {
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
}

Result<Survey> survey_of(const std::string& run) {
  Survey survey;
  Answers answers;
  Readings readings;
  SeenTexts keys;  // of readings
  const auto take = [&](Record&& r, std::string_view /*line*/) -> Result<void> {
    const bool is_answer = r.answer() != nullptr;
    survey.left_out.push_back(is_answer ? !answers.add(r).fresh : !keys.add(r.key));
    if (survey.left_out.back()) return {};
    PlanResults* plan = find_plan(survey.plans, r);
    if (plan == nullptr) {
      plan = &survey.plans.emplace_back(PlanResults{.method = r.method, .factor = r.factor, .tasks = {}});
    }
    TaskResults* task = find_task(*plan, r);
    if (task == nullptr) {
      task = &plan->tasks.emplace_back();
      task->name = r.task;
      task->answers = is_answer;
    }
    ++task->records;
    task->seconds += r.seconds;
    task->prompts.add(r.document_hash);
    if (!is_answer) readings.add(r);
    return {};
  };
  const Result<RecordsEnd> end = read_records(run, take);
  if (!end) return end.error();
  answers.close();
  readings.close();
  const std::vector<ScoreRow> scores = answers.rows();
  survey.means = mean_scores(scores);
  add_metrics(survey, scores, readings.rows());
  return survey;
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
    records += task.records;
    seconds += task.seconds;
    hashes[task.name] = task.prompts.digest();
    json["results"][task.name] = metrics_json(task.name, task.records, task.metrics);
    json["configs"][task.name] = config_json(task, info.task, version);
    json["versions"][task.name] = version;
    json["n-shot"][task.name] = 0;
    json["n-samples"][task.name] = {{"original", task.records}, {"effective", task.records}};
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

// Of one plan and task, under way.
class Samples {
 public:
  static Result<std::unique_ptr<Samples>> create(const std::string& path, const TaskResults& task) {
    Result<base::PendingFile> file = base::PendingFile::create(path, false);
    if (!file) return file.error();
    return std::make_unique<Samples>(*std::move(file), task);
  }
  Samples(base::PendingFile file, const TaskResults& task)
      : task_(task), file_(std::move(file)), writer_(file_.file()), lines_(lengths_of(task)) {}

  // Not more than were counted: what another process appends meanwhile is not in the results, either.
  [[nodiscard]] Result<void> add(const Record& record) {
    return written_++ < task_.records ? writer_.line(lines_.line(record)) : Result<void>();
  }
  [[nodiscard]] Result<void> commit() {
    if (const auto ok = writer_.flush(); !ok) return ok.error();
    return file_.commit();
  }

 private:
  static std::vector<std::int64_t> lengths_of(const TaskResults& task) {
    std::vector<std::int64_t> lengths;
    for (const Metric& m : task.metrics) lengths.push_back(m.length);
    return lengths;
  }

  const TaskResults& task_;
  base::PendingFile file_;
  LineWriter writer_;
  SampleLines lines_;
  std::size_t written_ = 0;
};

// The run is read again for every so many files: they are open together.
constexpr std::size_t kOpen = 48;

Result<void> write_samples(const std::string& run, Survey& survey,
                           std::span<const std::pair<std::string, const TaskResults*>> files) {
  std::unordered_map<const TaskResults*, std::unique_ptr<Samples>> open;
  for (const auto& [path, task] : files) {
    Result<std::unique_ptr<Samples>> samples = Samples::create(path, *task);
    if (!samples) return samples.error();
    open.emplace(task, *std::move(samples));
  }
  std::size_t number = 0;
  const auto take = [&](const Record& record, std::string_view /*line*/) -> Result<void> {
    const std::size_t here = number++;
    if (here >= survey.left_out.size() || survey.left_out[here]) return {};
    PlanResults* plan = find_plan(survey.plans, record);
    const TaskResults* task = plan != nullptr ? find_task(*plan, record) : nullptr;
    const auto samples = open.find(task);
    return samples != open.end() ? samples->second->add(record) : Result<void>();
  };
  if (const Result<RecordsEnd> end = read_records(run, take); !end) return end.error();
  for (const auto& [path, task] : files) {
    if (const auto ok = open.at(task)->commit(); !ok) return ok.error();
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> export_lm_eval(const std::string& run, const std::string& folder,
                                                std::chrono::system_clock::time_point time) {
  const Result<RunInfo> info = read_run_info(run);
  if (!info) return info.error();
  Result<Survey> survey = survey_of(run);
  if (!survey) return survey.error();
  if (survey->plans.empty()) return Error{ErrorCode::invalid_argument, "there are no records to export", folder};
  const std::string stamp = file_time(time);
  const double unix_time = std::chrono::duration<double>(time.time_since_epoch()).count();
  std::vector<std::string> files;
  std::vector<std::pair<std::string, const TaskResults*>> samples;
  std::vector<std::pair<std::string, const PlanResults*>> results;
  std::set<std::string> folders;
  for (const PlanResults& plan : survey->plans) {
    const std::string name = unused_name(model_name(*info, plan), folders);
    const std::string place = fmt::format("{}/{}", folder, name);
    if (const auto ok = base::check_no_links(folder, name); !ok) return ok.error();
    std::error_code status;
    std::filesystem::create_directories(base::to_path(place), status);
    if (status) return base::os_error("make the folder", place, status.value());
    std::set<std::string> tasks;
    for (const TaskResults& task : plan.tasks) {
      files.push_back(fmt::format("{}/samples_{}_{}.jsonl", place, unused_name(task.name, tasks), stamp));
      samples.emplace_back(files.back(), &task);
    }
    files.push_back(fmt::format("{}/results_{}.json", place, stamp));
    results.emplace_back(files.back(), &plan);
  }
  for (std::size_t first = 0; first < samples.size(); first += kOpen) {
    const auto some = std::span(samples).subspan(first, std::min(kOpen, samples.size() - first));
    if (const auto ok = write_samples(run, *survey, some); !ok) return ok.error();
  }
  for (const auto& [path, plan] : results) {
    const std::string text = text_of(results_json(*info, *plan, survey->means, unix_time), 2) + "\n";
    if (const auto ok = base::write_file(path, text, false); !ok) return ok.error();
  }
  return files;
}

}  // namespace mrrope::eval
