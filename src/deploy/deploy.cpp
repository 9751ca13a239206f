// SPDX-License-Identifier: MIT
#include "mrrope/deploy.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "deploy/parts.h"
#include "deploy/quote.h"
#include "mrrope/catalogue.h"
#include "mrrope/extend.h"
#include "mrrope/kv_cache.h"

namespace mrrope {

namespace {

namespace fs = std::filesystem;
using deploy::Facts;

std::string name_of(const std::string& path, bool gguf) {
  const fs::path model = base::to_path(path);
  std::string name = base::to_text(gguf ? model.stem() : model.filename());
  if (const std::size_t shard = name.find("-00001-of-"); shard != std::string::npos) name.resize(shard);
  return deploy::plain_name(name);
}

Result<void> check_options(const DeployOptions& options, const std::string& path) {
  if (options.port < 1 || options.port > 65535 - static_cast<int>(kMaxRungs)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected a port from 1 to {}, found {}", 65535 - kMaxRungs, options.port), "", "port"};
  }
  for (const std::string& name : {options.folder, path}) {
    if (base::printable(name, name.size()) == name) continue;
    return Error{ErrorCode::invalid_argument, "its name has characters that no script and no unit of systemd can say",
                 base::printable(name)};
  }
  return {};
}

// llama-server, and what has to be there before it starts.
Result<void> add_llama_cpp(const Facts& facts, Deployment& out) {
  for (std::size_t i = 0; i < out.rungs.size(); ++i) {
    const Rung& rung = facts.ladder.rungs[i];
    Result<ServedRung> served = deploy::serve_gguf(rung, facts.model);
    if (!served) return Error{served.error().code, served.error().message, fmt::format("rung {}", rung.name)};
    served->model = std::move(out.rungs[i].model);
    served->port = facts.options.port + 1;
    if (served->serving == Serving::copy) {
      const std::string copy = deploy::gguf_path(rung, served->serving, 1);
      out.commands.push_back(fmt::format("mkdir -p llama.cpp/{0} && mrrope extend {1} --plan plans/{0}.json -o {2}",
                                         rung.name, deploy::shell_word(facts.path), copy));
      out.notes.push_back(
          fmt::format("Rung {} needs a file of its own, {}: the model has several files, or a table that "
                      "would have to be replaced. --method yarn may do without.",
                      rung.name, copy));
    }
    out.rungs[i] = *std::move(served);
  }
  out.files.push_back(deploy::presets(facts, out));
  out.commands.push_back(fmt::format("llama-server --models-preset {} --models-max {} --host 127.0.0.1 --port {}",
                                     deploy::kPresets, out.rungs.size(), facts.options.port + 1));
  return {};
}

Result<std::vector<deploy::Told>> all_told(const deploy::Engine& engine, const Facts& facts) {
  std::vector<deploy::Told> all;
  for (const Rung& rung : facts.ladder.rungs) {
    Result<deploy::Told> one = deploy::told(engine, rung.plan, facts.model);
    if (!one) return Error{one.error().code, one.error().message, fmt::format("rung {}", rung.name)};
    all.push_back(*std::move(one));
  }
  return all;
}

void add_files(std::vector<DeployedFile> files, Deployment& out) {
  for (DeployedFile& file : files) out.files.push_back(std::move(file));
}

// vLLM is what the ladder is for; SGLang gets its files if it can run the same plans.
Result<void> add_engines(const Facts& facts, Deployment& out) {
  const Result<std::vector<deploy::Told>> told = all_told(deploy::vllm(), facts);
  if (!told) return told.error();
  for (std::size_t i = 0; i < out.rungs.size(); ++i) {
    const KvCache cache = kv_cache(facts.model, facts.ladder.rungs[i].length);
    ServedRung& rung = out.rungs[i];
    rung.flags = (*told)[i].fields;
    rung.serving = rung.flags.empty() ? Serving::as_it_is : Serving::overrides;
    rung.port = facts.options.port + 1 + static_cast<int>(i);
    rung.cache_bytes = cache.bytes + cache.recurrent_bytes;
    out.commands.push_back(fmt::format("vllm/start.sh {}   # a shell each, or vllm/{}-{}.service",
                                       facts.ladder.rungs[i].name, out.name, facts.ladder.rungs[i].name));
  }
  add_files(deploy::engine_files(deploy::vllm(), facts, out, *told), out);
  const Result<std::vector<deploy::Told>> others = all_told(deploy::sglang(), facts);
  if (others) {
    add_files(deploy::engine_files(deploy::sglang(), facts, out, *others), out);
    out.notes.emplace_back("SGLang instead of vLLM: sglang/start.sh. It was not run here.");
  } else {
    out.notes.push_back("No files for SGLang: " + to_string(others.error()));
  }
  return {};
}

void add_gateway(const Facts& facts, Deployment& out) {
  add_files(deploy::gateway_files(facts, out), out);
  const int port = facts.options.port;
  out.commands.emplace_back("pip install 'litellm[proxy]'");
  out.commands.emplace_back("export LITELLM_MASTER_KEY=sk-$(openssl rand -hex 32)   # clients send it as their key");
  out.commands.push_back(fmt::format(
      "LITELLM_LOCAL_MODEL_COST_MAP=True litellm --config gateway/litellm.yaml --host 127.0.0.1 --port {}", port));
  out.commands.push_back(fmt::format(
      "curl -i http://127.0.0.1:{}/v1/chat/completions -H \"Authorization: Bearer $LITELLM_MASTER_KEY\" \\\n"
      "  -H 'Content-Type: application/json' \\\n"
      "  -d '{{\"model\": \"{}\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello\"}}], \"max_tokens\": "
      "32}}'",
      port, out.name));
}

}  // namespace

const char* to_string(Serving serving) noexcept {
  switch (serving) {
    case Serving::as_it_is: return "as it is";
    case Serving::keys: return "keys";
    case Serving::sidecar: return "sidecar";
    case Serving::copy: return "copy";
    case Serving::overrides: return "overrides";
  }
  return "";
}

Result<Deployment> deployment(const Ladder& ladder, const ModelFile& model, const DeployOptions& options) {
  if (const auto ok = check_ladder(ladder); !ok) return ok.error();
  const Result<RopeSpec> spec = rope_spec(model);
  if (!spec) return spec.error();
  if (const auto ok = check_fit(ladder.rungs.front().plan, *spec); !ok) return ok.error();
  const bool gguf = model.gguf() != nullptr;
  std::error_code status;
  const fs::path file = fs::absolute(base::to_path(model.path), status).lexically_normal();
  if (status) return Error{ErrorCode::io, status.message(), model.path};
  const Facts facts{
      .ladder = ladder, .model = model, .options = options, .path = base::to_text(gguf ? file : file.parent_path())};
  if (const auto ok = check_options(options, facts.path); !ok) return ok.error();

  Deployment out;
  out.name = name_of(facts.path, gguf);
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    ServedRung& rung = out.rungs.emplace_back();
    rung.model = i == 0 ? out.name : fmt::format("{}-{}", out.name, ladder.rungs[i].name);
    out.files.push_back(
        {.path = fmt::format("plans/{}.json", ladder.rungs[i].name), .text = to_json(ladder.rungs[i].plan)});
  }
  const auto served = gguf ? add_llama_cpp(facts, out) : add_engines(facts, out);
  if (!served) return served.error();
  if (ladder.rungs.size() > 1) add_gateway(facts, out);
  out.files.push_back(deploy::readme(facts, out));
  return out;
}

}  // namespace mrrope
