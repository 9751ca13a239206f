// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>

#include "base/unicode.h"
#include "mrrope/targets.h"

namespace mrrope {
namespace {

TEST(EngineNames, AreKnownInAnyCaseByNameAndTitle) {
  for (const EngineInfo& info : engine_catalogue()) {
    for (const std::string& text :
         {std::string(info.name), base::upper_case(info.name), std::string(info.title), base::lower_case(info.title)}) {
      const Result<const EngineInfo*> found = engine_named(text);
      ASSERT_TRUE(found) << text;
      EXPECT_EQ((*found)->name, info.name) << text;
    }
  }
}

TEST(EngineNames, ATypoIsToldWhatWasMeant) {
  const auto error = [](const char* text) { return to_string(engine_named(text).error()); };
  EXPECT_EQ(error("VLM"), "unknown engine \"VLM\"; did you mean vllm?");
  EXPECT_EQ(error("llamacpp"), "unknown engine \"llamacpp\"; did you mean llama.cpp?");
  EXPECT_EQ(error("transformers"), "unknown engine \"transformers\"; did you mean transformers5?");
  EXPECT_TRUE(error("jax").starts_with("unknown engine \"jax\" (known: llama.cpp, ollama, lm-studio, transformers5"));
}

}  // namespace
}  // namespace mrrope
