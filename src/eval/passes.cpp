// SPDX-License-Identifier: MIT
#include "eval/passes.h"

#include <fmt/format.h>

#include <cmath>

#include "mrrope/version.h"

namespace mrrope::eval {

std::string record_key(const RunInfo& info, const Candidate& candidate, const Document& document, Settings settings) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", MRROPE_VERSION, info.task, info.model_hash, document.hash);
  if (candidate.plan) {
    Plan plan = *candidate.plan;
    plan.source.clear();  // where it came from does not matter
    plan.spec.name.clear();
    text += to_json(plan);
  }
  for (const auto& [flag, value] : info.settings) text += fmt::format("{}={}\n", flag, value);
  for (const auto& [name, value] : settings) text += fmt::format("{}={}\n", name, value);
  return content_hash(text);
}

Record start_record(std::string key, std::string task, const Candidate& candidate, const Document& document) {
  Record record;
  record.key = std::move(key);
  record.task = std::move(task);
  record.method = candidate.method;
  record.factor = candidate.factor;
  record.document = document.name;
  record.document_hash = document.hash;
  return record;
}

std::optional<Error> apply(LlamaContext& context, const Candidate& candidate) {
  if (candidate.plan) return context.use(*candidate.plan);
  context.use_file();
  return std::nullopt;
}

void note_rotation(const LlamaContext& context, Record& record) {
  const std::vector<Rotation> rotations = context.rotation();
  if (rotations.empty()) return;
  record.inv_freq = rotations.front().inv_freq;
  record.attention_scale = rotations.front().attention_scale;
}

std::optional<Error> check_finite(const Record& record) {
  for (const Record::Point& point : record.points) {
    if (!std::isfinite(point.nll)) {
      return Error{ErrorCode::unsupported,
                   fmt::format("the model gives no probabilities under {} on {} (a logit is not a number); try "
                               "--flash-attn off or --cache-type-k f32",
                               record.method, record.document),
                   ""};
    }
  }
  return std::nullopt;
}

Meter::Meter(const Control& control, std::size_t items, std::int64_t tokens_total)
    : control_(control), last_(std::chrono::steady_clock::now()) {
  progress_.items = items;
  progress_.tokens_total = tokens_total;
}

void Meter::start(std::string what) {
  ++progress_.item;
  progress_.what = std::move(what);
  if (control_.progress) control_.progress(progress_);
}

void Meter::advance(std::int64_t tokens) {
  progress_.tokens += tokens;
  const auto now = std::chrono::steady_clock::now();
  if (!control_.progress || now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  control_.progress(progress_);
}

void Meter::skip(std::int64_t tokens) {
  ++progress_.item;
  progress_.tokens_total -= tokens;
}

bool Meter::cancelled() const { return control_.cancel != nullptr && control_.cancel->load(); }

}  // namespace mrrope::eval
