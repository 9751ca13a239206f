// SPDX-License-Identifier: MIT
//
// llama-server as a router: presets.ini names the rungs, and each is a process of its own over the same mapped file.
// The format has no quotes: a value ends at a line's end and at a ; or #. All names in it are ours, and relative to the
// folder, so that it does not matter what the model and the folder are called.
#include <fmt/format.h>

#include "deploy/parts.h"
#include "mrrope/kv_cache.h"
#include "targets/overrides.h"

namespace mrrope::deploy {

namespace {

// Whether the engine needs to be told nothing.
bool needs_nothing(const Rung& rung, const ModelFile& model) {
  const Result<Plan> trained = make_plan(rung.plan.spec, rung.plan.context_target, None{});
  if (!trained || trained->groups != rung.plan.groups) return false;
  const GgufValue* declared = model.gguf()->find("context_length");
  return declared != nullptr && declared->number().value_or(0) >= static_cast<double>(rung.length);
}

}  // namespace

std::string gguf_path(const Rung& rung, Serving serving, std::size_t shards) {
  switch (serving) {
    case Serving::sidecar: return fmt::format("llama.cpp/{}/model-00001-of-00002.gguf", rung.name);
    case Serving::copy: return fmt::format("llama.cpp/{}/model.gguf", rung.name);
    default: break;
  }
  return shards > 1 ? fmt::format("llama.cpp/model-00001-of-{:05}.gguf", shards) : "llama.cpp/model.gguf";
}

Result<ServedRung> serve_gguf(const Rung& rung, const ModelFile& model) {
  ServedRung out;
  const KvCache cache = kv_cache(model, rung.length);
  out.cache_bytes = cache.bytes + cache.recurrent_bytes;
  if (needs_nothing(rung, model)) return out;
  const Result<Delivery> delivery = deliver("llama.cpp", rung.plan, model);
  if (!delivery) return delivery.error();
  const GgufModel& gguf = *model.gguf();
  if (targets::fits_flags(delivery->gguf)) {
    out.serving = Serving::keys;
    out.flags = targets::flags_of(delivery->gguf);
  } else if (targets::check_fits_sidecar(gguf, delivery->gguf)) {
    out.serving = Serving::sidecar;
    out.flags = targets::sidecar_flags_of(gguf, delivery->gguf);
  } else {
    out.serving = Serving::copy;
  }
  return out;
}

DeployedFile presets(const Facts& facts, const Deployment& so_far) {
  const std::size_t shards = facts.model.gguf()->shards.size();
  std::string text = fmt::format(
      "; {}: a ladder of {} rungs, written by mrrope ladder.\n"
      ";   llama-server --models-preset {} --models-max {} --port {}\n"
      "; from the folder of README.md: names are relative to it.\n"
      "version = 1\n"
      "\n"
      "; One request at a time; for K at once: np = K, and K times each c.\n"
      "[*]\n"
      "np = 1\n"
      "load-on-startup = true\n",
      so_far.name, so_far.rungs.size(), kPresets, so_far.rungs.size(), so_far.rungs.front().port);
  for (std::size_t i = 0; i < so_far.rungs.size(); ++i) {
    const Rung& rung = facts.ladder.rungs[i];
    const ServedRung& served = so_far.rungs[i];
    text += fmt::format("\n; up to {} tokens of prompt and answer\n[{}]\nm = {}\nc = {}\n", rung.length, served.model,
                        gguf_path(rung, served.serving, shards), rung.length);
    if (!served.flags.empty()) text += fmt::format("override-kv = {}\n", served.flags);
  }
  return {.path = std::string(kPresets), .text = std::move(text)};
}

}  // namespace mrrope::deploy
