// SPDX-License-Identifier: MIT
//
// A model on disk, whatever its format: a GGUF (also split), a Hugging Face folder or its config.json.
//
//   Result<ModelFile> model = read_model("model.gguf");   // header only: milliseconds for any size
//   Result<RopeSpec> spec = rope_spec(*model);
//   ModelFacts facts = facts_of(*model);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "mrrope/gguf.h"
#include "mrrope/hf_config.h"
#include "mrrope/result.h"
#include "mrrope/spec.h"

namespace mrrope {

// A small second shard that mrrope wrote beside an untouched GGUF, and a script that serves both (docs/gguf.md).
struct Sidecar {
  std::string shard;   // its path
  std::string script;  // the path of serve.sh; empty: there is none, the sidecar is not complete
  GgufEdits edits;     // what it adds to the model: keys, which the script passes as flags, and tensors
};

struct ModelFile {
  std::string path;  // the file that was read: the first shard, the config.json
  std::variant<GgufModel, HfConfig> content;
  std::optional<HfConfig> original = {};  // of a folder that mrrope extended: the first config.json (hf_folder.h)
  std::optional<Sidecar> sidecar = {};    // of a GGUF that has one; `content` is the model without it
  // What the model was really trained for, where the file says something else: Qwen 3 declares 40960 and means 32768.
  // rope_spec() believes it; at least 7 tokens.
  std::optional<std::int64_t> context_trained = {};

  [[nodiscard]] const GgufModel* gguf() const { return std::get_if<GgufModel>(&content); }
  [[nodiscard]] const HfConfig* hf() const { return std::get_if<HfConfig>(&content); }
};

// `path`: a .gguf, a folder with a config.json, a config.json, or a sidecar: its folder or one of its two shards. The
// content decides, not the name.
Result<ModelFile> read_model(const std::string& path);

// Whether the file or folder is one that mrrope extended.
bool was_extended(const ModelFile& model);

// What the model was trained with; of one that mrrope extended, what it was before.
Result<RopeSpec> rope_spec(const ModelFile& model);

// The same without a file: `bytes` are the text of a config.json or the first bytes of a GGUF, as many as hold its
// header and its tensors of rotary factors, if it has some (Llama 3.1, Phi-3); all of a mapped file will do. They are
// hostile until checked, and memory is bounded by how many there are. Of a config.json that mrrope extended, what it
// says now. Errors: as above; unsupported, for the first of several shards: factors may lie in another.
Result<RopeSpec> rope_spec(std::span<const std::byte> bytes);

// For people. 0 and empty mean: the file does not say.
struct ModelFacts {
  std::string name;
  std::string architecture;
  std::string quantization;      // "Q8_0"
  std::uint64_t parameters = 0;  // GGUF only
  std::uint64_t bytes = 0;       // of all shards; GGUF only
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int sliding_window = 0;
};
ModelFacts facts_of(const ModelFile& model);

}  // namespace mrrope
