// SPDX-License-Identifier: MIT
#include "cli/next.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/paths.h"
#include "base/text.h"

namespace mrrope::cli {

namespace {

namespace fs = std::filesystem;

// "mrrope plan MODEL -c 32k --trained 8k": what all commands share.
std::string command(std::string_view verb, const Typed& typed, std::int64_t context) {
  std::string text = fmt::format("mrrope {} {} -c {}", verb, base::shell_quoted(typed.file), format_context(context));
  if (!typed.trained.empty()) text += " --trained " + base::shell_quoted(typed.trained);
  return text;
}

std::string extend_command(const ModelFile& model, const Typed& typed, const Plan& plan, std::string_view method) {
  std::string text = command("extend", typed, plan.context_target);
  if (!method.empty()) text += " --method " + base::shell_quoted(std::string(method));
  if (!typed.engine.empty()) text += " --target " + base::shell_quoted(typed.engine);
  return text + " -o " + base::shell_quoted(output_name(model, plan.context_target));
}

// llama.cpp on the file as it is, with more room than the file names.
std::string longer_command(const ModelFile& model, const std::string& file, const Plan& plan) {
  return fmt::format("llama-server -m {} -c {} --override-kv {}.context_length=int:{}", base::shell_quoted(file),
                     plan.context_target, base::shell_quoted(model.gguf()->architecture()), plan.context_target);
}

// The plan as a file, and the plug-in that runs it.
void add_plug_in(const ModelFile& model, const Typed& typed, const Plan& plan, std::vector<Step>& steps) {
  std::string file = command("plan", typed, plan.context_target);
  if (!typed.method.empty()) file += " --method " + base::shell_quoted(typed.method);
  steps.push_back({"next", file + " --json > plan.json"});
  steps.push_back(plug_in_step(model, typed.file, plan, "plan.json"));
}

}  // namespace

Step plug_in_step(const ModelFile& model, const std::string& file, const Plan& plan, const std::string& plan_file) {
  return {"run", fmt::format("GGML_BACKEND_PATH=/path/to/libggml-mrrope.so MRROPE_PLAN={} {} -dev MRROPE -ngl 0",
                             base::shell_quoted(plan_file), longer_command(model, file, plan))};
}

std::string serve_command(const ModelFile& model, const Error& refusal, const std::string& file) {
  if (refusal.code != ErrorCode::unsupported || refusal.message.find("no table limits") == std::string::npos) return "";
  return fmt::format("{} {}", model.gguf() != nullptr ? "llama-server -m" : "vllm serve", base::shell_quoted(file));
}

std::string output_name(const ModelFile& model, std::int64_t context) {
  std::error_code status;
  const fs::path path = fs::absolute(base::to_path(model.path), status).lexically_normal();
  const bool gguf = model.gguf() != nullptr;
  std::string stem = base::to_text(gguf ? path.stem() : path.parent_path().filename());
  // The first of several shards gives one file
  if (const std::size_t shard = stem.find("-00001-of-"); shard != std::string::npos) stem.resize(shard);
  if (stem.empty() || stem == "." || stem == "/") stem = "model";
  return fmt::format("{}-{}{}", stem, format_context(context), gguf ? ".gguf" : "");
}

std::string explain_choice(const ModelFile& model, const Choice& choice) {
  std::string text = describe(choice);
  if (model.gguf() != nullptr && !choice.as_wanted())
    text += fmt::format(" The plug-in runs {} itself (docs/plugin.md).", brief(choice.wanted.method));
  return text;
}

Rotation rotation_in_llama_cpp(const ModelFile& model) {
  const Result<Effective> now = effective("llama.cpp", model);
  if (!now || !now->loads) return Rotation::unknown;
  return now->groups.empty() ? Rotation::none : Rotation::some;
}

Outlook outlook_of(const ModelFile& model, const Plan& plan, const Typed& typed, const DeliverOptions& options) {
  Outlook out;
  if (plan.factor <= 1) {
    if (model.gguf() != nullptr)
      out.steps.push_back(
          {"run", fmt::format("llama-server -m {} -c {}", base::shell_quoted(typed.file), plan.context_target)});
    return out;
  }
  Result<Choice> choice = choose(model, plan, typed.engine, options);
  if (!choice) {
    out.trouble = choice.error().message;
    const Rotation rotation = rotation_in_llama_cpp(model);
    if (rotation == Rotation::some) add_plug_in(model, typed, plan, out.steps);
    if (rotation == Rotation::none) out.steps.push_back({"run", longer_command(model, typed.file, plan)});
    return out;
  }
  // What auto would take needs no name
  std::string method = typed.method;
  if (!typed.method.empty() && !choice->as_wanted()) {
    const Result<Plan> recommended = recommend(model, plan.context_target);
    const Result<Choice> by_itself =
        recommended ? choose(model, *recommended, typed.engine, options) : Result<Choice>(recommended.error());
    const bool same = by_itself && by_itself->plan.method == choice->plan.method;
    method = same ? "" : spell(choice->plan.method);
  }
  out.steps.push_back({"next", extend_command(model, typed, plan, method)});
  out.choice = *std::move(choice);
  return out;
}

}  // namespace mrrope::cli
