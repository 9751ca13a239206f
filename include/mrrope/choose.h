// SPDX-License-Identifier: MIT
//
// The plan for a model and an engine: the recommended one if the engine runs it, else the nearest that it runs.
//
//   Result<ModelFile> model = read_model("gemma-3.gguf");
//   Result<Choice> choice = choose(*model, *recommend(*model, 131072));
//   extend_model(*model, choice->plan, {.output = "longer.gguf"});
//   describe(*choice);   // "llama.cpp cannot run mrrope-pro on gemma3: … Nearest it runs: yarn, …"
//
// Nothing is written. Costs a few deliveries (targets.h): milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mrrope/model_file.h"
#include "mrrope/plan.h"
#include "mrrope/result.h"
#include "mrrope/targets.h"

namespace mrrope {

// The engine a file is for unless another is named: llama.cpp for a GGUF, kUniversal for config.json.
std::string_view default_engine(const ModelFile& model);

struct Choice {
  Plan plan;          // what the engine runs
  Plan wanted;        // what was asked for, or recommended
  std::string words;  // the plan for people: "yarn", "one yarn, factor 160 from 4096"
  std::string why;    // why not what was wanted, or why no table is needed; empty: there is nothing to say
  double table = 0;   // largest relative difference of an angular speed between the two
  double scale = 0;   // of an attention scale

  [[nodiscard]] bool as_wanted() const { return plan.method == wanted.method; }
};

// recommend() of plan.h, but for a model that rotates in windows only: that needs no table at any length, and gets the
// trained one with the length alone.
Result<Plan> recommend(const ModelFile& model, std::int64_t context_target);

// `engine`: as in engine_catalogue(), or kUniversal; empty: default_engine().
// Errors: as deliver() of the wanted plan, where the engine runs nothing that comes near.
Result<Choice> choose(const ModelFile& model, const Plan& wanted, std::string_view engine = {},
                      const DeliverOptions& options = {});

// In one or two sentences; empty where there is nothing to say.
std::string describe(const Choice& choice);

}  // namespace mrrope
