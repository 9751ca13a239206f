// SPDX-License-Identifier: MIT
#include "files/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "files/file.h"
#include "tests/support/temporary_folder.h"

namespace mrrope::base {
namespace {

namespace fs = std::filesystem;

bool is_ours(std::string_view start) { return start.starts_with("made by mrrope"); }

class OutputFile : public testing::Test {
 protected:
  [[nodiscard]] std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name)) << text;
    return folder_.path(name);
  }

  test::TemporaryFolder folder_;
};

TEST_F(OutputFile, ReplacesWhatMrropeWroteAndWhatIsEmpty) {
  const OutputRule rule{.ours = is_ours};
  const std::string path = folder_.path("out");
  EXPECT_FALSE(*may_replace(path, rule));
  EXPECT_TRUE(write_output(path, "made by mrrope: 1", rule));
  EXPECT_TRUE(*may_replace(path, rule));
  EXPECT_TRUE(write_output(path, "made by mrrope: 2", rule));
  EXPECT_EQ(*read_file(path, 100), "made by mrrope: 2");
  EXPECT_TRUE(*may_replace(put("empty", ""), rule));
}

TEST_F(OutputFile, LeavesAFileOfSomebodyElseUnlessForced) {
  OutputRule rule{.ours = is_ours};
  // The mark has to stand where we put it, not anywhere
  for (const std::string& text :
       {std::string("theirs"), std::string(1, '\0'), std::string(5000, 'x') + "made by mrrope"}) {
    const std::string path = put("theirs", text);
    const Result<void> written = write_output(path, "made by mrrope", rule);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().where, path);
    EXPECT_EQ(*read_file(path, 10'000), text);
  }
  rule.force = true;
  EXPECT_TRUE(write_output(folder_.path("theirs"), "made by mrrope", rule));
  EXPECT_EQ(*read_file(folder_.path("theirs"), 100), "made by mrrope");
}

TEST_F(OutputFile, NeverReplacesAnInputUnderAnyName) {
  const std::string input = put("input", "made by mrrope");
  fs::create_symlink(input, folder_.path("symbolic"));
  fs::create_hard_link(input, folder_.path("hard"));
  for (const bool force : {false, true}) {
    const OutputRule rule{.ours = is_ours, .inputs = {folder_.path("missing"), input}, .force = force};
    for (const char* name : {"input", "symbolic", "hard", "./input"}) {
      const std::string path = folder_.path() + "/" + name;
      const Result<void> written = write_output(path, "made by mrrope: anew", rule);
      ASSERT_FALSE(written) << path;
      EXPECT_NE(written.error().message.find("never replaces it"), std::string::npos) << written.error().message;
    }
  }
  EXPECT_EQ(*read_file(input, 100), "made by mrrope");
  EXPECT_TRUE(fs::is_symlink(folder_.path("symbolic")));
}

TEST_F(OutputFile, IsNoFolderPipeOrLinkToNothing) {
  fs::create_directory(folder_.path("folder"));
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  fs::create_symlink(folder_.path("nothing"), folder_.path("dangling"));
  for (const char* name : {"folder", "pipe"}) {
    for (const bool force : {false, true}) {
      EXPECT_FALSE(write_output(folder_.path(name), "x", {.ours = is_ours, .force = force})) << name;
    }
  }
  EXPECT_FALSE(write_output(folder_.path("dangling"), "x", {.ours = is_ours}));
  EXPECT_FALSE(fs::exists(folder_.path("nothing")));
}

TEST(SafeFileName, IsOneNameInItsFolder) {
  for (const char* name :
       {"", ".", "..", "...", "/", "//", "/etc/passwd", "../../up", "a/..", "a\\..\\b", ".hidden", "\x01", "\x7f"}) {
    const std::string safe = safe_file_name(name);
    EXPECT_EQ(safe.find_first_of(std::string("/\\\0\x01\x7f", 5)), std::string::npos) << name;
    ASSERT_FALSE(safe.empty()) << name;
    EXPECT_NE(safe.front(), '.') << name;
  }
  EXPECT_EQ(safe_file_name(".."), "_..");
  EXPECT_EQ(safe_file_name(std::string_view("a\0b", 3)), "a__b");
}

TEST(SafeFileName, OfANameThatIsSafeIsTheSame) {
  for (const char* name : {"model.gguf-mrrope-pro-x4", "niah_single_2", "caf\xc3\xa9", "a b", "-rf", "x..y"}) {
    EXPECT_EQ(safe_file_name(name), name);
  }
  // lm_eval.utils.sanitize_model_name: re.sub(r"[\"<>:/\|\\?\*\[\]]+", "__", name)
  EXPECT_EQ(safe_file_name("Qwen/Qwen3-8B:free[x]"), "Qwen__Qwen3-8B__free__x__");
}

TEST(SafeFileName, FitsAFileSystemAndCutsBetweenCharacters) {
  std::string long_name;
  while (long_name.size() < 1000) long_name += "\xc3\xa9";
  EXPECT_EQ(safe_file_name(long_name).size(), 200U);
  EXPECT_EQ(safe_file_name("x" + long_name).size(), 199U);
  EXPECT_LE(safe_file_name(std::string(1000, '.')).size(), 201U);
}

}  // namespace
}  // namespace mrrope::base
