// SPDX-License-Identifier: MIT
//
// References follow from the prompt: naive readers find them again. And answers are scored by the tasks' rules.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tasks/support.h"

namespace mrrope::eval {
namespace {

using namespace tests;

constexpr std::int64_t kLengths[] = {1024, 4096, 20'000, 131'072};

Sample made(const char* name, const SampleRequest& request, const TokenCount& count = count_pieces,
            const TaskTexts& texts = made_texts()) {
  Result<Sample> sample = make_sample(*find_task(name), texts, request, count);
  EXPECT_TRUE(sample) << name << ": " << to_string(sample.error());
  return sample ? *std::move(sample) : Sample{};
}

// What stands between the last `begin` and the next `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.rfind(begin);
  if (from == std::string::npos) return {};
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

std::set<std::string> as_set(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

// "One of the special magic numbers for K is: V.", wherever it stands.
std::multimap<std::string, std::string> magic_in(const std::string& prompt) {
  std::multimap<std::string, std::string> out;
  const std::regex needle("One of the special magic (?:number|uuid)s for ([a-z0-9-]+) is: ([a-z0-9-]+)\\.");
  for (std::sregex_iterator i(prompt.begin(), prompt.end(), needle), end; i != end; ++i) out.emplace((*i)[1], (*i)[2]);
  return out;
}

TEST(TasksAnswers, MagicValuesAreThoseOfTheKeysAskedFor) {
  for (const char* name : {"niah", "niah_single_1", "niah_single_2", "niah_single_3", "niah_multikey_1",
                           "niah_multikey_2", "niah_multikey_3", "niah_multivalue", "niah_multiquery"}) {
    for (const std::int64_t length : kLengths) {
      const Sample sample = made(name, {.length = length, .index = 5});
      const auto needles = magic_in(sample.prompt);
      std::string question = between(sample.prompt, " for ", " in the text above?\n");
      std::set<std::string> found;
      for (const auto& [key, value] : needles) {
        if ((", " + question + ",").find(" " + key + ",") != std::string::npos) found.insert(value);
      }
      EXPECT_EQ(found, as_set(sample.references)) << name << ": " << question;
      const std::string_view task = name;
      if (task == "niah_multikey_1" || task == "niah_multiquery" || task == "niah_multivalue") {
        EXPECT_EQ(needles.size(), 4U);
      }
      if (task == "niah_multikey_2" || task == "niah_multikey_3") {
        EXPECT_GE(needles.size(), static_cast<std::size_t>(length) / 120);
      }
    }
  }
}

TEST(TasksAnswers, PassKeysAndDigitsStandInTheNoiseTwice) {
  for (std::int64_t index = 0; index < 20; ++index) {
    const Sample key = made("passkey", {.length = 2048, .index = index});
    EXPECT_EQ(between(key.prompt, "The pass key is ", "."), key.references[0]);
    EXPECT_EQ(key.references[0].size(), 5U);
    const Sample digits = made("number_string", {.length = 2048, .index = index});
    EXPECT_EQ(between(digits.prompt, "The sequence of digits is ", "."), digits.references[0]);
    EXPECT_EQ(digits.references[0].size(), 10U);
    // Doubling a digit five times leaves at most five runs
    const std::string& text = digits.references[0];
    int runs = 1;
    for (std::size_t i = 1; i < text.size(); ++i) runs += text[i] != text[i - 1] ? 1 : 0;
    EXPECT_LE(runs, 5);
  }
}

TEST(TasksAnswers, TheValueIsTheOneUnderItsKeyInValidJson) {
  for (const std::int64_t length : kLengths) {
    const Sample sample = made("kv_retrieval", {.length = length, .index = 2});
    const auto object = nlohmann::json::parse(between(sample.prompt, "JSON data:\n", "\nKey: "));
    const std::string key = between(sample.prompt, "\nKey: \"", "\"");
    EXPECT_EQ(object.at(key), sample.references[0]);
    EXPECT_GE(object.size(), static_cast<std::size_t>(length) / 100);
    const std::regex uuid("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    EXPECT_TRUE(std::regex_match(key, uuid) && std::regex_match(sample.references[0], uuid)) << key;
  }
}

// Follows VAR A = … from line to line. A solved example before it has variables of its own, where there is room.
TEST(TasksAnswers, TheVariablesAreThoseThatGetTheValue) {
  for (const Tokenizer& tokenizer : kTokenizers) {
    for (const std::int64_t length : kLengths) {
      const Sample sample = made("vt", {.length = length, .index = length % 7}, tokenizer.count);
      const std::string value = between(sample.prompt, "assigned the value ", " in the text above?");
      std::map<std::string, std::string> values;
      std::istringstream lines(sample.prompt);
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("VAR ")) continue;
        const std::size_t equals = line.find(" = ");
        const std::string name = line.substr(4, equals - 4), what = line.substr(equals + 3);
        if (!what.starts_with("VAR ")) {
          values[name] = what;
        } else {
          ASSERT_TRUE(values.contains(what.substr(4))) << "out of order: " << line;
          values[name] = values[what.substr(4)];
        }
      }
      std::set<std::string> found;
      for (const auto& [name, got] : values) {
        if (got == value) found.insert(name);
      }
      EXPECT_EQ(found, as_set(sample.references));
      EXPECT_EQ(values.size(), length == 1024 && tokenizer.name == std::string_view("bytes") ? 5U : 10U);
    }
  }
}

std::vector<std::pair<std::int64_t, std::string>> by_count(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::int64_t, std::string>> out;
  for (const auto& [word, count] : counts) out.emplace_back(count, word);
  std::sort(out.rbegin(), out.rend());
  return out;
}

TEST(TasksAnswers, CommonWordsAreTheTenMostCommonOfTheNumberedList) {
  for (const Tokenizer& tokenizer : kTokenizers) {
    for (const std::int64_t length : {1024, 2048, 4096, 8192, 65'536, 131'072}) {
      const Sample sample = made("cwe", {.length = length, .index = 4}, tokenizer.count);
      std::istringstream list(between(sample.prompt, "memorize those.\n", "\nQuestion"));
      std::map<std::string, std::int64_t> counts;
      std::string number, word;
      for (int i = 1; list >> number >> word; ++i) {
        ASSERT_EQ(number, std::to_string(i) + ".");
        ++counts[word];
      }
      const auto ranked = by_count(counts);
      ASSERT_GE(ranked.size(), 20U);
      std::set<std::string> found;
      for (std::size_t i = 0; i < 10; ++i) found.insert(ranked[i].second);
      EXPECT_EQ(found, as_set(sample.references)) << length;
      // RULER's numbers: 30 and 3, or 6 and 1 where that is too much
      const bool full = ranked[0].first == 30;
      EXPECT_TRUE(full || length < 16'384);
      EXPECT_EQ(ranked[9].first, ranked[0].first);
      EXPECT_EQ(ranked[10].first, full ? 3 : 1);
      for (const std::string& a : sample.references) {
        for (const std::string& b : sample.references) EXPECT_TRUE(a == b || a.find(b) == std::string::npos);
      }
      // Where words run out, pairs join them: among the common ones too
      if (length == 131'072 && counts.size() > 3000) {
        EXPECT_GE(std::count_if(counts.begin(), counts.end(),
                                [](const auto& c) { return c.first.find('-') != std::string::npos; }),
                  500);
      }
    }
  }
}

TEST(TasksAnswers, PairsAreAsFrequentAmongTheCommonWordsAsAmongTheOthers) {
  std::size_t pairs = 0, all = 0, common_pairs = 0, common = 0;
  for (std::int64_t index = 0; index < 20; ++index) {
    const Sample sample = made("cwe", {.length = 131'072, .index = index});
    std::istringstream list(between(sample.prompt, "memorize those.\n", "\nQuestion"));
    std::set<std::string> words;
    for (std::string number, word; list >> number >> word;) words.insert(word);
    const auto is_pair = [](const std::string& word) { return word.find('-') != std::string::npos; };
    pairs += static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_pair));
    all += words.size();
    common_pairs +=
        static_cast<std::size_t>(std::count_if(sample.references.begin(), sample.references.end(), is_pair));
    common += sample.references.size();
  }
  const double expected = static_cast<double>(pairs) / static_cast<double>(all);
  // 200 draws: four standard errors
  EXPECT_NEAR(static_cast<double>(common_pairs) / static_cast<double>(common), expected, 0.14);
}

TEST(TasksAnswers, FrequentWordsAreTheThreeAfterTheDotsInZetasProportions) {
  for (const Tokenizer& tokenizer : kTokenizers) {
    for (const std::int64_t length : kLengths) {
      const Sample sample = made("fwe", {.length = length, .index = 1}, tokenizer.count);
      std::istringstream text(between(sample.prompt, "come most often.\n", "\nQuestion"));
      std::map<std::string, std::int64_t> counts;
      for (std::string word; text >> word;) ++counts[word];
      const auto ranked = by_count(counts);
      ASSERT_GE(ranked.size(), 5U);
      EXPECT_EQ(ranked[0].second, "...");
      EXPECT_EQ((std::set<std::string>{ranked[1].second, ranked[2].second, ranked[3].second}),
                as_set(sample.references));
      EXPECT_GT(ranked[3].first, ranked[4].first);
      for (std::size_t k = 2; k <= 5; ++k) {
        const double expected = static_cast<double>(ranked[0].first) / static_cast<double>(k * k);
        EXPECT_NEAR(static_cast<double>(ranked[k - 1].first), expected, 1);
      }
    }
  }
}

TEST(TasksAnswers, NumbersAreFoundAgainBySorting) {
  std::set<std::string> medians;
  for (std::int64_t index = 0; index < 70; ++index) {
    const Sample sample = made("math_find", {.length = index < 35 ? 1024 : 6000, .index = index});
    std::vector<double> list;
    std::istringstream text(between(sample.prompt, "[", "]"));
    for (std::string number; std::getline(text, number, ',');) list.push_back(std::stod(number));
    std::sort(list.begin(), list.end());
    std::vector<double> distinct = list;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const std::string asked = between(sample.prompt, "What is the ", " number");
    const std::size_t rank = asked.starts_with("second") ? 1 : asked.starts_with("third") ? 2 : 0;
    double expected = asked.ends_with("largest") ? distinct[distinct.size() - 1 - rank] : distinct[rank];
    if (asked == "median") {
      expected = (list[(list.size() - 1) / 2] + list[list.size() / 2]) / 2;
      medians.insert(sample.references[0]);
      EXPECT_NE(sample.references[0].find('.'), std::string::npos);
    }
    EXPECT_DOUBLE_EQ(std::stod(sample.references[0]), expected) << asked;
  }
  EXPECT_GE(medians.size(), 6U);
}

// Of made_texts(), from 0.
std::size_t question_of(const Sample& sample) { return std::stoul(sample.labels.at("id")) - 1; }

TEST(TasksAnswers, TheDocumentOfTheQuestionIsInThePromptOnceAndWhole) {
  for (const std::int64_t length : {1024, 4096, 131'072}) {
    for (std::int64_t index = 0; index < 60; index += 7) {
      const Sample sample = made("qa_1", {.length = length, .index = index});
      const std::size_t q = question_of(sample);
      const std::string& gold = made_texts().documents[q * 7];
      ASSERT_EQ(sample.needles.size(), 1U);
      EXPECT_EQ(text_of(sample, sample.needles[0]), gold);
      EXPECT_EQ(sample.prompt.find(gold), sample.prompt.rfind(gold));
      EXPECT_NE(gold.find(sample.references[0]), std::string::npos);
      // The others of the subject, unless the cut fell on them
      if (length >= 4096) {
        EXPECT_NE(sample.prompt.find(made_texts().documents[q * 7 + 1]), std::string::npos);
        EXPECT_NE(sample.prompt.find(made_texts().documents[q * 7 + 2]), std::string::npos);
      }
      EXPECT_NE(sample.prompt.find("Document 1:\n"), std::string::npos);
    }
  }
}

TEST(TasksAnswers, TwoDocumentsOfAQuestionAreBothThere) {
  TaskTexts texts = made_texts();
  for (Question& q : texts.questions) q.gold = 2;
  const Sample sample = made("qa_2", {.length = 8192, .index = 3, .depth = 0.2}, count_pieces, texts);
  ASSERT_EQ(sample.needles.size(), 2U);
  std::set<std::string> found;
  for (const Needle& n : sample.needles) found.insert(std::string(text_of(sample, n)));
  const std::size_t first = 7 * question_of(sample);
  EXPECT_EQ(found, (std::set{texts.documents[first], texts.documents[first + 1]}));
  EXPECT_NEAR(sample.depth, 0.2, 0.05);
}

TEST(TasksAnswers, QuestionsThatContradictTheirDocumentsAreErrorsThatNameTheFlag) {
  TaskTexts good = made_texts();
  good.questions.resize(1);
  std::vector<TaskTexts> bad(7, good);
  bad[0].questions.clear();
  bad[1].documents.clear();
  bad[2].questions[0].documents = {999};
  bad[3].questions[0].gold = 4;
  bad[4].questions[0].answers.clear();
  bad[6].questions[0].answers.emplace_back();
  bad[5].documents.resize(1);
  bad[5].questions[0].documents = {0};
  for (const TaskTexts& texts : bad) {
    const Result<Sample> sample = make_sample(*find_task("qa_1"), texts, {}, count_pieces);
    ASSERT_FALSE(sample);
    EXPECT_EQ(sample.error().option, "questions");
  }
}

TEST(TasksAnswers, WordsOfTheUserAreUsedAndTooFewAreAnErrorThatNamesTheFlag) {
  TaskTexts texts;
  for (int i = 0; i < 50; ++i) texts.words.push_back("zz" + std::to_string(i));
  EXPECT_EQ(make_sample(*find_task("cwe"), texts, {}, count_pieces).error().option, "words");
  for (int i = 50; i < 4000; ++i) texts.words.push_back("zz" + std::to_string(i) + "q");
  texts.words.push_back("two words");
  const Sample sample = made("cwe", {.length = 16'384}, count_pieces, texts);
  for (const std::string& word : sample.references) EXPECT_TRUE(word.starts_with("zz")) << word;
  EXPECT_EQ(sample.prompt.find("two words"), std::string::npos);
}

// An item of every task that asks those of a file, and of those that may.
const TaskTexts& item_texts() {
  static const TaskTexts texts = [] {
    const Item choice{.task = {},
                      .id = "7",
                      .context = made_prose(300),
                      .question = "Which is it?",
                      .options = {"alpha", "beta", "gamma", "delta"},
                      .answers = {"C"}};
    const auto answered = [](std::string context, std::string question, std::vector<std::string> answers) {
      return std::vector<Item>{{.task = {},
                                .id = "8",
                                .context = std::move(context),
                                .question = std::move(question),
                                .options = {},
                                .answers = std::move(answers)}};
    };
    TaskTexts out;
    for (const char* name : {"longbench2", "code_debug", "longbook_choice_eng"}) {
      out.items[name] = {choice};
    }
    out.items["longdialogue_qa_eng"] = answered("JACK: Who are you, $$MASK$$?", "", {"ACE"});
    out.items["longbook_qa_eng"] = answered("A book.", "Who is it?", {"Ann Lee", "Ann"});
    out.items["longbook_qa_chn"] = answered("一本书。", "谁？", {"田归农, 商老太"});
    out.items["longbook_sum_eng"] = answered("A book.", "", {"One goes.\nAnother stays."});
    out.items["code_run"] =
        answered("def func_1(x): return x - 8", "Please give me the return value of func_1(-3), \"now\".", {"-11"});
    out.items["math_calc"] = answered("1 + 3 + 4 - 8", "", {"4", "8", "0"});
    out.items["math_find"] = answered("[1, 7, 3]", "One number, no words. The largest number of the list is: ", {"7"});
    out.items["kv_retrieval"] = answered("{\"k\": \"v-1\"}", "\nKey: \"k\"\nThe value of the key is: ", {"v-1"});
    out.items["passkey"] = answered("The pass key is 01234.", "What is the pass key?", {"01234"});
    out.items["number_string"] = answered("It is 1122334455.", "What is the sequence of digits?", {"1122334455"});
    return out;
  }();
  return texts;
}

TEST(TasksAnswers, ItemsAreAskedWholeOrNotAtAll) {
  for (const char* name : {"longbench2", "code_debug", "longbook_choice_eng"}) {
    const Sample sample = made(name, {.length = 4096, .index = 0}, count_pieces, item_texts());
    EXPECT_NE(sample.prompt.find(item_texts().items.at(name)[0].context), std::string::npos);
    EXPECT_EQ(sample.references[0], "C");
    const Result<Sample> small = make_sample(*find_task(name), item_texts(), {.length = 400, .index = 0}, count_pieces);
    ASSERT_FALSE(small);
    EXPECT_EQ(small.error().option, "lengths");
    EXPECT_EQ(make_sample(*find_task(name), item_texts(), {.index = 1}, count_pieces).error().option, "items");
    TaskTexts no_letter = item_texts();
    no_letter.items.at(name)[0].answers = {"x"};
    EXPECT_EQ(make_sample(*find_task(name), no_letter, {}, count_pieces).error().option, "items");
  }
  EXPECT_EQ(made("longdialogue_qa_eng", {.index = 0}, count_pieces, item_texts()).references[0], "ACE");
}

// InfiniteBench's files are in the order of depth, and the first 20 of its 590 passkeys stand within the first 4 % of
// their texts. (tests/llama/test_benchmarks.py says which items a seed draws.)
TEST(TasksAnswers, ItemsAndQuestionsAreDrawnFromTheWholeFileEachOnce) {
  TaskTexts texts = made_texts();
  texts.questions.resize(1);
  for (int i = 0; i < 590; ++i) {
    texts.items["passkey"].push_back({.task = {},
                                      .id = std::to_string(i),
                                      .context = "The pass key is 1.",
                                      .question = {},
                                      .options = {},
                                      .answers = {"1"}});
    if (i > 0) texts.questions.push_back(texts.questions[0]);
  }
  for (const char* task : {"passkey", "qa_1"}) {
    const auto drawn = [&](std::uint64_t seed, std::int64_t count) {
      std::vector<int> out;
      for (std::int64_t i = 0; i < count; ++i) {
        const Sample sample = made(task, {.length = 2048, .seed = seed, .index = i}, count_pieces, texts);
        out.push_back(std::stoi(sample.labels.at("id")));
      }
      return out;
    };
    const std::vector<int> few = drawn(42, 20);
    std::set<int> fifths;
    for (const int id : few) fifths.insert(id * 5 / 591);
    EXPECT_EQ(fifths.size(), 5U) << task;
    EXPECT_NE(drawn(43, 20), few) << task;
    const std::vector<int> all = drawn(42, 590);
    EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 590U) << task;
    EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin())) << task;
  }
}

// InfiniteBench's questions lead into the answer: a last space is a token of its own, so what leads in begins the turn.
TEST(TasksAnswers, AQuestionThatLeadsInBeginsTheAnswer) {
  const Sample find = made("math_find", {}, count_pieces, item_texts());
  EXPECT_EQ(find.answer_prefix, "The largest number of the list is:");
  EXPECT_TRUE(find.prompt.ends_with("[1, 7, 3]\n\nOne number, no words.\n")) << find.prompt;
  const Sample value = made("kv_retrieval", {}, count_pieces, item_texts());
  EXPECT_EQ(value.answer_prefix, "The value of the key is:");
  EXPECT_TRUE(value.prompt.ends_with("\n\nKey: \"k\"\n")) << value.prompt;
  EXPECT_EQ(made("code_run", {}, count_pieces, item_texts()).answer_prefix, "The value of func_1(-3) is");
  EXPECT_EQ(made("passkey", {}, count_pieces, item_texts()).references[0], "01234");
}

// Without its file a generated task makes its prompts.
TEST(TasksAnswers, AFileIsAskedWhereItIsGiven) {
  const Sample given = made("passkey", {.length = 2048}, count_pieces, item_texts());
  EXPECT_EQ(given.labels.at("id"), "8");
  EXPECT_LT(given.prompt_tokens, 100);
  const Sample made_here = made("passkey", {.length = 2048});
  EXPECT_TRUE(made_here.labels.empty());
  EXPECT_GT(made_here.prompt_tokens, 1900);
}

TEST(TasksAnswers, ACallThatIsNoneIsAnErrorOfTheItem) {
  TaskTexts texts;
  for (const char* question : {"", "func_", "func_1", "func_1(", "func_1()", "func_1(3", "func_1(--3)", "func_x(3)"}) {
    texts.items["code_run"] = {
        {.task = {}, .id = "1", .context = "c", .question = question, .options = {}, .answers = {"1"}}};
    const Result<Sample> sample = make_sample(*find_task("code_run"), texts, {}, count_pieces);
    ASSERT_FALSE(sample) << question;
    EXPECT_EQ(sample.error().option, "items");
  }
}

TEST(TasksAnswers, APerfectAnswerScoresOneAndNothingScoresNothing) {
  for (const Task& task : tasks()) {
    if (!is_generated(task)) continue;
    for (std::int64_t index = 0; index < 8; ++index) {
      const Result<Sample> sample = make_sample(task, made_texts(), {.length = 2048, .index = index}, count_pieces);
      ASSERT_TRUE(sample);
      std::string answer = " ";
      for (const std::string& reference : sample->references) answer += reference + ", ";
      EXPECT_EQ(score_answer(task, *sample, answer), 1) << task.name << answer;
      EXPECT_EQ(score_answer(task, *sample, "<think>\nHm.</think>\n" + answer), 1) << task.name;
      EXPECT_EQ(score_answer(task, *sample, "<think>" + answer), 0) << task.name << ": a thought is no answer";
      EXPECT_EQ(score_answer(task, *sample, ""), 0) << task.name;
      EXPECT_EQ(score_answer(task, *sample, " I do not know"), 0) << task.name;
    }
  }
}

TEST(TasksAnswers, EveryAnswerThatIsCalledRightScoresOneAndBeginsNoOther) {
  for (const Task& task : tasks()) {
    const TaskTexts& texts = is_generated(task) ? made_texts() : item_texts();
    for (std::int64_t index = 0; index < (is_generated(task) ? 8 : 1); ++index) {
      const Result<Sample> sample = make_sample(task, texts, {.length = 2048, .index = index}, count_pieces);
      ASSERT_TRUE(sample) << task.name;
      ASSERT_FALSE(sample->answers.empty()) << task.name;
      for (const std::string& answer : sample->answers) {
        EXPECT_TRUE(answer.starts_with(' ')) << task.name;
        EXPECT_EQ(score_answer(task, *sample, answer), 1) << task.name << answer;
        for (const std::string& other : sample->answers) EXPECT_TRUE(&other == &answer || !other.starts_with(answer));
      }
    }
  }
  // Both spellings of a question's answer
  const Sample question = made("qa_1", {.length = 2048, .index = 3});
  const std::string shade = "shade" + std::to_string(question_of(question));
  EXPECT_EQ(question.answers, (std::vector<std::string>{" " + shade, " the " + shade}));
}

TEST(TasksAnswers, EachTaskIsScoredByItsOwnRule) {
  const auto score = [](const char* name, std::vector<std::string> references, std::string_view answer) {
    const Task& task = *find_task(name);
    Sample sample;
    sample.references = std::move(references);
    if (task.group == "longbench2") sample.answer_prefix = "The correct answer is";
    if (task.name == "code_debug") sample.answer_prefix = "The correct option is:";
    return score_answer(task, sample, answer);
  };
  EXPECT_EQ(score("niah", {"1234567"}, " 1234567."), 1);
  EXPECT_EQ(score("niah", {"1234567"}, " 7654321, no, 1234567"), 0);
  EXPECT_EQ(score("niah_single_2", {"1234567"}, " 7654321, no, 1234567"), 1);
  EXPECT_EQ(score("niah_multivalue", {"11", "22", "33", "44"}, " 11 and 33"), 0.5);
  EXPECT_EQ(score("qa_1", {"Paris", "the city of Paris"}, " It is paris."), 1);
  EXPECT_EQ(score("passkey", {"71432"}, "99999 then 71432"), 0);
  EXPECT_EQ(score("kv_retrieval", {"ab-cd"}, " \"ab-cd-extra\""), 0);
  EXPECT_EQ(score("kv_retrieval", {"ab-cd"}, " \"ab-cd\"}"), 1);
  EXPECT_EQ(score("math_find", {"42.5"}, " 42.5."), 1);
  EXPECT_EQ(score("code_debug", {"B", "load"}, " B"), 1);
  EXPECT_EQ(score("code_debug", {"B", "load"}, " load"), 1);
  EXPECT_EQ(score("code_debug", {"B", "load"}, " C. save"), 0);
  EXPECT_EQ(score("longdialogue_qa_eng", {"ACE"}, " Ace."), 1);
  EXPECT_EQ(score("longbook_choice_eng", {"B", "Hall Farm"}, " B. Hall Farm"), 1);
  EXPECT_EQ(score("longbook_choice_eng", {"B", "Hall Farm"}, " Can it be B?"), 0);
  EXPECT_EQ(score("longbook_qa_eng", {"the red house"}, " A house."), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score("longbook_qa_chn", {"田归农"}, " 归农。"), 0.8);
  EXPECT_EQ(score("longbook_sum_eng", {"one two\nthree four"}, "three four\none two"), 1);
  EXPECT_EQ(score("longbook_sum_eng", {"one two three four"}, "three four one two"), 0.5);
  EXPECT_EQ(score("code_run", {"-11"}, " 3 - 14 = -11."), 1);
  EXPECT_EQ(score("code_run", {"-11"}, " -11, as said"), 0);
  EXPECT_EQ(score("math_calc", {"4", "8", "0"}, " [4, 8, 1, 0]"), 2.0 / 3);
  EXPECT_EQ(score("niah_implied", {"Anouk"}, " It is anouk."), 1);
  EXPECT_EQ(score("niah_implied", {"Anouk"}, " Bartek"), 0);
  EXPECT_EQ(score("longbench2", {"B"}, " (B)."), 1);
  EXPECT_EQ(score("longbench2", {"B"}, " B"), 1);
  EXPECT_EQ(score("longbench2", {"B"}, " (C)"), 0);
  // Servers that trim what they answer
  EXPECT_EQ(score("longbench2", {"B"}, "(B)"), 1);
  EXPECT_EQ(score("longbench2", {"B"}, "<think>\nhm\n</think>\n\n(B)"), 1);
  EXPECT_EQ(score("code_debug", {"B", "load"}, "B. load"), 1);
  EXPECT_EQ(score("code_debug", {"B", "load"}, "load"), 1);
  EXPECT_EQ(score("code_debug", {"B", "load"}, "C. save"), 0);
  EXPECT_EQ(score("longbench2", {"B"}, ""), 0);
  EXPECT_EQ(score("niah", {}, "1234567"), 0) << "a sample without references";
}

TEST(TasksAnswers, StopWordsScoreInRougeAndNotInContent) {
  const Sample sample = made("niah_text", {.length = 2048});
  const Task& task = *find_task("niah_text");
  const std::string_view golden_gate = " to walk on a bridge and look at a bay in the evening.";
  EXPECT_NEAR(score_answer(task, sample, golden_gate), 5.0 / 12, 1e-12);
  EXPECT_EQ(other_scores(task, sample, golden_gate).at("content_recall"), 0);
  EXPECT_EQ(other_scores(task, sample, " Eat a sandwich and sit in Dolores Park on a sunny day.").at("content_recall"),
            1);
  EXPECT_TRUE(other_scores(*find_task("niah"), sample, "").empty());
}

}  // namespace
}  // namespace mrrope::eval
