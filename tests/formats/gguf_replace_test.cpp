// SPDX-License-Identifier: MIT
//
// Changes in place by a new file that takes the old one's name: what macOS and Windows do, tested on every system.
#include "formats/gguf_replace.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using formats::replace_edited;
using test::read_bytes;
using test::small_model;
using test::TempFolder;

GgufEdits extension() {
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(131072));
  edits.set("llama.rope.scaling.type", GgufValue::text("none"));
  edits.set("mrrope.plan", GgufValue::text(std::string(3000, 'p')));
  edits.add_tensor("rope_freqs.weight", {1, 2, 3, 4, 5});
  return edits;
}
GgufEdits inverse() {
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(8192));
  for (const char* key : {"llama.rope.scaling.type", "mrrope.plan"}) edits.remove(key);
  edits.removed_tensors = {"rope_freqs.weight"};
  return edits;
}

class GgufReplace : public testing::Test {
 protected:
  Result<void> edit(const GgufEdits& edits, const InPlaceOptions& options = {}) {
    return replace_edited(*read_gguf(path_), edits, options);
  }
  [[nodiscard]] std::string bytes() const { return read_bytes(path_); }

  TempFolder folder_;
  std::string old_ = small_model().bytes();
  std::string path_ = folder_.write("model.gguf", old_);
};

TEST_F(GgufReplace, GivesTheBytesOfACopyAndLeavesNothingElse) {
  ASSERT_TRUE(write_gguf(*read_gguf(path_), extension(), folder_ / "copy.gguf"));
  const std::string expected = read_bytes(folder_ / "copy.gguf");
  std::filesystem::remove(folder_ / "copy.gguf");
  const auto done = edit(extension());
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(bytes(), expected);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"model.gguf"});
}

TEST_F(GgufReplace, TheInverseGivesTheOldBytesBack) {
  ASSERT_TRUE(edit(extension()));
  EXPECT_NE(bytes(), old_);
  ASSERT_TRUE(edit(inverse()));
  EXPECT_EQ(bytes(), old_);
}

TEST_F(GgufReplace, AFileWithTwoNamesChangesUnderOneOnlyIfThatIsMeant) {
  std::filesystem::create_hard_link(path_, folder_ / "other.gguf");
  EXPECT_EQ(edit(extension()).error().code, ErrorCode::inconsistent);
  EXPECT_EQ(bytes(), old_);
  ASSERT_TRUE(edit(extension(), {.force = true}));
  EXPECT_NE(bytes(), old_);
  EXPECT_EQ(read_bytes(folder_ / "other.gguf"), old_);
}

TEST_F(GgufReplace, AFileThatHasChangedSinceItWasReadStays) {
  const GgufModel before = *read_gguf(path_);
  const std::string other = small_model().text("somebody", "else").bytes();
  folder_.write("model.gguf", other);
  EXPECT_EQ(replace_edited(before, extension(), {}).error().code, ErrorCode::inconsistent);
  EXPECT_EQ(bytes(), other);
}

}  // namespace
}  // namespace mrrope
