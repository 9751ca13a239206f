// SPDX-License-Identifier: MIT
//
// A ladder as files for what serves it: llama.cpp, vLLM, SGLang, and gateways that send each prompt to its rung.
//
//   Result<Deployment> files = deployment(*ladder, *model, {.folder = "/srv/deploy"});
//   write_deployment(*files, *ladder, *model, "/srv/deploy");   // README.md has the commands in their order
//
// We write no server and no proxy: everything here configures one that exists (docs/ladder.md). A GGUF gets
// llama.cpp/presets.ini for llama-server's router, whose rungs share one mapped copy of the weights: what a rung adds
// is flags, or a small second shard (extend.h). A Hugging Face folder gets vllm/ and sglang/: a script per engine,
// units of systemd, compose.yaml and kubernetes.yaml. Both get gateway/litellm.yaml and the hook that it needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mrrope/ladder.h"
#include "mrrope/model_file.h"
#include "mrrope/result.h"

namespace mrrope {

// How an engine comes to the table of a rung.
enum class Serving {
  as_it_is,   // the model's own file
  keys,       // llama.cpp: --override-kv
  sidecar,    // llama.cpp: a second shard beside a link to the model
  copy,       // llama.cpp: a file of its own, which `mrrope extend` writes; its weights are in memory once more
  overrides,  // vLLM: --hf-overrides
};
const char* to_string(Serving serving) noexcept;  // "as it is", "keys", …

struct ServedRung {
  Serving serving = Serving::as_it_is;
  std::string model;       // what clients of a gateway may call it: "smollm2", "smollm2-16k"
  int port = 0;            // of its server; llama-server has all rungs behind one
  double cache_bytes = 0;  // keys and values of one sequence as long as the rung, in f16; 0: the file does not say
  std::string flags = {};  // llama.cpp: of --override-kv; vLLM: of --hf-overrides
};

struct DeployedFile {
  std::string path;  // within the folder, with /
  std::string text;
  bool executable = false;

  bool operator==(const DeployedFile&) const = default;
};

struct DeployOptions {
  std::string folder;  // where the files will be, absolute: units of systemd and mounts name it
  int port = 8080;     // of the gateway; servers have those after it. 1 … 65535 - kMaxRungs
};

struct Deployment {
  std::string name;               // what clients ask a gateway for: the model's name in letters, digits and -
  std::vector<ServedRung> rungs;  // as in the ladder
  std::vector<DeployedFile> files;
  std::vector<std::string> notes;     // for people
  std::vector<std::string> commands;  // for a shell in the folder, in their order
};

// Nothing is written. Errors: a ladder of another model (as check_fit); a plan that the engine cannot run from here (as
// deliver()), a folder whose name no unit of systemd can say (control characters), a port out of range.
Result<Deployment> deployment(const Ladder& ladder, const ModelFile& model, const DeployOptions& options);

// Paths within the folder.
struct WrittenDeployment {
  std::vector<std::string> files;
  std::vector<std::string> left;  // of rungs that only the folder's earlier ladder had; nothing uses them
};

// Writes the files into the folder, and for a GGUF the links and sidecars beside presets.ini. A folder of an earlier
// ladder is renewed; anything else that is not empty is refused, and of the files only those are replaced that mrrope
// wrote. Nothing is removed.
Result<WrittenDeployment> write_deployment(const Deployment& deployment, const Ladder& ladder, const ModelFile& model,
                                           const std::string& folder);

}  // namespace mrrope
