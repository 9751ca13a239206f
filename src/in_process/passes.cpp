// SPDX-License-Identifier: MIT
#include "in_process/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mrrope/version.h"

namespace mrrope::eval {

namespace {

// Two records are the same measurement if these agree.
std::string record_key(const RunInfo& info, const Candidate& candidate, const Document& document, const Pass& pass) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}", MRROPE_VERSION, info.task, info.model_hash, document.hash,
                                 identity_of(candidate));
  for (const auto& [flag, value] : info.settings) text += fmt::format("{}={}\n", flag, value);
  for (const auto& [name, value] : pass.settings) text += fmt::format("{}={}\n", name, value);
  return content_hash(text);
}

}  // namespace

Result<void> check_finite(const Record& record, double nll) {
  if (std::isfinite(nll)) return {};
  return Error{ErrorCode::unsupported,
               fmt::format("the model gives no probabilities under {} on {} (a logit is not a number); try flash "
                           "attention off, or a cache of f32",
                           record.method, record.document),
               ""};
}

std::string identity_of(const Candidate& candidate) {
  std::string place = candidate.rung.empty() ? "" : fmt::format("rung {} of {}\n", candidate.rung, candidate.method);
  if (!candidate.cache.empty()) place += fmt::format("cache {}\n", candidate.cache);
  const auto anonymous = [](Plan plan) {
    plan.source.clear();
    plan.spec.name.clear();
    return plan;
  };
  if (candidate.climb) {
    for (const Rung& rung : candidate.climb->rungs) {
      place += fmt::format("climb {}\n{}", rung.length, to_json(anonymous(rung.plan)));
    }
  }
  return candidate.plan ? place + to_json(anonymous(*candidate.plan)) : place;
}

Result<void> apply(LlamaContext& context, const Candidate& candidate) {
  if (candidate.climb) return context.use(*candidate.climb);
  if (candidate.plan) return context.use(*candidate.plan);
  context.use_file();
  return {};
}

Result<void> check_climbs(LlamaContext& context, std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) {
    if (!candidate.climb) continue;
    if (const auto ok = apply(context, candidate); !ok)
      return Error{ok.error().code, ok.error().message, candidate.method};
  }
  return {};
}

Rotation reaching_rotation(const LlamaContext& context) {
  const std::vector<Rotation> rotations = context.rotation();
  const auto slowest = [](const Rotation& a, const Rotation& b) { return a.inv_freq.back() < b.inv_freq.back(); };
  const auto found = std::min_element(rotations.begin(), rotations.end(), slowest);
  return found != rotations.end() ? *found : Rotation{};
}

Result<void> run_passes(LlamaContext& context, std::span<const Document> documents,
                        std::span<const Candidate> candidates, const Pass& pass, RunFolder& run,
                        const Control& control) {
  if (const auto ok = check_climbs(context, candidates); !ok) return ok.error();
  std::int64_t total = 0;
  for (const Document& document : documents) {
    for (const Candidate& candidate : candidates) total += pass.tokens(document, candidate);
  }
  Meter meter(control, documents.size() * candidates.size(), total);
  for (const Document& document : documents) {
    for (const Candidate& candidate : candidates) {
      const std::int64_t tokens = pass.tokens(document, candidate);
      Record record;
      record.key = record_key(run.info(), candidate, document, pass);
      if (tokens == 0 || run.find(record.key) != nullptr) {
        meter.skip(tokens);
        continue;
      }
      record.task = pass.task;
      record.method = candidate.method;
      record.factor = candidate.factor;
      record.rung = candidate.rung;
      record.document = document.name;
      record.document_hash = document.hash;
      meter.start(fmt::format("{} x{:g}, {}", candidate.method, candidate.factor, document.name));
      if (const auto ok = apply(context, candidate); !ok) return ok.error();
      const auto start = std::chrono::steady_clock::now();
      Result<Reading> reading = pass.run(document, candidate, meter);
      if (!reading) return reading.error();
      record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      Rotation rotation = reaching_rotation(context);
      reading->inv_freq = std::move(rotation.inv_freq);
      reading->attention_scale = rotation.attention_scale;
      for (const Reading::Point& point : reading->points) {
        if (const auto ok = check_finite(record, point.nll); !ok) return ok.error();
      }
      record.result = *std::move(reading);
      if (const auto ok = run.append(record); !ok) return ok.error();
    }
  }
  return {};
}

}  // namespace mrrope::eval
