// SPDX-License-Identifier: MIT
#include "base/unicode.h"

#include <gtest/gtest.h>

namespace mrrope::base {
namespace {

using Words = std::vector<std::string_view>;

TEST(Unicode, OnlyWellFormedSequencesAreCharacters) {
  EXPECT_EQ(first_code_point("A").value, U'A');
  EXPECT_EQ(first_code_point("é").value, U'é');
  EXPECT_EQ(first_code_point("日").bytes, 3U);
  EXPECT_EQ(first_code_point("\U0001F600").value, U'\U0001F600');
  EXPECT_EQ(first_code_point("\xF4\x8F\xBF\xBF").value, 0x10FFFFU);
  // A continuation alone; overlong; a surrogate; beyond the last; cut; bytes that are never used
  for (const std::string_view bytes :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
        "\xE6\x97", "\xC3", "\xC3\x28", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(first_code_point(bytes).value, kNoCharacter);
    EXPECT_EQ(first_code_point(bytes).bytes, 1U);
    EXPECT_EQ(lower_case(bytes), bytes);
    EXPECT_EQ(words(bytes), Words{bytes});
  }
}

TEST(Unicode, CaseFollowsPython) {
  EXPECT_EQ(lower_case("Dolores ÉCOLE ЖАН ΑΘΗΝΑ ŁÓDŹ 日本"), "dolores école жан αθηνα łódź 日本");
  EXPECT_EQ(lower_case("\u0130\u0130"), "i\u0307i\u0307");
  EXPECT_EQ(lower_case("\u212A"), "k");  // the kelvin sign
  EXPECT_EQ(upper_case("dolores école жан αθηνα łódź 日本 å ω"), "DOLORES ÉCOLE ЖАН ΑΘΗΝΑ ŁÓDŹ 日本 Å Ω");
  EXPECT_EQ(upper_case("straße"), "STRAßE");
}

TEST(Unicode, WhiteSpaceFollowsPython) {
  EXPECT_EQ(stripped(" \t\u00a0\u3000a b\u2009\x1c\n"), "a b");
  EXPECT_EQ(stripped(" \n"), "");
  EXPECT_EQ(stripped(""), "");
  EXPECT_EQ(words(" a\u00a0b\x0b\x1f"
                  "c\u200b "),
            (Words{"a", "b", "c\u200b"}));
  EXPECT_EQ(words(" "), Words{});
}

TEST(Unicode, WordCharactersAreLettersAndDigits) {
  for (const char32_t c : std::u32string_view(U"aZ09_éßжω日ª²½")) {
    EXPECT_TRUE(is_word_character(c)) << std::hex << static_cast<unsigned>(c);
  }
  for (const char32_t c : std::u32string_view(U" .-“”’—…¿«»°×÷€→。\u0301\u00a0\U0001F600")) {
    EXPECT_FALSE(is_word_character(c)) << std::hex << static_cast<unsigned>(c);
  }
  EXPECT_FALSE(is_word_character(kNoCharacter));
}

}  // namespace
}  // namespace mrrope::base
