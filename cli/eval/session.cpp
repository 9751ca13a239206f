// SPDX-License-Identifier: MIT
#include "cli/eval/session.h"

#include <filesystem>
#include <map>
#include <utility>

#include "base/paths.h"
#include "cli/input.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

// Everything that changes a number by more than its rounding, which devices and threads do.
std::map<std::string, std::string> settings_of(const ContextOptions& context) {
  return {{"ubatch-size", std::to_string(context.ubatch_size)},
          {"flash-attn", context.flash_attn},
          {"cache-type-k", context.cache_type_k},
          {"cache-type-v", context.cache_type_v}};
}

}  // namespace

Result<Session> start_session(const EvalOptions& options, const std::string& task,
                              const std::vector<std::string>& command) {
  const Result<ModelFile> file = open_model(options.model, options.trained);
  if (!file) return file.error();
  if (file->gguf() == nullptr) return Error{ErrorCode::unsupported, "llama.cpp runs GGUF files", options.model};
  const Result<std::string> hash = model_hash(*file->gguf());
  if (!hash) return hash.error();
  Result<LlamaModel> model = LlamaModel::load(options.model, options.load);
  if (!model) return model.error();
  std::int64_t trained = model->n_ctx_train();
  if (file->sidecar) {
    note("{} is a sidecar, for llama.cpp's own programs: none is the model without it\n", options.model);
  } else if (was_extended(*file)) {
    note("{} was extended by mrrope: none is the file as it is, with its plan\n", options.model);
  }
  // Keys of an extended file speak of the extended length
  if (const Result<RopeSpec> spec = rope_spec(*file); spec && (was_extended(*file) || file->context_trained)) {
    trained = spec->context_trained;
  }
  eval::RunInfo info{.task = task,
                     .model = base::to_text(base::to_path(options.model).filename()),
                     .model_hash = *hash,
                     .architecture = model->architecture(),
                     .context_trained = trained,
                     .engine = "llama.cpp " + llama_version()};
  info.settings = settings_of(options.context);
  info.settings.insert(options.settings.begin(), options.settings.end());
  info.command = command;
  Result<OpenRun> run = open_run(options, std::move(info));
  if (!run) return run.error();
  return Session{*std::move(model), std::move(run->folder), std::move(run->temporary)};
}

}  // namespace mrrope::cli
