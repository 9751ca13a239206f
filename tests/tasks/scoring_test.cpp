// SPDX-License-Identifier: MIT
//
// Tables made by hand from the official rules, and traps that practitioners fell into. tests/tasks/scoring_test.py and
// rouge_test.py ask other implementations about thousands of random answers.
#include "mrrope/scoring.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tasks/scoring/porter.h"

namespace mrrope::eval {
namespace {

using Texts = std::vector<std::string>;
const std::string kUuid = "a54e2eed-e625-4570-9f74-3624e77d6684";

// ---- Before scoring ------------------------------------------------------------------------------------------------

TEST(Thinking, IsNotPartOfTheAnswer) {
  const struct {
    std::string answer, said;
  } cases[] = {
      {"", ""},
      {"42", "42"},
      {"<think>41?</think>42", "42"},
      {"<think>\n\n</think>\n\n42", "\n\n42"},
      {"<think>41? 43?", ""},
      {"42<think>or 41", ""},
      {"<think>", ""},
      {"41, so</think>42", "42"},
      {"</think>42", "42"},
      {"a<think>b</think>c<think>d</think>e", "ace"},
      {"<think>a<think>b</think>c</think>42", "42"},
      {"<think>a</think>42<think>b", ""},
      {"<THINK>a</THINK>42", "<THINK>a</THINK>42"},
      {"<think >a</think>42", "42"},
      {"1 < 2 and think> is no tag", "1 < 2 and think> is no tag"},
  };
  for (const auto& c : cases) EXPECT_EQ(without_thinking(c.answer), c.said) << c.answer;
}

TEST(CleanPrediction, StripsAndTurnsControlCharactersIntoLineBreaks) {
  const struct {
    std::string answer, clean;
  } cases[] = {
      {"", ""},
      {" \n\t ", ""},
      {"  42 \r\n", "42"},
      {"a\tb", "a\nb"},
      {"a\r\nb", "a\n\nb"},
      {std::string("a\0b", 3), "a\nb"},
      {std::string("\0a\0", 3), "a"},
      {"\x01 42 \x02", "42"},
      {"a\x1f"
       "b",
       "a\nb"},
      {"a\x7f"
       "b",
       "a\x7f"
       "b"},
      {"\u00a042\u3000", "42"},
      {"a\u00a0b", "a\u00a0b"},
      {"\u200b42", "\u200b42"},  // no white space, to Python
      {"\x85 is a lone byte", "\x85 is a lone byte"},
      {"\u0085x", "x"},
      {"line\n\nline", "line\n\nline"},
  };
  for (const auto& c : cases) EXPECT_EQ(clean_prediction(c.answer), c.clean);
}

// ---- RULER ---------------------------------------------------------------------------------------------------------

TEST(Ruler, CountsReferencesFoundAnywhereInThePrediction) {
  const struct {
    Texts references;
    std::string prediction;
    double all, part;
  } cases[] = {
      {{"1234567"}, "1234567", 1, 1},
      {{"1234567"}, "The special magic number is: 1234567.", 1, 1},
      {{"1234567"}, "1234568", 0, 0},
      {{"1234567"}, "", 0, 0},
      {{"1234567"}, "123 4567", 0, 0},
      {{"12"}, "3123", 1, 1},  // no word boundaries
      {{"12"}, "1 2", 0, 0},
      {{"a", "b", "c", "d"}, "a, b and d", 0.75, 1},
      {{"w", "x", "y", "z"}, "y only", 0.25, 1},
      {{"x", "y", "z"}, "nothing of that", 0, 0},
      {{"ABCDE", "FGHIJ"}, "abcde fghij", 1, 1},
      {{"Röntgen"}, "WILHELM RÖNTGEN", 1, 1},
      {{"МОСКВА"}, "в Москва-реке", 1, 1},
      {{"3,677 seated"}, "3,677", 0, 0},  // RULER#100
      {{"3,677", "3,677 seated"}, "It has 3,677 seats", 0.5, 1},
      {{"the Broncos", "Denver Broncos", "Broncos"}, "denver broncos", 2.0 / 3, 1},
      {{kUuid}, "A54E2EED-E625-4570-9F74-3624E77D6684", 1, 1},
      {{"dup", "dup"}, "dup", 1, 1},
      {{"\xff"}, "a \xff byte", 1, 1},
      {{"x"}, "everything, and x among it, costs nothing: y z w", 1, 1},
  };
  for (const auto& c : cases) {
    EXPECT_DOUBLE_EQ(string_match_all(c.references, c.prediction), c.all) << c.prediction;
    EXPECT_DOUBLE_EQ(string_match_part(c.references, c.prediction), c.part) << c.prediction;
  }
}

// lm-evaluation-harness's version of the second rule gives the fraction here, and so less than RULER.
TEST(Ruler, OneAliasIsEnoughForAQuestion) {
  EXPECT_EQ(string_match_part(Texts{"France", "the French", "in France", "FRANCE!"}, "in france."), 1);
}

// ---- ROUGE ---------------------------------------------------------------------------------------------------------

const std::string kNeedle = "eat a sandwich and sit in Dolores Park on a sunny day";

TEST(Rouge, AgreesWithGooglesPackageOnPairsOfTextsOfAllKinds) {
  std::ifstream file(std::string(MRROPE_VECTORS) + "/rouge.json");
  const nlohmann::json cases = nlohmann::json::parse(file).at("cases");
  ASSERT_GE(cases.size(), 300U);
  for (const auto& c : cases) {
    const Rouge rouge = rouge1(c.at("reference").get<std::string>(), c.at("answer").get<std::string>());
    EXPECT_NEAR(rouge.precision, c.at("precision").get<double>(), 1e-12) << c;
    EXPECT_NEAR(rouge.recall, c.at("recall").get<double>(), 1e-12) << c;
    EXPECT_NEAR(rouge.f1, c.at("f1").get<double>(), 1e-12) << c;
  }
}

TEST(Rouge, StemsAreThoseOfThePaperAndOfNltk) {
  const std::pair<std::string, std::string> cases[] = {
      // Examples of the paper
      {"caresses", "caress"},
      {"ponies", "poni"},
      {"cats", "cat"},
      {"feed", "feed"},
      {"agreed", "agre"},
      {"plastered", "plaster"},
      {"motoring", "motor"},
      {"sing", "sing"},
      {"conflated", "conflat"},
      {"sized", "size"},
      {"hopping", "hop"},
      {"falling", "fall"},
      {"hissing", "hiss"},
      {"filing", "file"},
      {"happy", "happi"},
      {"relational", "relat"},
      {"vietnamization", "vietnam"},
      {"sensibility", "sensibl"},
      {"triplicate", "triplic"},
      {"formalize", "formal"},
      {"hopefulness", "hope"},
      {"replacement", "replac"},
      {"adoption", "adopt"},
      {"probate", "probat"},
      {"controlling", "control"},
      {"rolling", "roll"},
      // Where NLTK differs from it
      {"dies", "die"},
      {"flies", "fli"},
      {"died", "die"},
      {"spied", "spi"},
      {"enjoy", "enjoy"},
      {"spy", "spi"},
      {"skies", "sky"},
      {"dying", "die"},
      {"news", "news"},
      {"proceed", "proceed"},
      {"innings", "inning"},
      {"geology", "geolog"},
      {"rationally", "ration"},
      {"fully", "fulli"},
      {"hopefully", "hope"},
      {"sunny", "sunni"},
  };
  for (const auto& [word, stem] : cases) EXPECT_EQ(scoring::porter_stem(word), stem) << word;
}

TEST(Rouge, FluentNonsenseHasAFloorThatContentRecallHasNot) {
  const std::string failing = "The best thing to do in a city is to walk on a bridge and look at the sea.";
  EXPECT_NEAR(rouge1_recall(kNeedle, failing), 5.0 / 12, 1e-12);  // a, a, and, in, on
  EXPECT_EQ(content_recall(kNeedle, failing), 0);
  EXPECT_EQ(rouge1_recall(kNeedle, kNeedle), 1);
  EXPECT_EQ(content_recall(kNeedle, kNeedle), 1);
  EXPECT_NEAR(content_recall(kNeedle, "Eat sandwiches in the park."), 3.0 / 7, 1e-12);
}

TEST(Rouge, AReferenceOfStopWordsIsTakenAsItIs) {
  EXPECT_EQ(content_recall("to be or not to be", "to be"), 2.0 / 6);
  EXPECT_EQ(content_recall("", "to be"), 0);
}

// F1 punishes a chatty answer, recall does not: they are not interchangeable.
TEST(Rouge, RecallIgnoresWhatElseIsSaid) {
  const std::string chatty = "Well, let me think about it. I would say: " + kNeedle + ". Is there anything else?";
  EXPECT_EQ(rouge1_recall(kNeedle, chatty), 1);
  EXPECT_LT(rouge1(kNeedle, chatty).f1, 0.75);
}

// ---- InfiniteBench -------------------------------------------------------------------------------------------------

TEST(InfiniteBench, PasskeyIsTheFirstRunOfDigitsToItsEnd) {
  const struct {
    std::string label, answer;
    double score;
  } cases[] = {
      {"71432", "71432", 1},
      {"71432", " 71432.", 1},
      {"71432", "The pass key is 71432. Remember it.", 1},
      {"71432", "99999 then 71432", 0},
      {"71432", "71432 then 99999", 1},
      {"71432", "714321", 0},
      {"71432", "7143", 0},
      {"71432", "7 1 4 3 2", 0},
      {"71432", "71,432", 0},
      {"71432", "", 0},
      {"71432", "none", 0},
      {"01432", "01432", 1},
      {"01432", "1432", 0},  // as texts
      {"71432", "x71432y", 1},
      {"71432", "-71432", 1},
      {"71432", "７１４３２", 0},  // full-width digits are none
      {"71432", "1. The pass key is 71432", 0},
      {"71432", "\n\n71432\n", 1},
  };
  for (const auto& c : cases) EXPECT_EQ(passkey(c.label, c.answer), c.score) << c.answer;
}

TEST(InfiniteBench, NumberStringFollowsThePasskeysRule) {
  const struct {
    std::string answer;
    double score;
  } cases[] = {
      {"3330422255", 1},
      {" 3330422255", 1},
      {"The sequence of digits is 3330422255.", 1},
      {"33304222551", 0},
      {"333042225", 0},
      {"330422255", 0},
      {"3330422225", 0},
      {"333 0422255", 0},
      {"1: 3330422255", 0},
      {"", 0},
      {"3330422255 3330422255", 1},
      {"\"3330422255\"", 1},
      {"3,330,422,255", 0},
      {"x3330422255x", 1},
      {"3330422255.0", 1},
      {"0003330422255", 0},
  };
  for (const auto& c : cases) EXPECT_EQ(number_string("3330422255", c.answer), c.score) << c.answer;
}

TEST(InfiniteBench, KeyValueWantsTheWholeToken) {
  const struct {
    std::string answer;
    double score;
  } cases[] = {
      {kUuid, 1},
      {" \"" + kUuid + "\"", 1},
      {"{\"key\": \"" + kUuid + "\"}", 1},
      {"The value is " + kUuid + ".", 1},
      {"'" + kUuid + "',", 1},
      {kUuid + "-extra", 0},
      {kUuid + "0", 0},
      {kUuid.substr(0, 18), 0},  // cut by the budget
      {"x" + kUuid, 0},
      {"(" + kUuid + ")", 0},  // parentheses do not cut
      {"**" + kUuid + "**", 0},
      {kUuid + "\n" + "something else", 1},
      {"00000000-0000-0000-0000-000000000000 " + kUuid, 1},
      {"A54E2EED-E625-4570-9F74-3624E77D6684", 0},
      {"", 0},
      {kUuid + "?" + kUuid, 1},
      {"\u00a0" + kUuid + "\u3000", 1},
      {"a54e2eed e625 4570 9f74 3624e77d6684", 0},
  };
  for (const auto& c : cases) EXPECT_EQ(kv_retrieval(kUuid, c.answer), c.score) << c.answer;
  EXPECT_EQ(kv_retrieval("a.b", "a.b"), 0);
}

TEST(InfiniteBench, MathFindComparesTheFirstNumber) {
  const struct {
    std::string label, answer;
    double score;
  } cases[] = {
      {"42", "42", 1},
      {"42", "The largest number is 42.", 1},
      {"42", "41 or 42", 0},
      {"42", "42 or 41", 1},
      {"42", "042", 1},   // as numbers
      {"42", "42.0", 0},  // Python's int() refuses it
      {"42", "42.5", 0},
      {"42", "42.", 1},
      {"42", "-42", 1},  // a sign is no part of a number here
      {"42", "", 0},
      {"42", "forty-two", 0},
      {"0", "000", 1},
      {"0", "0", 1},
      {"42", "4 2", 0},
      {"42", std::string(5000, '4') + "2", 0},
      {"42.5", "42.5", 1},
      {"42.5", "about 42.50", 1},
      {"42.5", "42", 0},
      {"42.0", "42", 1},
      {"42.0", "42.0", 1},
      {"42.0", "42.0.1", 1},
      {"42.5", std::string(5000, '9'), 0},
      {"", "42", 0},
  };
  for (const auto& c : cases)
    EXPECT_EQ(math_find(c.label, c.answer), c.score) << c.label << " / " << c.answer.substr(0, 80);
}

TEST(InfiniteBench, CodeDebugHearsLittleButTheLetterAndAPoint) {
  const struct {
    std::string answer;
    double score;
  } cases[] = {
      {"B. load_model", 1},
      {"B: load_model", 1},
      {"  B.", 1},
      {"B", 0},
      {"B)", 0},
      {"(B)", 0},
      {"C. load_model", 0},
      {"b. load_model", 0},
      {"load_model", 0},
      {"The correct option is: B", 1},
      {"The correct option is: B. load_model", 1},
      {"The answer is: load_model", 1},
      {"The answer is: `load_model`", 1},
      {"The answer is:B", 0},
      {"The answer is:", 0},
      {"The answer is: ", 0},
      {"The answer is B.", 0},
      {"answer: B", 1},
      {"Answer: B", 0},
      {"answer: B, but the answer is: C", 0},  // phrases go before places
      {"It is: C. No: the answer is: B", 1},
      {"The answer is: Option B", 1},
      {"The answer is: **B**", 1},
      {"I think\n- option B", 0},
      {"", 0},
  };
  for (const auto& c : cases) EXPECT_EQ(code_debug('B', "load_model", c.answer), c.score) << c.answer;
}

TEST(InfiniteBench, DialogueWantsOneWordInCapitals) {
  const struct {
    std::string label, answer;
    double score;
  } cases[] = {
      {"ACE", "ACE", 1},
      {"ACE", "Ace Ventura", 1},
      {"ACE", "The name is ace.", 1},
      {"ACE", "\"ACE\"", 1},
      {"ACE", "ACE'S", 1},
      {"ACE", "FACE", 0},
      {"ACE", "ACE-HIGH", 0},
      {"ACE", "(ACE)", 0},
      {"ACE", "", 0},
      {"ACE", "A C E", 0},
      {"OIL MAN", "OIL MAN", 0},  // a label with a space cannot be
                                  // found
      {"OIL MAN", "OIL", 0},
      {"Ace", "Ace", 0},  // nor can one that is not in capitals
      {"JOSÉ", "josé", 1},
      {"ЖАН", "Жан", 1},
      {"ACE", "ace\nventura", 1},
      {"MR", "Mr. Smith", 1},
      {"MR.", "MR.", 0},
  };
  for (const auto& c : cases) EXPECT_EQ(longdialogue_qa(c.label, c.answer), c.score) << c.label << " / " << c.answer;
}

TEST(InfiniteBench, BookQuestionsGetTheF1OfWordsAsSquadHasIt) {
  const struct {
    Texts references;
    std::string answer;
    double score;
  } cases[] = {
      {{"Hubert"}, "Hubert", 1},
      {{"Hubert"}, "hubert.", 1},
      {{"Hubert"}, "The Hubert", 1},
      {{"Hubert"}, "Hubert Smith", 2.0 / 3},
      {{"Hubert"}, "", 0},
      {{""}, "", 0},
      {{"the"}, "the", 0},  // nothing is left
      {{"Hubert", "Hubert Smith"}, "Hubert Smith", 1},
      {{"in the garden"}, "garden in", 1},
      {{"a b b"}, "b", 2.0 / 3},
      {{"b b c"}, "b b b", 2.0 / 3},
      {{"mother-in-law"}, "motherinlaw", 1},
      {{"mother in law"}, "mother-in-law", 0},
      {{"anthem"}, "an them", 0},
      {{"U.S.A."}, "USA", 1},
      {{"“the cat”"}, "“ cat”", 1},  // an article beside a quotation mark
      {{"O’Brien"}, "OBrien", 0},    // which is none of ASCII's
      {{"ÉCOLE"}, "école", 1},
      {{"x"}, "y", 0},
  };
  for (const auto& c : cases) EXPECT_NEAR(longbook_qa(c.references, c.answer), c.score, 1e-15) << c.answer;
  EXPECT_EQ(longbook_qa({}, "x"), 0);
}

// ---- Multiple choice -----------------------------------------------------------------------------------------------

TEST(LongBench2, FindsTheLetterInTheSentenceThatWasAskedFor) {
  const struct {
    std::string answer;
    char letter;  // '-': none
  } cases[] = {
      {"The correct answer is (B)", 'B'},
      {"The correct answer is (B).", 'B'},
      {"The correct answer is B", 'B'},
      {"The correct answer is B.", 'B'},
      {"**The correct answer is (B)**", 'B'},
      {"The correct answer is **(B)** because", 'B'},
      {"The correct answer is *B*", 'B'},
      {"Let me see. The correct answer is (D) Dolores", 'D'},
      {"The correct answer is A. No: The correct answer is (C)", 'C'},  // parentheses first
      {"The correct answer is (A) … The correct answer is (C)", 'A'},
      {"The correct answer is Apple", 'A'},
      {"The correct answer is (E)", '-'},
      {"The correct answer is (b)", '-'},
      {"the correct answer is (B)", '-'},
      {"The correct answer is: (B)", '-'},
      {"The correct answer is  (B)", '-'},
      {"The correct answer is (B", '-'},
      {"The correct answer is (BC)", '-'},
      {"The correct answer is ", '-'},
      {"The correct answer is (", '-'},
      {"(B)", '-'},
      {"B", '-'},
      {"", '-'},
      {"The answer is (B)", '-'},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(longbench2_letter(c.answer), c.letter == '-' ? std::nullopt : std::optional(c.letter)) << c.answer;
  }
}

TEST(LikeliestLetter, AddsTheTwoFormsOfALetter) {
  const double none = -std::numeric_limits<double>::infinity();
  using Values = std::vector<double>;
  EXPECT_EQ(likeliest_letter(Values{-1, -2, -3, -4}, Values{none, none, none, none}), 'A');
  EXPECT_EQ(likeliest_letter(Values{-1, -9, -9, -9}, Values{-9, -0.5, -9, -9}), 'B');
  // 0.3 alone against 0.2 + 0.2
  EXPECT_EQ(likeliest_letter(Values{std::log(0.3), std::log(0.2), none, none}, Values{none, std::log(0.2), none, none}),
            'B');
  EXPECT_EQ(likeliest_letter(Values{-1000, -1001, -1002, -999.9}, Values{none, none, none, none}), 'D');
  EXPECT_EQ(likeliest_letter(Values{-2, -2, -2, -2}, Values{-2, -2, -2, -2}), 'A');
  EXPECT_EQ(likeliest_letter(Values{none, none}, Values{none, none}), std::nullopt);
  EXPECT_EQ(likeliest_letter(Values{-1, std::nan("")}, Values{none, none}), std::nullopt);
  EXPECT_EQ(likeliest_letter({}, {}), std::nullopt);
}

}  // namespace
}  // namespace mrrope::eval
