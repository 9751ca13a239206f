// SPDX-License-Identifier: MIT
//
// vLLM and SGLang: a server per rung on one Hugging Face folder, told apart by flags.
#include <fmt/format.h>

#include "base/json.h"
#include "deploy/parts.h"
#include "deploy/quote.h"

namespace mrrope::deploy {

namespace {

// Fields of config.json that the engine's own delivery changes. Only whole fields at the top: SGLang replaces them.
Result<std::string> changed_fields(const Engine& engine, const Delivery& delivery) {
  base::Json fields = base::Json::object();
  for (const HfChange& change : delivery.hf) {
    const Result<base::Json> value = base::parse_json(change.after);
    if (change.path.find('.') != std::string::npos || !value) {
      return Error{
          ErrorCode::unsupported,
          fmt::format("{} takes whole fields on its command line, and the plan changes {}", engine.title, change.path),
          ""};
    }
    fields[change.path] = *value;
  }
  return fields.dump();
}

DeployedFile script(const Engine& engine, const Facts& facts, const Deployment& so_far, const std::vector<Told>& told) {
  std::string text = fmt::format(
      "#!/bin/sh\n"
      "# Starts one rung of {0} in {1}; written by mrrope ladder.\n"
      "#   {2}/start.sh RUNG [flags of {1}]\n"
      "case ${{1-}} in\n",
      so_far.name, engine.title, engine.name);
  std::string names;
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const Rung& rung = facts.ladder.rungs[i];
    std::string line;
    for (const std::string_view word : engine.start) line += shell_word(word) + " ";
    for (const std::string& word :
         arguments(engine, rung, told[i], facts.path, so_far.name, "127.0.0.1", so_far.rungs[i].port)) {
      line += shell_word(word) + " ";
    }
    text += fmt::format("  {})\n    shift\n    exec {}\"$@\" ;;\n", rung.name, line);
    names += (i > 0 ? ", " : "") + rung.name;
  }
  text += fmt::format("esac\necho \"usage: start.sh RUNG [flags]; rungs: {}\" >&2\nexit 2\n", names);
  return {.path = fmt::format("{}/start.sh", engine.name), .text = std::move(text), .executable = true};
}

DeployedFile unit(const Engine& engine, const Facts& facts, const Deployment& so_far, std::size_t i) {
  const Rung& rung = facts.ladder.rungs[i];
  const std::string start = fmt::format("{}/{}/start.sh", facts.options.folder, engine.name);
  return {.path = fmt::format("{}/{}-{}.service", engine.name, so_far.name, rung.name),
          .text = fmt::format("# Written by mrrope ladder.\n"
                              "[Unit]\n"
                              "Description={}, rung {} in {}\n"
                              "Wants=network-online.target\n"
                              "After=network-online.target\n"
                              "\n"
                              "[Service]\n"
                              "ExecStart=/bin/sh {} {}\n"
                              "Restart=on-failure\n"
                              "RestartSec=5\n"
                              "\n"
                              "[Install]\n"
                              "WantedBy=multi-user.target\n",
                              so_far.name, rung.name, engine.title, systemd_quoted(start), rung.name)};
}

}  // namespace

const Engine& vllm() {
  static const Engine engine{.name = "vllm",
                             .title = "vLLM",
                             .image = "vllm/vllm-openai:v0.32.0",
                             .start = {"vllm", "serve"},
                             .length = "--max-model-len",
                             .overrides = "--hf-overrides"};
  return engine;
}

const Engine& sglang() {
  static const Engine engine{.name = "sglang",
                             .title = "SGLang",
                             .image = "lmsysorg/sglang:v0.5.23",
                             .start = {"python3", "-m", "sglang.launch_server", "--model-path"},
                             .length = "--context-length",
                             .overrides = "--json-model-override-args"};
  return engine;
}

Result<Told> told(const Engine& engine, const Plan& plan, const ModelFile& model) {
  if (plan.factor <= 1) return Told{};
  const Result<Delivery> delivery = deliver(engine.name, plan, model);
  if (!delivery) return delivery.error();
  Result<std::string> fields = &engine == &vllm() ? hf_overrides(plan, *model.hf()) : changed_fields(engine, *delivery);
  if (!fields) return fields.error();
  return Told{.fields = *std::move(fields), .flag = std::string(delivery->flags)};
}

std::vector<std::string> arguments(const Engine& engine, const Rung& rung, const Told& told, const std::string& model,
                                   const std::string& name, const std::string& host, int port) {
  std::vector<std::string> words = {
      model,    "--served-model-name", name, std::string(engine.length), std::to_string(rung.length), "--host", host,
      "--port", std::to_string(port)};
  if (!told.fields.empty()) words.insert(words.end(), {std::string(engine.overrides), told.fields});
  if (!told.flag.empty()) words.push_back(told.flag);
  return words;
}

std::vector<DeployedFile> engine_files(const Engine& engine, const Facts& facts, const Deployment& so_far,
                                       const std::vector<Told>& told) {
  std::vector<DeployedFile> files = {script(engine, facts, so_far, told)};
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) files.push_back(unit(engine, facts, so_far, i));
  files.push_back(compose(engine, facts, so_far, told));
  files.push_back(kubernetes(engine, facts, so_far, told));
  return files;
}

}  // namespace mrrope::deploy
