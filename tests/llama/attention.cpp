// SPDX-License-Identifier: MIT
//
// Does a text look the same to a model wherever it stands? Attention depends on distances only, so that a text that is
// moved, all tokens together, changes nothing: exactly 0 in theory.
//
//   attention MODEL TEXT TOKENS POSITION…     the first TOKENS tokens of TEXT (at most 512), from each position on
//
// Prints one line of JSON: for every position the largest change of an attention weight of any layer, head and query
// against the same text at position 0, the mean of these changes weighted by the weights, and the mean -ln p of the
// text. One thread, float32 cache, no flash attention; GGML_BACKEND_PATH adds a backend, as in every program of
// llama.cpp.
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "reading.h"

namespace {

using Weights = std::vector<float>;  // of all layers, (head, query, key) each

// cb_eval: asked before a node, shown its result if it wanted to see it.
bool on_node(ggml_tensor* node, bool ask, void* user_data) {
  const bool wanted = std::strncmp(node->name, "kq_soft_max-", 12) == 0;
  if (!ask && wanted) {
    Weights& weights = *static_cast<Weights*>(user_data);
    const auto count = static_cast<std::size_t>(ggml_nelements(node));
    weights.resize(weights.size() + count);
    ggml_backend_tensor_get(node, &weights[weights.size() - count], 0, count * sizeof(float));
  }
  return ask ? wanted : true;
}

struct Look {
  Weights weights;
  double nll = 0;
};

Look look_at(llama_context* context, const std::vector<llama_token>& tokens, llama_pos first, Weights& sink) {
  sink.clear();
  if (!reading::read_at(context, tokens, first, 0)) std::exit(1);
  Look look;
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const float* logits = llama_get_logits_ith(context, static_cast<int>(i) - 1);
    look.nll += reading::minus_ln_p(logits, n_vocab, tokens[i]) / static_cast<double>(tokens.size() - 1);
  }
  look.weights = sink;
  return look;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t count = std::min(std::strtoul(argv[3], nullptr, 10), 512UL);

  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  std::vector<llama_token> tokens = reading::tokens_of(model, text.substr(0, 8 * count));
  if (tokens.size() < count) return 1;
  tokens.resize(count);

  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 512;
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  Weights sink;
  params.cb_eval = on_node;
  params.cb_eval_user_data = &sink;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;

  const Look start = look_at(context, tokens, 0, sink);
  std::printf("[");
  for (int i = 4; i < argc; ++i) {
    const auto position = static_cast<llama_pos>(std::strtol(argv[i], nullptr, 10));
    const Look look = look_at(context, tokens, position, sink);
    if (look.weights.empty() || look.weights.size() != start.weights.size()) return 1;
    double largest = 0, mean = 0, all = 0;
    for (std::size_t k = 0; k < start.weights.size(); ++k) {
      const double change = std::fabs(static_cast<double>(look.weights[k]) - start.weights[k]);
      largest = std::max(largest, change);
      mean += change * start.weights[k];
      all += start.weights[k];
    }
    std::printf(R"(%s{"position":%d,"largest":%.6g,"mean":%.6g,"nll":%.9g})", i == 4 ? "" : ",", position, largest,
                mean / all, look.nll);
  }
  std::printf("]\n");
  llama_free(context);
  llama_model_free(model);
}
