// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "deploy/parts.h"
#include "mrrope/catalogue.h"

namespace mrrope::deploy {

namespace {

std::string mebibytes(double bytes) { return bytes > 0 ? fmt::format("{:.4g} MiB", bytes / (1 << 20)) : "-"; }

std::string rung_table(const Facts& facts, const Deployment& so_far) {
  std::string text =
      "| rung | model | prompt + answer | plan | served | cache of one request (f16) |\n|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const Rung& rung = facts.ladder.rungs[i];
    const ServedRung& served = so_far.rungs[i];
    text += fmt::format("| {} | `{}` | {} | {} x{:.4g} | {} | {} |\n", rung.name, served.model, rung.length,
                        brief(rung.plan.method), rung.plan.factor, to_string(served.serving),
                        mebibytes(served.cache_bytes));
  }
  text += "\n";
  for (const Rung& rung : facts.ladder.rungs) text += fmt::format("- {}: {}\n", rung.name, rung.why);
  return text;
}

std::string memory(const Facts& facts, const Deployment& so_far) {
  double caches = 0;
  bool copies = false;
  for (const ServedRung& rung : so_far.rungs) {
    caches += rung.cache_bytes;
    copies = copies || rung.serving == Serving::copy;
  }
  const auto weights = static_cast<double>(facts_of(facts.model).bytes);
  if (facts.model.gguf() == nullptr) return "Each rung is a server of its own, with the weights in its GPU.\n";
  return fmt::format(
      "All rungs map one file: its {} of weights are in memory once{}. The caches of all rungs take {}.\n",
      mebibytes(weights), copies ? ", and once more for each copy" : "", mebibytes(caches));
}

// Each server asked what it runs; the table of a rung is told with the weights of a GGUF only.
std::string checks(const Facts& facts, const Deployment& so_far) {
  const bool gguf = facts.model.gguf() != nullptr;
  std::string text = "\n## Does a server run its rung?\n\n```sh\n";
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const Rung& rung = facts.ladder.rungs[i];
    text += fmt::format("mrrope probe http://127.0.0.1:{} --model {} --length {}", so_far.rungs[i].port,
                        gguf ? so_far.rungs[i].model : so_far.name, rung.length);
    if (gguf) {
      text += fmt::format(" -m {} --expect plans/{}.json",
                          gguf_path(rung, Serving::as_it_is, facts.model.gguf()->shards.size()), rung.name);
    }
    text += "\n";
  }
  return text + "```\n";
}

}  // namespace

DeployedFile readme(const Facts& facts, const Deployment& so_far) {
  const bool one = so_far.rungs.size() == 1;
  std::string text =
      fmt::format("# {}: {} rung{}\n\nWritten by `mrrope ladder`, which replaces it when it is run again.\n\n",
                  so_far.name, so_far.rungs.size(), one ? "" : "s");
  text += one ? "One serving reaches the length at no cost to short prompts: there is nothing to route.\n\n"
              : fmt::format(
                    "Each prompt goes to the lowest rung that holds it and its answer (`max_tokens`; {} tokens where a "
                    "request names none).\n\n",
                    facts.ladder.reserve);
  text += rung_table(facts, so_far) + "\n" + memory(facts, so_far);
  text += "\n## Commands, from this folder\n\n```sh\n";
  for (const std::string& command : so_far.commands) text += command + "\n";
  text += "```\n" + checks(facts, so_far);
  if (!one) {
    text += fmt::format(
        "\nThe header `x-litellm-model-id` of an answer names the rung. A prompt beyond the last rung is refused "
        "with status 400.\nA conversation that climbs is read again, once, by the next rung: caches belong to "
        "one rung. `ladder.json` has the ladder for programs.\n");
    text +=
        "\n## Exact, estimated, run\n\n| file | lengths | run by mrrope's tests |\n|---|---|---|\n"
        "| gateway/litellm.yaml | exact: a server counts the prompt, `max_tokens` is added | yes |\n";
    if (facts.model.gguf() == nullptr) {
      text +=
          "| gateway/llm-d.yaml | exact by its tokenizer, else bytes / 4; prompts only, less the reserve | no: read in "
          "its "
          "source |\n"
          "| gateway/vllm-sr.yaml | an estimate: bytes / 4, and `max_tokens` | validated by its program, not run |\n"
          "| compose.yaml, kubernetes.yaml | - | checked against their schemas, not run |\n"
          "| *.service | - | checked by systemd-analyze |\n";
    }
  }
  if (!so_far.notes.empty()) text += "\n## Notes\n\n";
  for (const std::string& note : so_far.notes) text += "- " + note + "\n";
  return {.path = "README.md", .text = std::move(text)};
}

}  // namespace mrrope::deploy
