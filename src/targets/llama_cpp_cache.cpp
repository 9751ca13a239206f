// SPDX-License-Identifier: MIT
//
// Source: llama.cpp v0.5.0, create_memory in src/llama-model.cpp, src/llama-kv-cache*.cpp, src/llama-memory-*.cpp,
// n_embd_r and n_embd_s in src/llama-hparams.cpp, and load_arch_hparams in src/models/*.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_windows.h"
#include "mrrope/spec.h"
#include "targets/cache_layout.h"

namespace mrrope::targets {

namespace {

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// They read a whole text at once.
constexpr std::array<std::string_view, 14> kWithoutCache = {
    "bert",      "dream",       "eurobert", "gemma-embedding", "jina-bert-v2",   "jina-bert-v3", "llada",
    "llada-moe", "modern-bert", "neo-bert", "nomic-bert",      "nomic-bert-moe", "rnd1",         "wavtokenizer-dec"};
constexpr std::array<std::string_view, 6> kRecurrent = {"arwkv7", "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7"};
// A layer without key heads has a state instead.
constexpr std::array<std::string_view, 8> kStateWithoutHeads = {"bailingmoe3", "granitehybrid", "jamba",   "kimi-k3",
                                                                "kimi-linear", "lfm2",          "lfm2moe", "plamo2"};
// … and a layer with a feed forward has neither.
constexpr std::array<std::string_view, 2> kOneThingPerLayer = {"nemotron_h", "nemotron_h_moe"};
// attention.recurrent_layers lists them, or every full_attention_interval-th layer keeps keys.
constexpr std::array<std::string_view, 5> kInterval = {"minimax-01", "qwen35", "qwen35moe", "qwen3next", "qwen4exp"};
constexpr std::array<std::string_view, 2> kWithoutGroups = {"jamba", "mamba"};  // ssm.group_count is not read
// Layers that predict further tokens are not left out.
constexpr std::array<std::string_view, 3> kWithNextLayers = {"deepseek4", "hy_v4", "minimax-m3"};

class Reader {
 public:
  explicit Reader(const GgufModel& model) : model_(model), keys_(model), name_(model.architecture()) {}

  CacheLayout layout() {
    const double blocks = keys_.u32("block_count", 0);
    if (!(blocks >= 1 && blocks <= kMaxLayers) || among(kWithoutCache, name_)) return {};
    layers_ = static_cast<int>(blocks);
    trunk_ = layers_ - static_cast<int>(std::min(keys_.u32("nextn_predict_layers", 0), blocks));
    read_heads();
    if (name_ == "deepseek4") {
      compressed();
    } else {
      for (int i = 0; i < layers_; ++i) {
        if (has_state(i)) add_state(i);
        if (keeps_keys(i)) add_keys(i);
        if (has_indexer(i)) add_indexer(i);
      }
    }
    if (name_ == "nanbeige") repeat(std::max(1.0, keys_.u32("num_loops", 1)));
    return keys_.types() ? out_ : CacheLayout{};  // llama.cpp does not load it
  }

 private:
  // A number for all layers or a list of one for each.
  std::vector<double> each(std::string_view key, std::vector<double> fallback) {
    const GgufValue* value = model_.find(key);
    if (value == nullptr) return fallback;
    if (auto list = value->numbers()) {
      list->resize(static_cast<std::size_t>(layers_));
      for (double& number : *list) number = number >= 0 && number <= UINT32_MAX ? number : 0;
      return *std::move(list);
    }
    fallback.assign(static_cast<std::size_t>(layers_), keys_.u32(key, 0));
    return fallback;
  }
  static double at(const std::vector<double>& list, int layer) { return list[static_cast<std::size_t>(layer)]; }

  void read_heads() {
    const std::vector<double> none(static_cast<std::size_t>(layers_));
    const std::vector<double> heads = each("attention.head_count", none);
    key_heads_ = each("attention.head_count_kv", heads);
    forward_ = each("feed_forward_length", none);
    heads_ = heads[0];
    width_ = keys_.u32("embedding_length", 0);
    const double head = heads_ > 0 ? std::floor(width_ / heads_) : 0;
    key_ = heads_ > 0 ? keys_.u32("attention.key_length", head) : 0;
    value_ = heads_ > 0 ? keys_.u32("attention.value_length", head) : 0;
    sliding_key_ = keys_.u32("attention.key_length_swa", key_);
    sliding_value_ = keys_.u32("attention.value_length_swa", value_);
    latent_ = keys_.u32("attention.key_length_mla", 0) > 0 && keys_.u32("attention.value_length_mla", 0) > 0;
    indexer_ = keys_.u32("attention.indexer.key_length", 0);
    windows_ = formats::read_windows(model_, keys_, layers_);
    out_.window = windows_.tokens;
    // Layers from here on use the keys of an earlier one
    with_own_keys_ = layers_;
    if (name_ == "gemma3n") with_own_keys_ = 20;
    if (name_ == "gemma4") {
      with_own_keys_ =
          layers_ - static_cast<int>(std::min<double>(keys_.u32("attention.shared_kv_layers", 0), layers_));
    }
    if (among(kInterval, name_)) {
      const double every = keys_.u32("full_attention_interval", name_ == "minimax-01" ? 8 : 4);
      std::vector<double> by_interval(none.size(), 1);
      for (std::size_t i = 0; i < by_interval.size() && every >= 1; ++i) {
        by_interval[i] = (i + 1) % static_cast<std::size_t>(every) != 0 ? 1 : 0;
      }
      states_ = each("attention.recurrent_layers", by_interval);
    }
    types_ = each("attention.indexer.types", default_indexers());
  }

  [[nodiscard]] bool slides(int layer) const {
    return windows_.tokens > 0 && windows_.slides[static_cast<std::size_t>(layer)];
  }

  [[nodiscard]] bool has_state(int layer) const {
    if (layer >= trunk_) return false;
    if (among(kRecurrent, name_) || name_ == "falcon-h1") return true;
    if (among(kStateWithoutHeads, name_)) return at(key_heads_, layer) == 0;
    if (among(kOneThingPerLayer, name_)) return at(key_heads_, layer) == 0 && at(forward_, layer) == 0;
    return among(kInterval, name_) && at(states_, layer) != 0;
  }

  [[nodiscard]] bool keeps_keys(int layer) const {
    if (among(kRecurrent, name_) || layer >= with_own_keys_) return false;
    if (name_ == "falcon-h1") return true;
    if (among(kStateWithoutHeads, name_)) return !has_state(layer);
    if (among(kOneThingPerLayer, name_)) return !has_state(layer) && at(forward_, layer) == 0;
    if (among(kInterval, name_)) return layer < trunk_ && !has_state(layer);
    return layer < trunk_ || trunk_ == 0 || among(kWithNextLayers, name_);
  }

  void add_keys(int layer) {
    const bool sliding = slides(layer);
    const double key = sliding ? sliding_key_ : key_;
    const double value = latent_ ? 0 : sliding ? sliding_value_ : value_;
    const double elements = (key + value) * at(key_heads_, layer);
    (sliding ? out_.sliding : out_.full[1]) += elements;
    // A layer without key heads is none that keeps something (DeciLM)
    if (elements > 0) ++(sliding ? out_.sliding_layers : out_.full_layers);
  }

  // GLM 5 has an indexer in every layer, 5.2 in one of four.
  std::vector<double> default_indexers() {
    std::vector<double> types(static_cast<std::size_t>(layers_), name_ == "glm-dsa" ? 1 : 0);
    if (name_ != "glm-dsa" || keys_.u32("context_length", 0) < 1048576) return types;
    for (std::size_t i = 2; i < types.size(); ++i) types[i] = (i - 2) % 4 == 0 && i < 78 ? 1 : 0;
    return types;
  }

  // Sparse attention: a layer that chooses which tokens to read has keys for that.
  [[nodiscard]] bool has_indexer(int layer) {
    if (name_ == "minimax-m3") return layer >= keys_.u32("leading_dense_block_count", 0);
    if (layer >= trunk_) return false;
    if (name_ == "deepseek32") return true;
    if (name_ == "qwen4exp") return !has_state(layer);
    if (name_ == "hy_v4" && keys_.u32("attention.indexer.top_k", 0) == 0) return false;
    return (name_ == "glm-dsa" || name_ == "hy_v4" || name_ == "dots3note") && at(types_, layer) != 0;
  }

  // One head. Values that nobody reads are kept with the keys, except beside latents.
  void add_indexer(int layer) {
    const bool keys_only = latent_ || name_ == "qwen4exp";
    out_.full[1] += (slides(layer) ? sliding_key_ : indexer_) + (keys_only ? 0 : value_);
  }

  void add_state(int layer) {
    constexpr double kFloat32 = 4;
    const double wkv = keys_.u32("wkv.head_size", 0);
    const double short_convolution = keys_.u32("shortconv.l_cache", 0);
    const double delta = keys_.u32("kda.head_dim", 0);
    const double kernel = keys_.u32("ssm.conv_kernel", 0);
    const double inner = keys_.u32("ssm.inner_size", 0);
    const double state = keys_.u32("ssm.state_size", 0);
    const double groups = among(kWithoutGroups, name_) ? 0 : keys_.u32("ssm.group_count", 0);

    double rolling = kernel > 0 ? (kernel - 1) * (inner + 2 * groups * state) : 0;
    double recurrent = state * inner;
    if (wkv > 0) {
      rolling = keys_.u32("token_shift_count", 2) * width_;
      recurrent = width_ * wkv;
    } else if (short_convolution > 0) {
      rolling = width_ * (short_convolution - 1);
    } else if (delta > 0) {
      rolling = 3 * (kernel > 0 ? kernel - 1 : 3) * heads_ * delta;
      recurrent = delta * delta * heads_;
    } else if (name_ == "minimax-01") {
      recurrent = key_ * key_ * heads_;
    }
    // Embeddings of the last words in a layer of their own
    const GgufValue* words = name_ == "qwen4exp" ? model_.find("ple.layers") : nullptr;
    const auto listed = words != nullptr ? words->numbers() : std::nullopt;
    if (listed && std::find(listed->begin(), listed->end(), layer) != listed->end()) {
      rolling += (keys_.u32("ple.conv_kernel", 1) - 1) * keys_.u32("ple.ngram_size", 0) *
                 keys_.u32("hyper_connection.count", 0) * width_;
    }
    out_.state_bytes += kFloat32 * (rolling + recurrent);
    ++out_.recurrent_layers;
  }

  // DeepSeek 4: every layer has a window, and some a cell for 4 or 128 tokens of the whole text.
  void compressed() {
    constexpr double kFloat32 = 4;
    const std::vector<double> none(static_cast<std::size_t>(layers_));
    const std::vector<double> ratios = each("attention.compress_ratios", none);
    out_.each_its_own = true;
    for (int i = 0; i < layers_; ++i) {
      const double key = sliding_key_ * at(key_heads_, i);
      out_.sliding += key;
      ++out_.sliding_layers;
      const int ratio = at(ratios, i) == 4 ? 4 : at(ratios, i) == 128 ? 128 : 0;
      if (ratio == 0) continue;
      out_.full[ratio] += key + (ratio == 4 ? indexer_ : 0);
      // Tokens that do not fill a cell yet, twice: what they say and how much it counts
      out_.state_bytes += 2 * kFloat32 * (ratio == 4 ? 8 * 2 * (sliding_key_ + indexer_) : 128 * sliding_key_);
    }
  }

  // The same layers run several times, each time with keys of their own.
  void repeat(double times) {
    for (auto& [share, elements] : out_.full) elements *= times;
    out_.full_layers = static_cast<int>(std::min(out_.full_layers * times, static_cast<double>(kMaxLayers)));
  }

  const GgufModel& model_;
  formats::KeyReader keys_;
  std::string name_;
  CacheLayout out_;
  formats::GgufWindows windows_;
  int layers_ = 0;
  int trunk_ = 0;          // without those that predict further tokens
  int with_own_keys_ = 0;  // of the first layers
  double width_ = 0, heads_ = 0, key_ = 0, value_ = 0, sliding_key_ = 0, sliding_value_ = 0, indexer_ = 0;
  bool latent_ = false;
  std::vector<double> key_heads_, forward_, states_, types_;
};

}  // namespace

CacheLayout llama_cpp_cache(const GgufModel& model) { return Reader(model).layout(); }

}  // namespace mrrope::targets
