// SPDX-License-Identifier: MIT
//
// The parts of a deployment: each knows one format of others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mrrope/deploy.h"
#include "mrrope/targets.h"

namespace mrrope::deploy {

// What all parts know.
struct Facts {
  const Ladder& ladder;
  const ModelFile& model;
  const DeployOptions& options;
  std::string path;  // of the model, absolute: a GGUF, or a Hugging Face folder
};

// ---- llama.cpp (llama_cpp.cpp) -------------------------------------------------------------------------------------

inline constexpr std::string_view kPresets = "llama.cpp/presets.ini";

// Where a rung's file is within the folder: a link to the model, the first shard of a sidecar, a copy to be made.
std::string gguf_path(const Rung& rung, Serving serving, std::size_t shards);

// Domain: model.gguf().
Result<ServedRung> serve_gguf(const Rung& rung, const ModelFile& model);
DeployedFile presets(const Facts& facts, const Deployment& so_far);

// ---- vLLM and SGLang (engines.cpp, containers.cpp) -----------------------------------------------------------------

struct Engine {
  std::string_view name;  // of its folder and in the catalogue of engines
  std::string_view title;
  std::string_view image;               // for containers
  std::vector<std::string_view> start;  // the words before the model
  std::string_view length;              // its flag for the length
  std::string_view overrides;           // its flag for fields of config.json
};
const Engine& vllm();
const Engine& sglang();

// What an engine is told of a rung beside its length.
struct Told {
  std::string fields;  // of config.json, as JSON; empty: none
  std::string flag;    // without which it does not start with them
};

// Errors: the engine cannot run the plan this way.
Result<Told> told(const Engine& engine, const Plan& plan, const ModelFile& model);

// The words of a server's command, without the program's name where an image has it as its entry point.
std::vector<std::string> arguments(const Engine& engine, const Rung& rung, const Told& told, const std::string& model,
                                   const std::string& name, const std::string& host, int port);

// Everything in the engine's folder. `told`: one per rung.
std::vector<DeployedFile> engine_files(const Engine& engine, const Facts& facts, const Deployment& so_far,
                                       const std::vector<Told>& told);
DeployedFile compose(const Engine& engine, const Facts& facts, const Deployment& so_far, const std::vector<Told>& told);
DeployedFile kubernetes(const Engine& engine, const Facts& facts, const Deployment& so_far,
                        const std::vector<Told>& told);

// ---- Gateways (gateway.cpp) ----------------------------------------------------------------------------------------

// The longest prompt for which a rung is taken where only prompts are counted; of the last rung any.
std::int64_t longest_prompt(const Ladder& ladder, std::size_t rung);

// litellm.yaml and its hook; for a Hugging Face folder llm-d.yaml and vllm-sr.yaml as well.
std::vector<DeployedFile> gateway_files(const Facts& facts, const Deployment& so_far);

// src/deploy/mrrope_ladder.py as it is.
std::string_view hook() noexcept;

// ---- README.md (readme.cpp) ----------------------------------------------------------------------------------------

DeployedFile readme(const Facts& facts, const Deployment& so_far);

}  // namespace mrrope::deploy
