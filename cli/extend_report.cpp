// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/extend.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "targets/deviation.h"

namespace mrrope::cli {

namespace {

// float32 factors stand between a plan and the file, and nothing else.
constexpr double kVerified = 1e-6;

}  // namespace

Result<double> read_back(const std::string& path, const std::string& engine, const Plan& plan) {
  const Result<ModelFile> written = read_model(path);
  if (!written) return written.error();
  const Result<Effective> now = effective(engine, *written, plan.context_target);
  if (!now) return now.error();
  const bool comparable = now->loads && now->groups.size() == plan.groups.size();
  const double difference = comparable ? targets::deviation(*now, plan).table : 1;
  if (difference > kVerified) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("read back, the file differs from the plan by {:.2g}", difference), path};
  }
  return difference;
}

void ExtendReport::plan(const Plan& plan, const Delivery& delivery) {
  method_ = spell(plan.method);
  factor_ = plan.factor;
  context_trained_ = plan.spec.context_trained;
  context_target_ = plan.context_target;
  residual_ = delivery.residual;
  scale_residual_ = delivery.scale_residual;
  if (!json_)
    fmt::print("plan      {}, factor {:.6g}: {} -> {} tokens\n", method_, factor_, context_trained_, context_target_);
}

void ExtendReport::changes(std::vector<Change> changes) {
  changes_ = std::move(changes);
  if (json_) return;
  TextTable table({"key or tensor", "before", "after"}, 3);
  for (const Change& change : changes_) table.add({change.name, change.before, change.after});
  fmt::print("{}", table.text());
}

void ExtendReport::wrote(const std::string& path, bool dry_run) {
  path_ = path;
  dry_run_ = dry_run;
  if (json_) return;
  if (dry_run) fmt::print("nothing was written (--dry-run); it would be {}\n", path);
  else fmt::print("wrote     {}\n", path);
}

void ExtendReport::verified(double difference) {
  difference_ = difference;
  if (!json_)
    fmt::print("verified  read back; largest difference of an angular speed to the plan {:.1g}\n", difference);
}

void ExtendReport::end(const std::vector<std::string>& notes, const std::vector<std::string>& commands,
                       const std::string& path) {
  if (!json_) {
    for (const std::string& note : notes) fmt::print("note      {}\n", wrap(note, 70, 10));
    for (const std::string& command : commands) fmt::print("run       {}\n", base::replaced(command, "{}", path));
    return;
  }
  base::Json json{{"schema", "mrrope.extend/1"},
                  {"method", method_},
                  {"factor", factor_},
                  {"context_trained", context_trained_},
                  {"context_target", context_target_},
                  {"changes", base::Json::array()},
                  {"written", dry_run_ ? base::Json() : base::Json(path_)},
                  {"residual", residual_},
                  {"scale_residual", scale_residual_},
                  {"verified_difference", difference_ ? base::Json(*difference_) : base::Json()},
                  {"notes", notes},
                  {"commands", base::Json::array()}};
  for (const Change& c : changes_) {
    json["changes"].push_back(base::Json{{"name", c.name}, {"before", c.before}, {"after", c.after}});
  }
  for (const std::string& command : commands) json["commands"].push_back(base::replaced(command, "{}", path));
  fmt::print("{}\n", base::write_json(json));
}

}  // namespace mrrope::cli
