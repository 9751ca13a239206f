// SPDX-License-Identifier: MIT
//
// Architectures of llama.cpp v0.5.0 (src/models/*.cpp) and what they do with factor tensors and scaling keys. 116 of
// them were measured on tiny models (tests/llama, tools/make_tiny_models.py); the rest do not rotate, or were read
// only.
#include <algorithm>
#include <array>

#include "targets/llama_cpp.h"

namespace mrrope::targets {

namespace {

using enum Factors;

// Sorted.
constexpr auto kArchitectures = std::to_array<Architecture>({
    {"afmoe", refused},
    {"apertus", freqs_or_lists},
    {"arcee", freqs},
    {"arctic", refused},
    {"arwkv7", no_rope},
    {"baichuan", refused},
    {"bailingmoe", refused},
    {"bailingmoe2", refused},
    {"bailingmoe3", refused},
    {"bert", refused},
    {"bitnet", refused},
    {"bloom", no_rope},
    {"chameleon", refused},
    {"chatglm", refused},
    {"clip", no_rope},
    {"codeshell", refused},
    {"cogvlm", ignored, Magnitude::ignored, Keys::nothing},
    {"cohere2", refused},
    {"cohere2moe", refused},
    {"command-r", refused},
    {"dbrx", refused},
    {"deci", freqs_or_lists},
    {"deepseek", refused},
    {"deepseek2", refused, Magnitude::twice, Keys::scores},
    {"deepseek2-ocr", refused, Magnitude::twice, Keys::nothing},
    {"deepseek32", refused, Magnitude::twice, Keys::scores},
    {"deepseek4", refused, Magnitude::ignored, Keys::nothing},
    {"dflash", freqs},
    {"dots1", refused},
    {"dots3note", refused, Magnitude::applied, Keys::all, Sliding::scaling},
    {"dream", refused},
    {"eagle3", freqs},
    {"ernie4_5", refused},
    {"ernie4_5-moe", refused},
    {"eurobert", refused},
    {"exaone", freqs},
    {"exaone-moe", freqs},
    {"exaone4", freqs},
    {"falcon", refused},
    {"falcon-h1", ignored},
    {"gemma", refused},
    {"gemma-embedding", refused},
    {"gemma2", refused},
    {"gemma3", refused},
    {"gemma3n", refused},
    {"gemma4", freqs},
    {"gemma4-assistant", freqs},
    {"glm-dsa", refused, Magnitude::twice, Keys::scores},
    {"glm4", refused},
    {"glm4moe", refused},
    {"gpt-oss", refused},
    {"gpt2", no_rope},
    {"gptj", no_rope},
    {"gptneox", refused},
    {"granite", freqs_or_lists},
    {"granite_swa", freqs_or_lists},
    {"granitehybrid", freqs},
    {"granitemoe", freqs_or_lists},
    {"graniteswitch", refused},
    {"grok", refused, Magnitude::applied, Keys::no_yarn},
    {"grovemoe", refused},
    {"hrm_text", refused},
    {"hunyuan-dense", refused},
    {"hunyuan-moe", refused},
    {"hunyuan_vl", refused},
    {"hy_v3", refused},
    {"hy_v4", refused},
    {"internlm2", refused},
    {"jais", no_rope},
    {"jais2", refused},
    {"jamba", no_rope},
    {"jina-bert-v2", no_rope},
    {"jina-bert-v3", refused},
    {"kimi-k3", no_rope},
    {"kimi-linear", no_rope},
    {"laguna", refused, Magnitude::applied, Keys::all, Sliding::nothing},
    {"lfm2", refused},
    {"lfm2moe", refused},
    {"llada", ignored},
    {"llada-moe", refused},
    {"llama", freqs_or_lists},
    {"llama-embed", freqs_or_lists},
    {"llama4", freqs},
    {"maincoder", refused},
    {"mamba", no_rope},
    {"mamba2", no_rope},
    {"maple", refused},
    {"mellum", refused, Magnitude::applied, Keys::all, Sliding::nothing},
    {"mimo2", refused},
    {"minicpm", freqs_or_lists},
    {"minicpm3", lists},
    {"minimax-01", refused},
    {"minimax-m2", refused},
    {"minimax-m3", refused},
    {"mistral3", freqs_or_lists},
    {"mistral4", refused, Magnitude::twice, Keys::scores},
    {"modern-bert", refused},
    {"mpt", no_rope},
    {"muse-glimmer", refused, Magnitude::applied, Keys::base},
    {"nanbeige", freqs},
    {"nemotron", refused},
    {"nemotron_h", no_rope},
    {"nemotron_h_moe", no_rope},
    {"neo-bert", refused},
    {"nomic-bert", refused},
    {"nomic-bert-moe", refused},
    {"olmo", refused},
    {"olmo2", refused, Magnitude::applied, Keys::all, Sliding::nothing},
    {"olmoe", refused},
    {"openelm", refused},
    {"orion", refused},
    {"paddleocr", refused},
    {"pangu-embedded", ignored},
    {"phi2", refused},
    {"phi3", lists},
    {"phimoe", lists},
    {"plamo", refused},
    {"plamo2", refused},
    {"plamo3", refused},
    {"plm", refused},
    {"pockettts", refused},
    {"qwen", refused},
    {"qwen2", refused},
    {"qwen2moe", refused},
    {"qwen2vl", refused},
    {"qwen3", refused},
    {"qwen35", refused},
    {"qwen35moe", refused},
    {"qwen3moe", refused},
    {"qwen3next", refused},
    {"qwen3tts", refused},
    {"qwen3vl", refused},
    {"qwen3vlmoe", refused},
    {"qwen4exp", refused},
    {"refact", ignored, Magnitude::ignored, Keys::nothing},
    {"rnd1", refused},
    {"rwkv6", no_rope},
    {"rwkv6qwen2", no_rope},
    {"rwkv7", no_rope},
    {"seed_oss", refused},
    {"smallthinker", refused},
    {"smollm3", refused},
    {"spark2_5", refused},
    {"stablelm", refused},
    {"starcoder", refused},
    {"starcoder2", refused},
    {"step35", freqs_or_lists},
    {"t5", no_rope},
    {"t5encoder", no_rope},
    {"talkie", refused},
    {"wavtokenizer-dec", no_rope},
    {"xverse", refused},
});

// Their layers that see the whole text do not rotate at all: positions reach no further than the window.
constexpr std::array<std::string_view, 8> kWindowsRotate = {"afmoe",   "cohere2", "cohere2moe", "exaone-moe",
                                                            "exaone4", "llama4",  "maple",      "muse-glimmer"};

// Without a tiny model (tools/make_tiny_models.py): encoders, and what hangs on another model.
constexpr std::array<std::string_view, 15> kReadOnly = {
    "bert",          "chameleon",    "dflash",      "eagle3",      "eurobert", "gemma-embedding", "gemma4-assistant",
    "graniteswitch", "jina-bert-v3", "llama-embed", "modern-bert", "neo-bert", "nomic-bert",      "nomic-bert-moe",
    "starcoder"};

}  // namespace

Evidence evidence_for(std::string_view architecture) {
  const Architecture* row = find_architecture(architecture);
  const bool run = row != nullptr && row->factors != no_rope &&
                   std::find(kReadOnly.begin(), kReadOnly.end(), architecture) == kReadOnly.end();
  return run ? Evidence::run : Evidence::read;
}

bool does_not_rotate(const formats::GgufRope& rope) {
  const Architecture* row = find_architecture(rope.architecture);
  return rope.rotary_dim == 0 || (row != nullptr && row->factors == no_rope);
}

bool only_windows_rotate(const formats::GgufRope& rope) {
  return rope.sliding_window > 0 &&
         std::find(kWindowsRotate.begin(), kWindowsRotate.end(), rope.architecture) != kWindowsRotate.end();
}

const Architecture* find_architecture(std::string_view name) {
  const auto* found = std::lower_bound(std::begin(kArchitectures), std::end(kArchitectures), name,
                                       [](const Architecture& a, std::string_view n) { return a.name < n; });
  return found != std::end(kArchitectures) && found->name == name ? found : nullptr;
}

}  // namespace mrrope::targets
