// SPDX-License-Identifier: MIT
//
// Makes a context as llama-server does, with windows for sliding layers, and lets llama.cpp's log say what it
// allocates.
//
//   cache_log MODEL TOKENS SEQUENCES      the log is on stderr
#include <llama.h>

#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  ggml_backend_load_all();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<unsigned>(std::atoi(argv[2]));
  params.n_seq_max = static_cast<unsigned>(std::atoi(argv[3]));
  params.kv_unified = params.n_seq_max > 1;
  params.swa_full = false;  // what the programs take; the library's own default is true
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;
  llama_free(context);
  llama_model_free(model);
}
