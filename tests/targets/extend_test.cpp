// SPDX-License-Identifier: MIT
//
// What extend_model() refuses and mends by itself: callers only pass on.
#include "mrrope/extend.h"

#include <gtest/gtest.h>

#include "formats/gguf_in_place.h"
#include "mrrope/provenance.h"
#include "tests/formats/gguf_builder.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

using test::read_bytes;
using test::TempFolder;

class ExtendModel : public testing::Test {
 protected:
  ModelFile model() {
    Result<ModelFile> read = read_model(path_);
    EXPECT_TRUE(read) << to_string(read.error());
    return *std::move(read);
  }
  Plan plan(std::int64_t context, const std::string& method) {
    return *make_plan(*rope_spec(model()), context, test::method(method));
  }
  Error refusal(const Plan& plan) {
    const Result<Extension> done = extend_model(model(), plan, {.output = folder_ / "out.gguf"});
    EXPECT_FALSE(done);
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"model.gguf"});
    return done ? Error{} : done.error();
  }

  TempFolder folder_;
  const std::string bytes_ = read_bytes(MRROPE_TESTS "/models/tiny-512.gguf");
  const std::string path_ = folder_.write("model.gguf", bytes_);
};

TEST_F(ExtendModel, TakesAPlanOfItsOwnModelOnly) {
  const RopeSpec spec = *rope_spec(model());
  RopeSpec other = spec;
  other.groups[0].base *= 2;
  const Error wrong_base = refusal(*make_plan(other, 2048, test::method("yarn")));
  EXPECT_EQ(wrong_base.code, ErrorCode::inconsistent);
  EXPECT_EQ(wrong_base.where, "plan");
  EXPECT_NE(wrong_base.message.find("with base"), std::string::npos);

  other = spec;
  other.groups[0].trained = TrainedScaling{.method = test::method("linear"), .factor = 2, .context_original = 256};
  EXPECT_NE(refusal(*make_plan(other, 2048, test::method("yarn"))).message.find("another scaling"), std::string::npos);
}

TEST_F(ExtendModel, RefusesFewerTokensAndAsManyWithoutAChange) {
  for (const auto& [context, method] : {std::pair(256, "yarn"), {511, "abf:base=20000"}, {512, "none"}}) {
    const Error error = refusal(plan(context, method));
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_EQ(to_string(error), "plan: the model already reaches 512 tokens; ask for more, such as 1k");
  }
  EXPECT_TRUE(extend_model(model(), plan(512, "abf:base=20000"), {.output = folder_ / "out.gguf"}));
}

TEST_F(ExtendModel, RefusesMoreThan64TimesTheTrainedLengthUnlessAskedTo) {
  const Error error = refusal(plan(512 * 64 + 1, "yarn"));
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_EQ(error.option, "any_factor");
  EXPECT_NE(error.message.find("32769 tokens are 64.002 times the 512"), std::string::npos) << error.message;
  EXPECT_TRUE(extend_model(model(), plan(512 * 64, "yarn"), {.output = folder_ / "64.gguf"}));
  EXPECT_TRUE(extend_model(model(), plan(512 * 4096, "yarn"), {.output = folder_ / "4096.gguf", .any_factor = true}));
}

TEST_F(ExtendModel, ASidecarIsReadAsWhatACopyIs) {
  const Plan longer = plan(2048, "mrrope-pro");
  ASSERT_TRUE(extend_model(model(), longer, {.output = folder_ / "copy.gguf"}));
  const Result<Extension> done = extend_model(model(), longer, {.output = folder_ / "side", .sidecar = true});
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_LT(*done->difference, 1e-6);

  const Result<ModelFile> side = read_model(folder_ / "side");
  ASSERT_TRUE(side) << to_string(side.error());
  EXPECT_TRUE(was_extended(*side));
  EXPECT_EQ(*rope_spec(*side), *rope_spec(model()));
  EXPECT_EQ(stored_plan(*side), longer);
  const Effective served = *effective("llama.cpp", *side);
  const Effective copied = *effective("llama.cpp", *read_model(folder_ / "copy.gguf"));
  EXPECT_EQ(served.context, 2048);
  EXPECT_EQ(group_difference(served.groups[0], copied.groups[0]), GroupDifference{});
  // Ollama has no flags that would say what the second shard is
  EXPECT_EQ(effective("ollama", *side)->context, 512);
}

TEST_F(ExtendModel, TakesAnInterruptedChangeBackFirstUnlessItIsADryRun) {
  if (!test::can_insert_ranges(folder_)) GTEST_SKIP() << "the file system cannot insert ranges";
  const ModelFile read_before = model();
  GgufEdits edits;
  edits.set("mrrope.plan", GgufValue::text(std::string(5000, 'x')));
  ASSERT_FALSE(formats::edit_in_place(*read_before.gguf(), edits,
                                      {.go_on = [left = 4]() mutable { return left-- > 0; }, .piece = 1024}));
  ASSERT_EQ(folder_.names().size(), 2U) << "the journal";
  const std::string interrupted = read_bytes(path_);

  const Plan longer = *make_plan(*rope_spec(read_before), 2048, test::method("yarn"));
  (void)extend_model(read_before, longer, {.output = folder_ / "out.gguf", .dry_run = true});
  EXPECT_EQ(read_bytes(path_), interrupted);

  const Result<Extension> done = extend_model(read_before, longer, {.output = folder_ / "out.gguf"});
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(read_bytes(path_), bytes_);
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"model.gguf", "out.gguf"}));
  EXPECT_LT(*done->difference, 1e-6);
}

}  // namespace
}  // namespace mrrope
