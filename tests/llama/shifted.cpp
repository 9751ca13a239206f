// SPDX-License-Identifier: MIT
//
// The same prompts at other positions, all tokens of a prompt moved together: how likely is the text, and is the right
// answer still found? Attention depends on distances only, so that in theory nothing changes.
//
//   shifted MODEL PROMPTS POSITION…
//
// PROMPTS holds pairs of strings, each with a zero byte behind it: a text, and the right answer to it or nothing.
// Prints one line of JSON: the backends that were loaded, and for every prompt and position the number of tokens that
// were judged (those of the answer; without one, all of the text but the first), their mean -ln p, and whether a greedy
// reader finds them, i.e. each is the likeliest after the right ones before it.
//
// llama.cpp as it is by default, in one thread: float16 cache, flash attention where it can, repacked weights.
// GGML_BACKEND_PATH adds a backend, as in every program of llama.cpp.
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "reading.h"

namespace {

struct Prompt {
  std::vector<llama_token> tokens;
  int judged_from = 1;  // the first token whose likelihood counts
};

[[noreturn]] void fail(const char* reason) {
  std::fprintf(stderr, "shifted: %s\n", reason);
  std::exit(1);
}

std::vector<std::string> strings_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> strings;
  for (std::string string; std::getline(file, string, '\0');) strings.push_back(string);
  return strings;
}

Prompt prompt_of(const llama_model* model, const std::string& text, const std::string& answer) {
  Prompt prompt{.tokens = reading::tokens_of(model, text + answer)};
  if (!answer.empty()) {
    const std::vector<llama_token> asked = reading::tokens_of(model, text);
    if (asked.size() >= prompt.tokens.size() || !std::equal(asked.begin(), asked.end(), prompt.tokens.begin())) {
      fail("the end of a text and its answer share a token");
    }
    prompt.judged_from = static_cast<int>(asked.size());
  }
  if (prompt.tokens.size() < 2) fail("a prompt has less than two tokens");
  return prompt;
}

struct Judgement {
  int tokens = 0;
  double nll = 0;
  bool found = true;
};

Judgement judge(llama_context* context, const Prompt& prompt, llama_pos position) {
  if (!reading::read_at(context, prompt.tokens, position, prompt.judged_from - 1)) fail("llama_decode failed");
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
  const auto count = static_cast<int>(prompt.tokens.size());
  Judgement judgement{.tokens = count - prompt.judged_from};
  for (int i = prompt.judged_from; i < count; ++i) {
    const llama_token token = prompt.tokens[static_cast<std::size_t>(i)];
    const float* logits = llama_get_logits_ith(context, i - 1);
    judgement.nll += reading::minus_ln_p(logits, n_vocab, token) / judgement.tokens;
    judgement.found = judgement.found && std::max_element(logits, logits + n_vocab) - logits == token;
  }
  return judgement;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::vector<std::string> strings = strings_of(argv[2]);
  if (strings.empty() || strings.size() % 2 != 0) fail("PROMPTS does not hold pairs of strings");

  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) fail("the model does not load");
  std::vector<Prompt> prompts;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < strings.size(); i += 2) {
    prompts.push_back(prompt_of(model, strings[i], strings[i + 1]));
    longest = std::max(longest, prompts.back().tokens.size());
  }

  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<unsigned>(longest);
  params.n_threads = params.n_threads_batch = 1;
  if (longest > params.n_batch) fail("a prompt is longer than a batch");
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) fail("no context");

  std::printf(R"({"backends":[)");
  for (std::size_t i = 0; i < ggml_backend_reg_count(); ++i) {
    std::printf(R"(%s"%s")", i == 0 ? "" : ",", ggml_backend_reg_name(ggml_backend_reg_get(i)));
  }
  std::printf(R"(],"readings":[)");
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    for (int k = 3; k < argc; ++k) {
      const auto position = static_cast<llama_pos>(std::strtol(argv[k], nullptr, 10));
      const Judgement judgement = judge(context, prompts[i], position);
      std::printf(R"(%s{"prompt":%zu,"position":%d,"tokens":%d,"nll":%.9g,"found":%s})", i == 0 && k == 3 ? "" : ",", i,
                  position, judgement.tokens, judgement.nll, judgement.found ? "true" : "false");
    }
  }
  std::printf("]}\n");
  llama_free(context);
  llama_model_free(model);
}
