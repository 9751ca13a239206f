// SPDX-License-Identifier: MIT
//
// Runs models: llama.cpp, with any plan in the place of the rotation a file asks for.
//
//   Result<LlamaModel> model = LlamaModel::load("model.gguf");
//   Result<LlamaContext> context = LlamaContext::create(*model, {.ctx_size = 32768});
//   Result<std::vector<Token>> tokens = model->tokenize(text);
//   Result<void> done = context->use(plan);                       // the file is not touched; use another one any time
//   done = context->decode(*tokens, {.logits_from = 0}, [&](std::size_t i, std::span<const float> row) {
//     …                                                           // row predicts the token after tokens[i]
//   });
//   context->rotation();                                          // what was really computed, per group of layers
//   done = context->use(*climbing_ladder(spec, 32768));           // or a table that grows with the text
//
// Every architecture that llama.cpp rotates takes every plan: the nodes of its graph are changed as they are about to
// run, in place, on the device they run on, at the cost of a comparison per node. Names and defaults of options are
// those of llama.cpp's flags.
//
// This is a room of its own, src/llama, built where llama.cpp is found (cmake/llama.cmake).
// Nothing is printed: llama.cpp's log is taken over by the first load, and its last lines stand in our errors. Two
// things end the process because ggml knows no other answer: an RPC server that goes away while it is used, and a file
// that follows GGUF yet contradicts what its architecture takes for granted.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/ladder.h"
#include "mrrope/plan.h"
#include "mrrope/result.h"
#include "mrrope/rotation.h"

namespace mrrope {

using Token = std::int32_t;

// ---- Model ----------------------------------------------------------------------------------------------------------

struct LlamaModelOptions {
  int n_gpu_layers = -1;                 // --n-gpu-layers: on GPUs and RPC servers, the last layers first; -1 = all
  std::vector<std::string> rpc = {};     // --rpc: "host:port" each; they share the layers with the GPUs of this machine
  std::string split_mode = "layer";      // --split-mode: none, layer, row
  std::vector<float> tensor_split = {};  // --tensor-split: shares of the devices, RPC servers first
  int main_gpu = 0;                      // --main-gpu: the only device with split_mode none
  std::string load_mode = "auto";        // --load-mode: auto, none, mmap, mlock, mmap+mlock, dio
  bool check_tensors = false;            // --check-tensors: look for NaN in every weight
  bool vocab_only = false;               // no weights: tokenises, and nothing else
  bool repack = true;                    // --no-repack if false: slower, and the same bits on every processor
};

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct TokenizeOptions {
  bool add_special = true;     // BOS and the like, as the file wants them
  bool parse_special = false;  // "<|im_start|>" in the text is one token
};

// Weights and vocabulary. Move-only. All members are safe to call from several threads at once; several contexts may
// run on one model. The weights live until the model and all its contexts are gone.
class LlamaModel {
 public:
  // `path`: a .gguf, or the first shard of a split one. Errors: io, malformed, unsupported; `where` names the file or
  // the option. An RPC server that does not answer within five seconds is an error.
  static Result<LlamaModel> load(const std::string& path, const LlamaModelOptions& options = {});

  [[nodiscard]] std::string architecture() const;  // "llama"
  [[nodiscard]] int n_layer() const;
  [[nodiscard]] int n_vocab() const;
  [[nodiscard]] std::int64_t n_ctx_train() const;
  [[nodiscard]] std::optional<Token> bos() const;
  [[nodiscard]] std::optional<Token> eos() const;
  [[nodiscard]] bool adds_bos() const;                     // does tokenize put a BOS before the text?
  [[nodiscard]] bool ends_text(Token t) const;             // end of text or of a turn: where generation stops
  [[nodiscard]] bool can_truncate() const;                 // false: part of the model is recurrent and cannot go back
  [[nodiscard]] std::vector<std::string> devices() const;  // that hold layers: "RPC0", "CUDA0"; empty: the processor

  [[nodiscard]] Result<std::vector<Token>> tokenize(std::string_view text, const TokenizeOptions& options = {}) const;
  // Special tokens come out as text if `special`, otherwise not at all. A number that is no token is an error.
  [[nodiscard]] Result<std::string> detokenize(std::span<const Token> tokens, bool special = false) const;
  [[nodiscard]] std::string chat_template() const;  // Jinja, as the file has it; empty: none
  // The prompt a chat template makes of a conversation, ready for the answer: the file's, or the one that llama.cpp
  // knows by `name` ("chatml"). llama.cpp recognises common templates and does not run Jinja; one it does not recognise
  // is ErrorCode::unsupported, as is a file without.
  [[nodiscard]] Result<std::string> apply_chat_template(std::span<const ChatMessage> messages,
                                                        const std::string& name = {}) const;

  LlamaModel(LlamaModel&&) noexcept;
  LlamaModel& operator=(LlamaModel&&) noexcept;
  LlamaModel(const LlamaModel&) = delete;
  LlamaModel& operator=(const LlamaModel&) = delete;
  ~LlamaModel();

 private:
  friend class LlamaContext;
  struct Impl;
  explicit LlamaModel(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

// The llama.cpp that runs ("0.5.0"), its file, and the version that mrrope was built for, which may be another.
std::string llama_version();
std::string llama_library();
std::string llama_built_for();

// ---- Context --------------------------------------------------------------------------------------------------------

struct ContextOptions {
  std::int64_t ctx_size = 0;         // --ctx-size: tokens, rounded up to 256; 0 = n_ctx_train
  int ubatch_size = 512;             // --ubatch-size: tokens computed at once (--batch-size is the same here)
  int threads = 0;                   // --threads: for one token; 0 = one per processor
  int threads_batch = 0;             // --threads-batch: for several tokens; 0 = as threads
  std::string flash_attn = "auto";   // --flash-attn: on, off, auto
  std::string cache_type_k = "f16";  // --cache-type-k: f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1
  std::string cache_type_v = "f16";  // --cache-type-v: other than f32, f16 and bf16 needs flash attention
  bool kv_offload = true;            // --no-kv-offload if false
  bool swa_full = false;             // --swa-full: sliding layers keep all tokens, so that truncate() reaches back
};

// Positions are turned into float32 by ggml, exact up to here.
inline constexpr std::int32_t kMaxPosition = 1 << 24;

struct DecodeOptions {
  // Rows of logits from tokens[logits_from] on; 0 = all, tokens.size() or more = none. Default: of the last token only.
  std::size_t logits_from = std::numeric_limits<std::size_t>::max();
  // The positions the rotation of every layer sees, one per token, 0 … kMaxPosition in any order; what a token may
  // attend to stays a matter of sequence order. Empty: they go on by one from the last cached token.
  std::span<const std::int32_t> positions = {};
  static constexpr std::size_t kLast = std::numeric_limits<std::size_t>::max();
};

// `index`: in the tokens of this call. The row has n_vocab values and is valid during the call only.
using LogitsSink = std::function<void(std::size_t index, std::span<const float> logits)>;

struct GenerateOptions {
  int max_tokens = 128;
  std::vector<Token> stop = {};                   // besides tokens that end the text; not part of the result
  std::function<bool(Token)> on_token = nullptr;  // sees each token as it comes; false: enough
};

// Queries and keys of one layer as they were before their rotation. A pair of coordinates is a complex number, so that
// rotating it by an angle is a product with e^(i angle).
struct LayerVectors {
  int layer = 0;
  int pairs = 0;        // that rotate, per head
  int head_dim = 0;     // of which 2 * pairs rotate
  int query_heads = 0;  // a multiple of key_heads: consecutive ones share a key head
  int key_heads = 0;
  std::vector<std::complex<float>> queries;  // [token][head][pair]
  std::vector<std::complex<float>> keys;
};

// One sequence: cached tokens, and the rotation they were computed with. Move-only. For one thread at a time, except
// request_cancel().
class LlamaContext {
 public:
  // Errors: invalid_argument with the option as `where`; unsupported for models that do not continue a text (encoders,
  // diffusion); io if memory does not suffice.
  static Result<LlamaContext> create(const LlamaModel& model, const ContextOptions& options = {});

  [[nodiscard]] const ContextOptions& options() const noexcept;  // as they were given

  // From now on layers rotate by the plan; layers of groups that are not extended, or that the plan does not name,
  // rotate as in the file. Empties the cache. Errors, with everything left as it was: inconsistent if the model's
  // layers, rotated dimensions or base are not those of plan.spec; unsupported if it does not rotate.
  // Cost: microseconds, and once per context one token.
  [[nodiscard]] Result<void> use(const Plan& plan);
  // From now on each token is computed under the lowest rung that holds the text so far, by the largest position;
  // beyond the last rung its table stays. When the text outgrows a rung, or truncate() took it back to a lower one, the
  // cached keys are rotated to the table of the next rung where they are, at the start of the next decode. Rungs of
  // method none are the file as it is: a text that has not left the trained length has the logits of use_file(), bit for
  // bit. Empties the cache. What is exact and what is not: docs/theory.md, "A system that grows".
  // Errors, with everything left as it was: as of use(plan), as of check_ladder; unsupported where cached keys cannot be
  // rotated again: M-RoPE, keys that are normalised after their rotation, caches that llama.cpp cannot shift.
  // Cost of a rung: one pass over the keys of all ctx_size cells of all layers, the memory of one layer's keys in float32
  // where the cache is quantised, and one graph that llama.cpp plans anew.
  [[nodiscard]] Result<void> use(const Ladder& ladder);
  // Back to what the file says. Empties the cache.
  void use_file();

  // Appends tokens to the cache. After an error the cache is as it was before the call or, where it cannot go back
  // (can_truncate, swa_full), empty: see n_cached. ErrorCode::cancelled after request_cancel().
  // Memory: ubatch_size rows of logits at most.
  [[nodiscard]] Result<void> decode(std::span<const Token> tokens, const DecodeOptions& options = {},
                                    const LogitsSink& sink = nullptr);

  // Appends the prompt and what the model finds most likely after it; of equals the token with the lowest number. The
  // last token of the result is not in the cache.
  [[nodiscard]] Result<std::vector<Token>> generate_greedy(std::span<const Token> prompt,
                                                           const GenerateOptions& options = {});

  // The queries and keys of some layers over a text, under what `use` set. They are read after their rotation and
  // turned back in double precision; ggml's float32 angles leave 2^-23 of the position, 1e-4 at 1000 tokens. Empties
  // the cache first. Errors as of decode, and unsupported where the graph does not name queries and keys.
  [[nodiscard]] Result<std::vector<LayerVectors>> read_vectors(std::span<const Token> tokens,
                                                               std::span<const int> layers);

  // Forgets all but the first n cached tokens. Domain: n <= n_cached(). Errors: unsupported where the cache cannot go
  // back that far; then nothing changes.
  [[nodiscard]] Result<void> truncate(std::size_t n);
  void clear();  // truncate(0); always possible

  // Ends the call that is running, or else the next decode or generate, with ErrorCode::cancelled. From any thread; the
  // processor stops after the current node, other devices after their share of the ubatch.
  void request_cancel() noexcept;

  [[nodiscard]] std::size_t n_cached() const;
  [[nodiscard]] std::size_t ctx_size() const;     // tokens that fit
  [[nodiscard]] std::size_t ubatch_size() const;  // tokens computed at once

  // As of the first tokens decoded since create, use or use_file, or on the rung that the text has reached; empty
  // before.
  [[nodiscard]] std::vector<Rotation> rotation() const;

  LlamaContext(LlamaContext&&) noexcept;
  LlamaContext& operator=(LlamaContext&&) noexcept;
  LlamaContext(const LlamaContext&) = delete;
  LlamaContext& operator=(const LlamaContext&) = delete;
  ~LlamaContext();

 private:
  struct Impl;
  explicit LlamaContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrrope
