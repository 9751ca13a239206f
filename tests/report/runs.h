// SPDX-License-Identifier: MIT
//
// Small runs with numbers that can be followed by hand.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/records.h"
#include "tests/support/answers.h"

namespace mrrope::test {

inline eval::RunInfo run_info(const std::string& task, const std::string& model) {
  return {.task = task,
          .model = model,
          .model_hash = eval::content_hash(model),
          .architecture = "llama",
          .context_trained = 512,
          .engine = "llama.cpp 0.5.0",
          .version = "0.1.0",
          .machine = "a machine",
          .started = "2026-01-01T00:00:00Z",
          .settings = {{"flash-attn", "on"}},
          .command = {"eval", task, "--depths", "3"}};
}

// Four texts at 1.2, 1.3, … nats a token. none loses 0.25 nats more in every stretch beyond 512; other edges of
// mrrope-pro's band than its own cost 0.02 nats; yarn and mrrope-pro differ by some 1e-4 nats, up and down.
inline void ppl_run(const std::string& folder, const std::string& model = "model.gguf",
                    const std::vector<std::string>& methods = {"none", "yarn", "mrrope-pro", "mrrope-pro:high=9",
                                                               "mrrope-pro:high=11"}) {
  Result<eval::RunFolder> run = eval::RunFolder::open(folder, run_info("ppl", model));
  if (!run) std::abort();
  const RopeSpec spec = *parse_spec("dim=32,base=10000,ctx=512");
  for (int text = 0; text < 4; ++text) {
    for (const std::string& name : methods) {
      const Plan plan = *make_plan(spec, name == "none" ? 512 : 2048, *parse_method(name));
      eval::Record r;
      r.task = "ppl";
      r.method = name;
      r.factor = plan.factor;
      r.document = fmt::format("text {}", text);
      r.document_hash = eval::content_hash(r.document);
      r.key = eval::content_hash(r.document + name);
      r.reading()->bucket = 256;
      double sum = 0;
      for (int b = 0; b < 8; ++b) {
        double level = 1.2 + text * 0.1;
        if (name == "none") level += b < 2 ? 0 : 0.25 * (b - 1);
        if (name == "mrrope-pro") level += text % 2 == 0 ? 1e-4 : -1e-4 + (b == 7 ? 1e-4 : 0);
        if (name.find(':') != std::string::npos) level += 0.02;
        const int tokens = b == 0 ? 255 : 256;
        r.reading()->bucket_nll.push_back(tokens * level);
        sum += tokens * level;
        const std::int64_t end = 256 * (b + 1);
        if (end == 512 || end == 1024 || end == 2048) r.reading()->points.push_back({end, end - 1, sum});
      }
      r.reading()->inv_freq = plan.groups[0].inv_freq;
      r.reading()->attention_scale = plan.groups[0].attention_scale;
      if (!run->append(r)) std::abort();
    }
  }
}

// Twelve samples at three depths and three lengths: mrrope-pro finds all, yarn half at 2k, none nothing beyond 512.
inline void needle_run(const std::string& folder, const std::string& model = "model.gguf") {
  Result<eval::RunFolder> run = eval::RunFolder::open(folder, run_info("niah", model));
  if (!run) std::abort();
  for (const std::int64_t length : {512, 1024, 2048}) {
    for (std::int64_t i = 0; i < 12; ++i) {
      for (const std::string method : {"none", "yarn", "mrrope-pro"}) {
        const bool found = method == "none" ? length == 512 : method == "yarn" ? length < 2048 || i % 2 == 1 : true;
        eval::Record r = answer_record({.task = "niah",
                                        .method = method,
                                        .factor = method == "none" ? 1.0 : 4.0,
                                        .length = length,
                                        .index = i,
                                        .score = found ? 1.0 : 0.0});
        r.answer()->asked_depth = static_cast<double>(i / 4) / 2;
        r.answer()->depth = 0.05 + 0.6 * r.answer()->asked_depth;  // the question comes after the text
        if (!run->append(r)) std::abort();
      }
    }
  }
}

}  // namespace mrrope::test
