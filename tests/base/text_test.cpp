// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <gtest/gtest.h>

#include "base/shell.h"

namespace mrrope::base {
namespace {

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(ShellQuoted, LeavesPlainWordsAlone) {
  EXPECT_EQ(posix_shell_quoted("models/Qwen3-8B_q4.gguf"), "models/Qwen3-8B_q4.gguf");
  EXPECT_EQ(posix_shell_quoted("dim=128,base=1e+4"), "dim=128,base=1e+4");
}

TEST(ShellQuoted, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(posix_shell_quoted("my model.gguf"), "'my model.gguf'");
  EXPECT_EQ(posix_shell_quoted("$HOME"), "'$HOME'");
  EXPECT_EQ(posix_shell_quoted("it's"), R"('it'\''s')");
  EXPECT_EQ(posix_shell_quoted("~x"), "'~x'");
  EXPECT_EQ(posix_shell_quoted("größer"), "'größer'");
  EXPECT_EQ(posix_shell_quoted(""), "''");
}

// What CommandLineToArgvW makes of each: tests/windows hands the same words from one program to another.
TEST(WindowsQuoted, TakesDoubleQuotesAndMindsBackslashesBeforeThem) {
  EXPECT_EQ(windows_quoted(R"(C:\models\Qwen3-8B_q4.gguf)"), R"(C:\models\Qwen3-8B_q4.gguf)");
  EXPECT_EQ(windows_quoted("my model.gguf"), R"("my model.gguf")");
  EXPECT_EQ(windows_quoted(R"(C:\my models\)"), R"("C:\my models\\")");
  EXPECT_EQ(windows_quoted(R"(a "b" \"c)"), R"("a \"b\" \\\"c")");
  EXPECT_EQ(windows_quoted("8k,32k"), R"("8k,32k")") << "PowerShell makes two words of it";
  EXPECT_EQ(windows_quoted("größer"), R"("größer")");
  EXPECT_EQ(windows_quoted("a&b|c>d"), R"("a&b|c>d")");
  EXPECT_EQ(windows_quoted(""), R"("")");
}

TEST(Printable, LeavesNothingThatSteersATerminal) {
  EXPECT_EQ(printable("\x1b[31mevil\nline2\x07"), "?[31mevil?line2?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "??31m");  // U+009B is an escape and a bracket
  EXPECT_EQ(printable("größer \xff"), "größer ?");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
}

// Decoded here once more, by the table of the Unicode standard (3-7), not by base/unicode.
bool is_well_formed(std::string_view text) {
  const auto in = [&](std::size_t i, unsigned low, unsigned high) {
    return i < text.size() && static_cast<unsigned char>(text[i]) >= low && static_cast<unsigned char>(text[i]) <= high;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (in(i, 0x00, 0x7F)) i += 1;
    else if (in(i, 0xC2, 0xDF) && in(i + 1, 0x80, 0xBF)) i += 2;
    else if (((in(i, 0xE0, 0xE0) && in(i + 1, 0xA0, 0xBF)) || (in(i, 0xE1, 0xEC) && in(i + 1, 0x80, 0xBF)) ||
              (in(i, 0xED, 0xED) && in(i + 1, 0x80, 0x9F)) || (in(i, 0xEE, 0xEF) && in(i + 1, 0x80, 0xBF))) &&
             in(i + 2, 0x80, 0xBF))
      i += 3;
    else if (((in(i, 0xF0, 0xF0) && in(i + 1, 0x90, 0xBF)) || (in(i, 0xF1, 0xF3) && in(i + 1, 0x80, 0xBF)) ||
              (in(i, 0xF4, 0xF4) && in(i + 1, 0x80, 0x8F))) &&
             in(i + 2, 0x80, 0xBF) && in(i + 3, 0x80, 0xBF))
      i += 4;
    else return false;
  }
  return true;
}

// No C0 but line feed and tab, no DEL, no C1 (C2 80 to C2 9F).
bool steers(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) return true;
    if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

TEST(Printable, EveryPairOfBytesIsTextAfterwards) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string pair = {static_cast<char>(a), static_cast<char>(b)};
      // alone, and where it would end, begin or be part of a longer sequence
      for (const std::string& text :
           {pair, "\xE0" + pair, "\xF0\x80" + pair, "\xF4" + pair + "\x80", pair + "\x80\x9B"}) {
        for (const std::string& shown : {printable(text), printable_lines(text)}) {
          ASSERT_TRUE(is_well_formed(shown)) << a << " " << b;
          ASSERT_FALSE(steers(shown)) << a << " " << b;
        }
        ASSERT_EQ(printable(text).find('\n'), std::string::npos);
      }
    }
  }
}

TEST(Printable, EveryCodePointIsShownOrReplacedByItsBytes) {
  std::size_t hidden = 0;
  for (unsigned c = 1; c < 0x110000; ++c) {
    std::string text;
    const auto byte = [&](unsigned value) { text += static_cast<char>(value); };
    if (c < 0x80) byte(c);
    else if (c < 0x800) byte(0xC0 | (c >> 6)), byte(0x80 | (c & 63));
    else if (c < 0x10000) byte(0xE0 | (c >> 12)), byte(0x80 | ((c >> 6) & 63)), byte(0x80 | (c & 63));
    else byte(0xF0 | (c >> 18)), byte(0x80 | ((c >> 12) & 63)), byte(0x80 | ((c >> 6) & 63)), byte(0x80 | (c & 63));
    const std::string shown = printable(text);
    ASSERT_TRUE(shown == text || shown == std::string(text.size(), '?')) << c;
    ASSERT_TRUE(is_well_formed(shown)) << c;
    if (shown != text) ++hidden;
  }
  // C0 but NUL, DEL, C1; 2048 surrogates; directions, separators, nothing to see, annotations, tags.
  EXPECT_EQ(hidden, 31U + 1 + 32 + 2048 + (1 + 2 + 5 + 4) + 2 + (1 + 6 + 6 + 1) + 3 + 4096);
  for (const char* turned : {"\u202E", "\u2066", "\u061C", "\u2028"}) EXPECT_EQ(printable(turned).front(), '?');
  EXPECT_EQ(printable("größer שלום 模型 é"), "größer שלום 模型 é");
}

TEST(ShellQuoted, BytesThatCannotBeShownAreSpeltByNumber) {
  EXPECT_EQ(posix_shell_quoted("a\x1b'\xff\\ b"), "$'a\\x1b\\'\\xff\\\\ b'");
  EXPECT_EQ(posix_shell_quoted("größer 1"), "'größer 1'");
}

TEST(Nearest, FindsTypingErrors) {
  const std::vector<std::string_view> names = {"yarn", "linear", "mrrope-pro", "plan"};
  EXPECT_EQ(nearest("yarm", names), "yarn");
  EXPECT_EQ(nearest("plna", names), "plan");
  EXPECT_EQ(nearest("mrope-pro", names), "mrrope-pro");
}

TEST(Nearest, DoesNotGuessWildly) {
  const std::vector<std::string_view> names = {"yarn", "linear"};
  EXPECT_EQ(nearest("x", names), "");
  EXPECT_EQ(nearest("quadratic", names), "");
  EXPECT_EQ(nearest(std::string(100000, 'y'), names), "");
}

}  // namespace
}  // namespace mrrope::base
