// SPDX-License-Identifier: MIT
//
// The least that a perplexity can cost: llama_decode over a text, all logits computed, none looked at.
//
//   bare_decode MODEL TOKENS [THREADS]      prints the seconds of the loop
//
// The same settings as `mrrope eval ppl`: ubatches of 512, flash attention auto, f16 cache.
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int tokens = std::atoi(argv[2]);
  const int threads = argc > 3 ? std::atoi(argv[3]) : static_cast<int>(std::thread::hardware_concurrency());
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<unsigned>(tokens);
  params.n_batch = params.n_ubatch = 512;
  params.n_threads = params.n_threads_batch = threads;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_batch batch = llama_batch_init(512, 0, 1);
  const auto start = std::chrono::steady_clock::now();
  for (int done = 0; done < tokens; done += batch.n_tokens) {
    batch.n_tokens = std::min(512, tokens - done);
    for (int i = 0; i < batch.n_tokens; ++i) {
      batch.token[i] = (done + i) * 7919 % vocabulary;
      batch.pos[i] = done + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    if (llama_decode(context, batch) != 0) return 1;
    if (llama_get_logits(context) == nullptr) return 1;  // waits for them
  }
  std::printf("%.4f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
}
