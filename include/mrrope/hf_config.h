// SPDX-License-Identifier: MIT
//
// config.json of a Hugging Face model: what it says about rotary embeddings, and changes to it.
//
//   Result<HfConfig> config = HfConfig::parse(text);
//   Result<RopeSpec> spec = config->rope_spec();                       // what transformers 5 would build from it
//   config->set("rope_scaling", R"({"rope_type": "linear", "factor": 2.0})");
//   config->changes();                                                 // {"rope_scaling", "null", "{…}"}
//   config->text();                                                    // the file; all other bytes as they were
//
// The same fact has been spelt in many ways. All of these are read:
//   rope_scaling beside rope_theta (transformers 4), rope_parameters (5), rope_parameters per layer type (Gemma 3, …);
//   type and rope_type; "su" for longrope, "mrope" for plain; partial_rotary_factor, rotary_pct, rotary_dim;
//   original_max_position_embeddings inside or outside; rope_local_base_freq; qk_rope_head_dim (MLA);
//   a language model inside text_config, llm_config, language_config or thinker_config.
// Where they contradict each other, and where a field is missing, the answer is that of transformers 5.22: the table of
// rope_spec() is its inv_freq and attention_scaling within its float32 rounding (tests/engines/test_hf_configs.py).
// null counts as missing. What transformers silently ignores is said in HfFacts::remarks.
//
// HfConfig is a value; const functions are safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mrrope/result.h"
#include "mrrope/spec.h"

namespace mrrope {

// One field, old -> new, as JSON texts without line breaks; empty: the field is not there.
struct HfChange {
  std::string path;  // "rope_scaling.factor"
  std::string before;
  std::string after;

  bool operator==(const HfChange&) const = default;
};

// A value and where it came from: "rope base", "500000.0", "rope_parameters.rope_theta" (or "default of llama").
struct HfFact {
  std::string name;
  std::string value;
  std::string source;

  bool operator==(const HfFact&) const = default;
};

// For display and for estimates of memory. 0: the file does not say.
struct HfFacts {
  int layers = 0;
  int attention_layers = 0;  // those that keep keys and values; fewer than layers in hybrid models
  int sliding_layers = 0;    // of these, those that look back no further than sliding_window
  std::int64_t sliding_window = 0;
  bool only_windows_rotate = false;  // the layers that see the whole text do not rotate (Command A, Llama 4)
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;                       // of the first group; MLA: its rotated part
  int kv_lora_rank = 0;                   // MLA: the width of the latent without the rotated part
  std::vector<HfFact> sources = {};       // every value that was used
  std::vector<std::string> remarks = {};  // what is ignored or unusual, in sentences
};

// Larger files are refused: no config comes near.
inline constexpr std::size_t kMaxHfConfigBytes = std::size_t{16} << 20;

class HfConfig {
 public:
  // Strict JSON (no repeated keys, no NaN) with an object at the top. Errors name line and column.
  static Result<HfConfig> parse(std::string_view text);

  // The file. An edit replaces the bytes of its value and nothing else; edits that cancel out leave no trace.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // The text that was parsed: the file before its edits.
  [[nodiscard]] const std::string& original() const noexcept { return original_; }

  // Of the language model; may be empty.
  [[nodiscard]] std::string model_type() const;
  // The object that holds the fields of the language model: empty, or "text_config".
  [[nodiscard]] std::string text_path() const;

  // What the model says about its rotary embedding. Errors name the field: "rope_scaling.short_factor[3]".
  //
  // Groups: layers that have a table of their own (Gemma 3: "full_attention" and "sliding_attention") are groups, the
  // one that looks far first; sliding layers are not extended. Sliding layers that share the table of all others
  // (Gemma 2, Mistral, gpt-oss) do not make a group; HfFacts tells of them. Layers without rotation are in no group.
  //
  // context_trained, with M = max_position_embeddings, L = original_max_position_embeddings, S = factor:
  //   plain, dynamic  M. A "dynamic" table is plain up to M, so there is no TrainedScaling.
  //   yarn            max(M, L S): Qwen's recipe leaves M at 32768 and says L = 32768, S = 4.
  //   llama3          M where M > L, else L S: Llama 3.2 says S = 32, L = 8192 and is good for M = 131072.
  //   longrope        max(M, L): S only sets the attention scale there.
  //   linear          M; with L (rare) max(M, L S); with max_sequence_length (vicuna-16k) that. Without these, a file
  //                   that gives the length before scaling as M cannot be told from one that gives it after (Gemma 3).
  //   proportional    M.
  // A scaling that changes nothing is left out.
  [[nodiscard]] Result<RopeSpec> rope_spec() const;

  // Fails where rope_spec() fails.
  [[nodiscard]] Result<HfFacts> facts() const;

  // The JSON text of a field, without line breaks; empty if it is not there. A path is keys joined by dots.
  [[nodiscard]] std::string value(std::string_view path) const;

  // Gives a field a new value, at its place or at the end of its object, in the indentation of the file.
  // Errors: no JSON; the object around the field is not there. Nothing has changed then.
  Result<void> set(std::string_view path, std::string_view json_text);
  // Errors: the field is not there.
  Result<void> remove(std::string_view path);
  // All or nothing. Errors: a field is not what its `before` says.
  Result<void> apply(std::span<const HfChange> changes);

  // What differs from the text that was parsed, field by field, in file order; new fields last.
  [[nodiscard]] std::vector<HfChange> changes() const;

 private:
  struct Tree;  // a text, parsed: once, since files of megabytes are asked hundreds of times
  HfConfig(std::string text, std::shared_ptr<const Tree> tree)
      : original_(std::move(text)), text_(original_), before_(std::move(tree)), now_(before_) {}
  void take(std::string text, std::shared_ptr<const Tree> tree);

  std::string original_;
  std::string text_;
  std::shared_ptr<const Tree> before_;  // of original_
  std::shared_ptr<const Tree> now_;     // of text_
};

}  // namespace mrrope
