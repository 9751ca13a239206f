// SPDX-License-Identifier: MIT
//
// Gateways that send each prompt to its rung. LiteLLM runs with llama-server in tests/ladder, and with vLLM in
// tools/ladder_study.py; llm-d's shape was read in its source at 520af478, and that of vllm-sr 0.4.0 is checked by its
// own validator.
#include <fmt/format.h>

#include <string>

#include "deploy/parts.h"
#include "deploy/quote.h"

namespace mrrope::deploy {

namespace {

constexpr std::int64_t kAny = 2147483647;

// {"a": ["b", "c"]}, {"b": ["c"]}: from every rung to those above it, in their order.
std::string upward(const std::vector<ServedRung>& rungs) {
  std::string text;
  for (std::size_t i = 0; i + 1 < rungs.size(); ++i) {
    std::string above;
    for (std::size_t j = i + 1; j < rungs.size(); ++j) {
      above += (above.empty() ? "" : ", ") + yaml_quoted(rungs[j].model);
    }
    text += fmt::format("    - {{{}: [{}]}}\n", yaml_quoted(rungs[i].model), above);
  }
  return text;
}

DeployedFile litellm(const Facts& facts, const Deployment& so_far) {
  const bool gguf = facts.model.gguf() != nullptr;
  std::string text = fmt::format(
      "# LiteLLM proxy in front of the rungs of {0}; written by mrrope ladder. Clients ask for "
      "the model {0}.\n"
      "#   LITELLM_LOCAL_MODEL_COST_MAP=True litellm --config gateway/litellm.yaml --host "
      "127.0.0.1 --port {1}\n"
      "# The hook, mrrope_ladder.py beside this file, asks a server for the number of tokens and "
      "sets the rung.\n"
      "model_list:\n",
      so_far.name, facts.options.port);
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const Rung& rung = facts.ladder.rungs[i];
    const ServedRung& served = so_far.rungs[i];
    const std::string& served_name = gguf ? served.model : so_far.name;
    text += fmt::format(
        "  - model_name: {}\n"
        "    litellm_params: {{model: {}, api_base: \"http://127.0.0.1:{}/v1\", api_key: none}}\n"
        "    model_info: {{id: {}, ladder: {}, length: {}, {}engine: {}}}\n",
        yaml_quoted(served.model), yaml_quoted("openai/" + served_name), served.port,
        yaml_quoted(fmt::format("{}-{}", so_far.name, rung.name)), yaml_quoted(so_far.name), rung.length,
        i == 0 ? fmt::format("reserve: {}, ", facts.ladder.reserve) : "", gguf ? "llama.cpp" : "vllm");
  }
  const std::string up = upward(so_far.rungs);
  text += fmt::format(
      "router_settings:\n"
      "  num_retries: 0  # a server that refuses or is down: at once to the next rung up\n"
      "litellm_settings:\n"
      "  callbacks: mrrope_ladder.route\n"
      "  telemetry: false\n"
      "  fallbacks:\n{0}"
      "  context_window_fallbacks:\n{0}",
      up);
  return {.path = "gateway/litellm.yaml", .text = std::move(text)};
}

DeployedFile llm_d(const Deployment& so_far) {
  return {
      .path = "gateway/llm-d.yaml",
      .text = fmt::format(
          "# llm-d's endpoint picker for the pods of vllm/kubernetes.yaml; written by mrrope ladder. Not run.\n"
          "#   helm install … --set inferenceExtension.pluginsConfigFile=ladder.yaml \\\n"
          "#     --set-file inferenceExtension.pluginsCustomConfig.ladder\\\\.yaml=gateway/llm-d.yaml\n"
          "# Prompts are counted, answers are not: a rung's labels end before its length by the reserve. The count is "
          "exact by\n"
          "# token-producer, which asks a vLLM as long as the last rung at \"http\"; if that is away, a quarter of the "
          "bytes is taken.\n"
          "# \"holds\" keeps prompts from rungs that are too short, \"lowest\" prefers the lowest of the others.\n"
          "apiVersion: llm-d.ai/v1alpha1\n"
          "kind: EndpointPickerConfig\n"
          "plugins:\n"
          "  - type: token-producer\n"
          "    parameters:\n"
          "      modelName: {}\n"
          "      vllm: {{http: \"http://localhost:8000\"}}\n"
          "  - type: context-length-aware\n"
          "    name: holds\n"
          "    parameters: {{label: mrrope/holds, enableFiltering: true}}\n"
          "  - type: context-length-aware\n"
          "    name: lowest\n"
          "    parameters: {{label: llm-d.ai/context-length-range, enableFiltering: false}}\n"
          "  - type: queue-scorer\n"
          "  - type: max-score-picker\n"
          "schedulingProfiles:\n"
          "  - name: default\n"
          "    plugins:\n"
          "      - {{pluginRef: holds, weight: 0}}\n"
          "      - {{pluginRef: lowest, weight: 1000}}\n"
          "      - {{pluginRef: queue-scorer, weight: 1}}\n"
          "      - {{pluginRef: max-score-picker}}\n",
          yaml_quoted(so_far.name))};
}

DeployedFile vllm_sr(const Facts& facts, const Deployment& so_far) {
  std::string models;
  std::string cards;
  std::string signals;
  std::string decisions;
  std::int64_t from = 0;
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const Rung& rung = facts.ladder.rungs[i];
    const std::string name = yaml_quoted(so_far.rungs[i].model);
    const std::string band = yaml_quoted(rung.name);
    const std::int64_t to = longest_prompt(facts.ladder, i);
    models += fmt::format(
        "    - name: {}\n"
        "      provider_model_id: {}\n"
        "      backend_refs:\n"
        "        - {{name: rung, provider: vllm, endpoint: \"127.0.0.1:{}\", protocol: http, weight: "
        "100}}\n",
        name, yaml_quoted(so_far.name), so_far.rungs[i].port);
    cards += fmt::format("    - {{name: {}, context_window_size: {}}}\n", name, rung.length);
    signals += fmt::format("      - {{name: {}, min_tokens: \"{}\", max_tokens: \"{}\"}}\n", band, from, to);
    decisions += fmt::format(
        "    - name: {0}\n"
        "      priority: {1}\n"
        "      rules: {{operator: AND, conditions: [{{type: context, name: {0}}}]}}\n"
        "      modelRefs: [{{model: {2}, use_reasoning: false}}]\n",
        band, 100 * (so_far.rungs.size() - i), name);
    from = to + 1;
  }
  return {.path = "gateway/vllm-sr.yaml",
          .text = fmt::format(
              "# vLLM semantic router 0.4.0: the rung by an estimate of the tokens; written by mrrope "
              "ladder. Validated, not run.\n"
              "#   vllm-sr config validate --config gateway/vllm-sr.yaml\n"
              "# It takes four bytes for a token, and adds max_tokens if a request has them. Where texts "
              "have fewer bytes\n"
              "# to a token, a rung may get a prompt that it refuses. Clients ask for the model auto.\n"
              "version: v0.3\n"
              "listeners:\n"
              "  - {{name: ladder, address: \"127.0.0.1\", port: {}, timeout: \"300s\"}}\n"
              "providers:\n"
              "  defaults: {{model: {}}}\n"
              "  models:\n{}"
              "routing:\n"
              "  modelCards:\n{}"
              "  signals:\n"
              "    context:\n{}"
              "  decisions:\n{}",
              facts.options.port, yaml_quoted(so_far.rungs.back().model), models, cards, signals, decisions)};
}

}  // namespace

std::int64_t longest_prompt(const Ladder& ladder, std::size_t rung) {
  return rung + 1 == ladder.rungs.size() ? kAny : ladder.rungs[rung].length - ladder.reserve;
}

std::vector<DeployedFile> gateway_files(const Facts& facts, const Deployment& so_far) {
  std::vector<DeployedFile> files = {litellm(facts, so_far),
                                     {.path = "gateway/mrrope_ladder.py", .text = std::string(hook())}};
  if (facts.model.gguf() != nullptr) return files;
  files.push_back(llm_d(so_far));
  files.push_back(vllm_sr(facts, so_far));
  return files;
}

}  // namespace mrrope::deploy
