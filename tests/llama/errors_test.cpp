// SPDX-License-Identifier: MIT
//
// What comes from outside and is wrong is a Result, and nothing is printed on the way.
#include <fstream>

#include "tests/llama/support.h"

namespace mrrope::test {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file with these bytes, gone with this object.
class Scratch {
 public:
  explicit Scratch(const std::string& bytes)
      : path_((fs::temp_directory_path() / ("mrrope-scratch-" + std::to_string(::getpid()) + ".gguf")).string()) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~Scratch() { fs::remove(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Quiet : public testing::Test {
 protected:
  void SetUp() override {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
  }
  void TearDown() override {
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }
};

TEST_F(Quiet, FilesThatAreNotThereOrNoModelsAreErrors) {
  const Result<LlamaModel> missing = LlamaModel::load("/nowhere/model.gguf");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  for (const char* text : {"", "GGUF", "not a model at all, only some text that goes on for a while"}) {
    const Scratch file(text);
    EXPECT_FALSE(LlamaModel::load(file.path())) << text;
  }
}

TEST_F(Quiet, FilesCutShortAreErrors) {
  MRROPE_NEED_TINY_MODELS();
  const std::string bytes = bytes_of(tiny("llama"));
  for (const std::size_t parts : {1U, 10U, 50U, 90U, 99U}) {
    const Scratch file(bytes.substr(0, bytes.size() * parts / 100));
    const Result<LlamaModel> model = LlamaModel::load(file.path());
    ASSERT_FALSE(model) << parts << " percent";
    EXPECT_FALSE(model.error().message.empty());
  }
}

TEST_F(Quiet, WhatLlamaCppRefusesCarriesItsReason) {
  MRROPE_NEED_TINY_MODELS();
  GgufEdits unknown;
  unknown.architecture = "nonsense";
  const EditedCopy strange(tiny("llama"), unknown);
  const Result<LlamaModel> model = LlamaModel::load(strange.path());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::unsupported);
  EXPECT_NE(model.error().message.find("unknown model architecture: 'nonsense'"), std::string::npos)
      << model.error().message;

  GgufEdits extra;  // qwen2 has no place for it
  extra.add_tensor("rope_freqs.weight", std::vector<float>(32, 1.0F));
  const EditedCopy surplus(tiny("qwen2"), extra);
  const Result<LlamaModel> refused = LlamaModel::load(surplus.path());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("wrong number of tensors"), std::string::npos) << refused.error().message;
}

TEST_F(Quiet, OptionsOutOfRangeNameTheirOption) {
  MRROPE_NEED_TINY_MODELS();
  const auto load_error = [](const LlamaModelOptions& options) {
    const Result<LlamaModel> model = LlamaModel::load(tiny("llama"), options);
    return model ? std::string() : model.error().option;
  };
  EXPECT_EQ(load_error({.split_mode = "diagonal"}), "split_mode");
  EXPECT_EQ(load_error({.load_mode = "slow"}), "load_mode");
  EXPECT_EQ(load_error({.load_mode = "none", .check_tensors = true, .repack = false}), "");

  const LlamaModel model = load(tiny("llama"));
  const auto context_error = [&](const ContextOptions& options) {
    const Result<LlamaContext> context = LlamaContext::create(model, options);
    return context ? std::string() : context.error().option;
  };
  EXPECT_EQ(context_error({.ctx_size = -1}), "ctx_size");
  EXPECT_EQ(context_error({.ctx_size = std::int64_t{1} << 40}), "ctx_size");
  EXPECT_EQ(context_error({.ctx_size = 256, .ubatch_size = 0}), "ubatch_size");
  EXPECT_EQ(context_error({.ctx_size = 256, .threads = -1}), "threads");
  EXPECT_EQ(context_error({.ctx_size = 256, .threads_batch = 100'000}), "threads_batch");
  EXPECT_EQ(context_error({.ctx_size = 256, .flash_attn = "maybe"}), "flash_attn");
  EXPECT_EQ(context_error({.ctx_size = 256, .cache_type_k = "f8"}), "cache_type_k");
  EXPECT_EQ(context_error({.ctx_size = 256, .cache_type_v = "q4_K"}), "cache_type_v");
  EXPECT_EQ(context_error({.ctx_size = 256, .flash_attn = "on", .cache_type_k = "q8_0", .cache_type_v = "q8_0"}), "");

  const Result<LlamaContext> quantised = LlamaContext::create(
      model, {.ctx_size = 256, .flash_attn = "off", .cache_type_k = "q8_0", .cache_type_v = "q8_0"});
  ASSERT_FALSE(quantised);
  EXPECT_NE(quantised.error().message.find("llama.cpp: "), std::string::npos) << quantised.error().message;
}

TEST_F(Quiet, ModelsThatContinueNoTextAreRefused) {
  MRROPE_NEED_TINY_MODELS();
  const Result<LlamaContext> context = LlamaContext::create(load(tiny("dream")));
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code, ErrorCode::unsupported);
}

TEST_F(Quiet, SplitModelsLoadByTheirFirstShard) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel split = load(tiny("llama-split-00001-of-00003")), whole = load(tiny("llama"));
  LlamaContext a = context_of(split), b = context_of(whole);
  const std::vector<Token> tokens = random_tokens(whole, 8);
  EXPECT_EQ(logits(a, tokens), logits(b, tokens));
}

TEST_F(Quiet, ContextsOutliveTheirModelAndMove) {
  MRROPE_NEED_TINY_MODELS();
  std::optional<LlamaModel> model = load(tiny("llama"));
  const std::vector<Token> tokens = random_tokens(*model, 8);
  LlamaContext context = context_of(*model);
  model.reset();
  const std::vector<float> wanted = logits(context, tokens);
  LlamaContext moved = std::move(context);
  moved.clear();
  EXPECT_EQ(logits(moved, tokens), wanted);
}

TEST_F(Quiet, TextSurvivesTokensAndBack) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  EXPECT_EQ(model.architecture(), "llama");
  EXPECT_GT(model.n_vocab(), 256);
  for (const std::string& text :
       {std::string("The quick brown fox."), std::string("Häuser, 家, \xf0\x9f\x8f\xa0\n\n"), std::string(3000, 'a')}) {
    const Result<std::vector<Token>> tokens = model.tokenize(text, {.add_special = false});
    ASSERT_TRUE(tokens) << to_string(tokens.error());
    EXPECT_EQ(*model.detokenize(*tokens), text);
  }
  EXPECT_TRUE(model.tokenize("\xff\xfe broken \xc3 UTF-8")) << "any bytes";
  EXPECT_TRUE(model.tokenize("", {.add_special = false})->empty());
  const std::vector<Token> strange = {-1};
  EXPECT_FALSE(model.detokenize(strange));
  const Result<std::vector<Token>> with = model.tokenize("a"), without = model.tokenize("a", {.add_special = false});
  EXPECT_EQ(with->size(), without->size() + (model.adds_bos() ? 1 : 0));
}

TEST_F(Quiet, ChatTemplatesAreAppliedOrRefused) {
  MRROPE_NEED_TINY_MODELS();
  const std::vector<ChatMessage> messages = {{"user", "Hello"}};
  const Result<std::string> none = load(tiny("llama")).apply_chat_template(messages);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
  GgufEdits chatml, strange;
  chatml.set("tokenizer.chat_template", GgufValue::text("{{'<|im_start|>' + role}}"));
  strange.set("tokenizer.chat_template", GgufValue::text("{{ anything else }}"));
  const EditedCopy chat(tiny("llama"), chatml), unknown(tiny("llama"), strange);
  const Result<std::string> prompt = load(chat.path()).apply_chat_template(messages);
  ASSERT_TRUE(prompt) << to_string(prompt.error());
  EXPECT_EQ(*prompt, "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_FALSE(load(unknown.path()).apply_chat_template(messages));
}

}  // namespace
}  // namespace mrrope::test
