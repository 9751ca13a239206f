// SPDX-License-Identifier: MIT
//
// The servers of a Hugging Face folder as containers. Shapes: the schema of Compose as check-jsonschema 0.39.0 has it,
// those of Kubernetes 1.25 … 1.37 as kubernetes-validate has them.
#include <fmt/format.h>

#include "deploy/parts.h"
#include "deploy/quote.h"

namespace mrrope::deploy {

namespace {

constexpr int kInside = 8000;  // one port for all: a pool of llm-d has one

// The command of a container: all words where the image does not start the server by itself.
template <class Quote>
std::string words_of(const Engine& engine, const Facts& facts, const Deployment& so_far, const std::vector<Told>& told,
                     std::size_t i, const std::string& model, std::string_view indent, Quote quoted) {
  std::vector<std::string> words;
  if (&engine != &vllm()) words.insert(words.end(), engine.start.begin(), engine.start.end());
  for (std::string& word : arguments(engine, facts.ladder.rungs[i], told[i], model, so_far.name, "0.0.0.0", kInside)) {
    words.push_back(std::move(word));
  }
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}- {}\n", indent, quoted(word));
  return text;
}

// "1M" and "Up_to.8k" as Kubernetes has names.
std::string rung_name(const Rung& rung) { return plain_name(rung.name); }

}  // namespace

DeployedFile compose(const Engine& engine, const Facts& facts, const Deployment& so_far,
                     const std::vector<Told>& told) {
  std::string text = fmt::format(
      "# {} in {}, a server per rung, and the gateway in front; written by mrrope ladder.\n"
      "#   export LITELLM_MASTER_KEY=sk-$(openssl rand -hex 32)\n"
      "#   docker compose -f {}/compose.yaml up\n"
      "# A GPU for each rung; for two on one, give each a share of its memory.\n"
      "name: {}-ladder\n"
      "services:\n",
      so_far.name, engine.title, engine.name, so_far.name);
  std::string servers;
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const std::string service = fmt::format("{}-{}", so_far.name, rung_name(facts.ladder.rungs[i]));
    text += fmt::format("  {}:\n    image: {}\n    command:\n{}", service, engine.image,
                        words_of(engine, facts, so_far, told, i, "/model", "      ", compose_quoted));
    text += fmt::format("    ports:\n      - \"127.0.0.1:{}:{}\"\n", so_far.rungs[i].port, kInside);
    text += fmt::format("    volumes:\n      - {{type: bind, source: {}, target: /model, read_only: true}}\n",
                        compose_quoted(facts.path));
    text += fmt::format(
        "    healthcheck:\n"
        "      test: [CMD, curl, -sf, \"http://localhost:{}/health\"]\n"
        "      interval: 10s\n"
        "      start_period: 600s\n"
        "    deploy:\n"
        "      resources:\n"
        "        reservations:\n"
        "          devices:\n"
        "            - {{driver: nvidia, count: 1, capabilities: [gpu]}}\n",
        kInside);
    servers += fmt::format("      {}: {{condition: service_healthy}}\n", service);
  }
  text += fmt::format(
      "  gateway:\n"
      "    image: ghcr.io/berriai/litellm:main-stable\n"
      "    network_mode: host  # gateway/litellm.yaml names the servers by their ports on this machine\n"
      "    command: [--config, /gateway/litellm.yaml, --host, 127.0.0.1, --port, \"{}\"]\n"
      "    environment:\n"
      "      LITELLM_MASTER_KEY: ${{LITELLM_MASTER_KEY:?clients send it as their key}}\n"
      "      LITELLM_LOCAL_MODEL_COST_MAP: \"True\"\n"
      "    volumes:\n"
      "      - {{type: bind, source: ../gateway, target: /gateway, read_only: true}}\n"
      "    depends_on:\n{}",
      facts.options.port, servers);
  return {.path = fmt::format("{}/compose.yaml", engine.name), .text = std::move(text)};
}

DeployedFile kubernetes(const Engine& engine, const Facts& facts, const Deployment& so_far,
                        const std::vector<Told>& told) {
  std::string text = fmt::format(
      "# {0} in {1}, a Deployment and a Service per rung; written by mrrope ladder.\n"
      "#   kubectl apply -f {2}/kubernetes.yaml\n"
      "# The claim \"models\" holds the Hugging Face folder as {0}. The labels with lengths "
      "are for gateway/llm-d.yaml.\n"
      "# Whether a server runs its rung, `mrrope probe` says (README.md); "
      "deploy/kubernetes-probe.yaml of mrrope has it as a startup probe.\n",
      so_far.name, engine.title, engine.name);
  std::int64_t from = 0;
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const std::string rung = rung_name(facts.ladder.rungs[i]);
    const std::int64_t to = longest_prompt(facts.ladder, i);
    const std::string labels = fmt::format("app.kubernetes.io/name: {}\n{{0}}app.kubernetes.io/component: {}\n",
                                           yaml_quoted(so_far.name), yaml_quoted(rung));
    const auto labels_at = [&](std::size_t indent) {
      const std::string space(indent, ' ');
      return space + fmt::format(fmt::runtime(labels), space);
    };
    text += fmt::format(
        "---\n"
        "apiVersion: apps/v1\n"
        "kind: Deployment\n"
        "metadata:\n"
        "  name: {0}-{1}\n"
        "spec:\n"
        "  replicas: 1\n"
        "  selector:\n"
        "    matchLabels:\n{2}"
        "  template:\n"
        "    metadata:\n"
        "      labels:\n{3}"
        "        mrrope/holds: \"0-{5}\"\n"
        "        llm-d.ai/context-length-range: \"{4}-{5}\"\n"
        "    spec:\n"
        "      containers:\n"
        "        - name: server\n"
        "          image: {6}\n"
        "          {7}:\n{8}",
        so_far.name, rung, labels_at(6), labels_at(8), from, to, engine.image, &engine == &vllm() ? "args" : "command",
        words_of(engine, facts, so_far, told, i, "/models/" + so_far.name, "            ", kubernetes_quoted));
    text += fmt::format(
        "          ports:\n"
        "            - {{name: http, containerPort: {2}}}\n"
        "          readinessProbe:\n"
        "            httpGet: {{path: /health, port: http}}\n"
        "          resources:\n"
        "            limits: {{nvidia.com/gpu: \"1\"}}\n"
        "          volumeMounts:\n"
        "            - {{name: models, mountPath: /models, readOnly: true}}\n"
        "      volumes:\n"
        "        - name: models\n"
        "          persistentVolumeClaim: {{claimName: models, readOnly: true}}\n"
        "---\n"
        "apiVersion: v1\n"
        "kind: Service\n"
        "metadata:\n"
        "  name: {0}-{1}\n"
        "spec:\n"
        "  selector:\n{3}"
        "  ports:\n"
        "    - {{name: http, port: {2}, targetPort: http}}\n",
        so_far.name, rung, kInside, labels_at(4));
    from = to + 1;
  }
  return {.path = fmt::format("{}/kubernetes.yaml", engine.name), .text = std::move(text)};
}

}  // namespace mrrope::deploy
