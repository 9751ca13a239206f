// SPDX-License-Identifier: MIT
#include "in_process/reply_text.h"

#include <gtest/gtest.h>

#include "mrrope/gguf.h"
#include "tests/support/temporary_folder.h"

namespace mrrope::eval {
namespace {

// Bytes as tokens, with SentencePiece's way made the file's: a text begins with a space that is not shown.
class ReplyTextTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<GgufModel> file = read_gguf(MRROPE_TESTS "/models/tiny-512.gguf");
    ASSERT_TRUE(file) << to_string(file.error());
    GgufEdits edits;
    edits.set("tokenizer.ggml.add_space_prefix", GgufValue::boolean(true));
    ASSERT_TRUE(write_gguf(*file, edits, folder.path("model.gguf")));
    Result<LlamaModel> loaded = LlamaModel::load(folder.path("model.gguf"), {.vocab_only = true});
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    model.emplace(*std::move(loaded));
  }

  test::TemporaryFolder folder;
  std::optional<LlamaModel> model;
};

TEST_F(ReplyTextTest, AnAnswerKeepsItsFirstSpace) {
  const std::vector<Token> reply = {' ', '(', 'B', ')'};
  EXPECT_EQ(*model->detokenize(reply), "(B)");  // what the vocabulary makes of it by itself
  EXPECT_EQ(*text_after(*model, 's', reply), " (B)");
  EXPECT_EQ(*text_after(*model, ' ', reply), " (B)");
  EXPECT_EQ(*text_after(*model, *model->bos(), reply), " (B)");
}

TEST_F(ReplyTextTest, ALetterAfterABracketIsTheTokenThatFollowsThere) {
  ASSERT_EQ(model->tokenize("A", {.add_special = false})->size(), 2U);  // the space that is not shown, and the letter
  for (const char letter : {'A', 'B', 'C', 'D'}) {
    EXPECT_EQ(token_after_bracket(*model, std::string(1, letter)), static_cast<Token>(letter));
  }
  EXPECT_EQ(token_after_bracket(*model, "AB"), std::nullopt);
}

}  // namespace
}  // namespace mrrope::eval
