// SPDX-License-Identifier: MIT
//
// Small files of every format, real ones where they are (MRROPE_DATA, default ../shared/data beside the project), and
// the same files spoilt.
#include "mrrope/task_files.h"

#include <cstdlib>
#include <map>
#include <random>

#include "mrrope/tasks.h"
#include "tests/support/json_paths.h"
#include "tests/support/temporary_files.h"

namespace mrrope::eval {
namespace {

using test::Json;
using Texts = std::vector<std::string>;
using Indices = std::vector<std::size_t>;

const std::string kSquad = R"({"version": "v2.0", "data": [
  {"title": "One", "paragraphs": [
    {"context": "m: the gold is 7", "qas": [
      {"id": "1", "question": "gold?", "answers": [{"text": "7", "answer_start": 15}, {"text": "gold is 7"}], "is_impossible": false},
      {"id": "2", "question": "silver?", "answers": [], "is_impossible": true, "plausible_answers": []}]},
    {"context": "z: another", "qas": []},
    {"context": "a: a third ü", "qas": [{"question": "third?", "answers": [{"text": "ü"}]}]}]},
  {"title": "Two", "paragraphs": [
    {"context": "k: alone", "qas": [{"question": "alone?", "answers": [{"text": "alone"}]}]},
    {"context": "k: alone", "qas": []}]}]})";

const std::string kHotpot = R"([{"_id": "5a", "question": "Who?", "answer": "Ed", "type": "bridge", "level": "hard",
  "supporting_facts": [["C", 0], ["B", 1], ["B", 0]],
  "context": [["A", ["One. ", "Two."]], ["B", ["Ed", " did."]], ["C", []]]}])";

const std::string kNq =
    R"({"question": "q1", "answers": ["x", "y"], "ctxs": [{"title": "T", "text": "no"}, {"title": "S", "text": "x"}]}
{"question": "q2", "answers": ["z"], "ctxs": [{"title": "T", "text": "no", "isgold": false}, {"title": "U", "text": "z", "isgold": true}]}
{"question": "q3", "answers": ["z"], "ctxs": [{"title": "T", "text": "no", "isgold": false}]}
)";

const std::string kInfiniteBench =
    R"({"id": 0, "context": "def f(): pass", "input": "", "answer": ["g"], "options": ["f", "g", "h", "i"]}
{"id": "1", "context": "script", "input": "Who is $$MASK$$?", "answer": ["ACE", "VENTURA"], "options": []}
{"id": 2, "context": "[1, 2]", "input": "median", "answer": 1.5}
{"id": 3, "context": "[1, 2]", "input": "largest", "answer": [2], "options": []}
{"id": 4, "context": "c", "input": "", "answer": ["h", "C"], "options": ["f", "g", "h", "i"]}
{"id": 5, "context": "c", "input": "", "answer": "i", "options": ["f", "g", "h", "i"]}
)";

const std::string kLongBench2 = R"([{"_id": "66f", "domain": "Code", "sub_domain": "Repo", "difficulty": "hard",
  "length": "short", "question": "Which?", "choice_A": "a", "choice_B": "b", "choice_C": "c", "choice_D": "d",
  "answer": "C", "context": "long\ntext"}])";

class TaskFiles : public test::TemporaryFiles {
 protected:
  Result<QuestionFile> questions(const std::string& content) { return read_questions(write("f.json", content)); }
  Result<std::vector<Item>> items(const std::string& content) { return all_items(write("f.json", content)); }

  static Result<std::vector<Item>> all_items(const std::string& path) {
    std::vector<Item> found;
    const Result<void> read = read_items(path, [&](Item&& item) {
      found.push_back(std::move(item));
      return true;
    });
    if (!read) return read.error();
    return found;
  }

  // Read as both.
  Result<void> read_as_both(const std::string& content) {
    const Result<QuestionFile> file = questions(content);
    if (file || all_items(path("f.json"))) return {};
    return file.error();
  }

  static std::filesystem::path data() {
    const char* folder = std::getenv("MRROPE_DATA");
    return folder != nullptr ? folder : std::filesystem::path(MRROPE_VECTORS) / "../../../shared/data";
  }
};

// ---- Questions -----------------------------------------------------------------------------------------------------

TEST_F(TaskFiles, SquadGivesTheGoldParagraphAndThenItsArticle) {
  const Result<QuestionFile> file = questions(kSquad);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->documents, (Texts{"a: a third ü", "k: alone", "m: the gold is 7", "z: another"}));
  ASSERT_EQ(file->questions.size(), 3U);  // the impossible one is left out
  EXPECT_EQ(file->questions[0].question, "gold?");
  EXPECT_EQ(file->questions[0].answers, (Texts{"7", "gold is 7"}));
  EXPECT_EQ(file->questions[0].documents, (Indices{2, 3, 0}));
  EXPECT_EQ(file->questions[1].documents, (Indices{0, 2, 3}));
  EXPECT_EQ(file->questions[2].documents, (Indices{1}));
  for (const Question& question : file->questions) EXPECT_EQ(question.gold, 1U);
}

TEST_F(TaskFiles, HotpotGivesTheSupportingDocumentsFirst) {
  const Result<QuestionFile> file = questions(kHotpot);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->documents, (Texts{"A\nOne. Two.", "B\nEd did.", "C\n"}));
  ASSERT_EQ(file->questions.size(), 1U);
  EXPECT_EQ(file->questions[0].answers, Texts{"Ed"});
  EXPECT_EQ(file->questions[0].documents, (Indices{1, 2, 0}));
  EXPECT_EQ(file->questions[0].gold, 2U);
}

TEST_F(TaskFiles, NqOpenGivesTheMarkedDocumentsFirst) {
  const Result<QuestionFile> file = questions(kNq);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->documents, (Texts{"S\nx", "T\nno", "U\nz"}));
  ASSERT_EQ(file->questions.size(), 2U);
  EXPECT_EQ(file->questions[0].documents, (Indices{1, 0}));
  EXPECT_EQ(file->questions[0].gold, 2U);  // nothing is marked
  EXPECT_EQ(file->questions[1].documents, (Indices{2, 1}));
  EXPECT_EQ(file->questions[1].gold, 1U);
}

TEST_F(TaskFiles, PackedFilesAreReadAsTheyAre) {
  const Result<QuestionFile> file = read_questions(write_gzip("nq.jsonl.gz", kNq));
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->questions.size(), 2U);
}

TEST_F(TaskFiles, XquadHas240ParagraphsAnd1190Questions) {
  const std::filesystem::path path = data() / "qa/xquad.en.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there; MRROPE_DATA names the folder with qa/";
  const Result<QuestionFile> file = read_questions(path.string());
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->documents.size(), 240U);
  EXPECT_EQ(file->questions.size(), 1190U);
  EXPECT_TRUE(std::is_sorted(file->documents.begin(), file->documents.end()));
  for (const Question& question : file->questions) {
    ASSERT_EQ(question.documents.size(), 5U);  // 48 articles of five paragraphs
    const std::string& gold = file->documents.at(question.documents[0]);
    EXPECT_NE(gold.find(question.answers.at(0)), std::string::npos) << question.question;
  }
}

TEST_F(TaskFiles, NqOpenOracleHas2655QuestionsAbout2600Passages) {
  const std::filesystem::path path = data() / "qa/nq-open-oracle.jsonl.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there; MRROPE_DATA names the folder with qa/";
  const Result<QuestionFile> file = read_questions(path.string());
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->documents.size(), 2600U);
  EXPECT_EQ(file->questions.size(), 2655U);
  EXPECT_EQ(file->questions[0].question, "who got the first nobel prize in physics");
  EXPECT_EQ(file->questions[0].answers, Texts{"Wilhelm Conrad Röntgen"});
  for (const Question& question : file->questions) EXPECT_EQ(question.documents.size(), 1U);
}

// ---- Items ---------------------------------------------------------------------------------------------------------

TEST_F(TaskFiles, InfiniteBenchGivesLettersWhereThereAreOptions) {
  const Result<std::vector<Item>> list = items(kInfiniteBench);
  ASSERT_TRUE(list) << to_string(list.error());
  ASSERT_EQ(list->size(), 6U);
  const Texts ids = {"0", "1", "2", "3", "4", "5"};
  const std::vector<Texts> answers = {{"B"}, {"ACE", "VENTURA"}, {"1.5"}, {"2"}, {"C"}, {"D"}};
  for (std::size_t i = 0; i < list->size(); ++i) {
    EXPECT_EQ((*list)[i].id, ids[i]);
    EXPECT_EQ((*list)[i].answers, answers[i]);
  }
  EXPECT_EQ((*list)[0].options, (Texts{"f", "g", "h", "i"}));
  EXPECT_EQ((*list)[1].question, "Who is $$MASK$$?");
  EXPECT_EQ((*list)[1].context, "script");
}

// math_calc's published labels are a list in a list.
TEST_F(TaskFiles, AnswersMayBeAListInAList) {
  const auto answers = [&](const std::string& list) {
    const Result<std::vector<Item>> read = items(R"({"id": 1, "context": "", "input": "", "answer": )" + list + "}");
    return read ? read->front().answers : Texts{to_string(read.error())};
  };
  EXPECT_EQ(answers("[[79, 0, 59]]"), (Texts{"79", "0", "59"}));
  EXPECT_EQ(answers("[79, 0]"), (Texts{"79", "0"}));
  EXPECT_EQ(answers("[[79], [0]]").front().find(path("f.json") + ": entry 1: answer[0]"), 0U);
  EXPECT_EQ(answers("[[[79]]]").front().find(path("f.json") + ": entry 1: answer[0]"), 0U);
}

TEST_F(TaskFiles, LongBench2GivesItsLabels) {
  const Result<std::vector<Item>> list = items(kLongBench2);
  ASSERT_TRUE(list) << to_string(list.error());
  ASSERT_EQ(list->size(), 1U);
  const Item& item = list->front();
  EXPECT_EQ(item.id, "66f");
  EXPECT_EQ(item.context, "long\ntext");
  EXPECT_EQ(item.question, "Which?");
  EXPECT_EQ(item.options, (Texts{"a", "b", "c", "d"}));
  EXPECT_EQ(item.answers, Texts{"C"});
  EXPECT_EQ(item.labels, (std::map<std::string, std::string>{
                             {"domain", "Code"}, {"sub_domain", "Repo"}, {"difficulty", "hard"}, {"length", "short"}}));
}

// The story: twelve tasks have the same fields, and longbook_choice_eng.jsonl was scored as code_debug.
TEST_F(TaskFiles, InfiniteBenchSaysItsTaskByNameOrByField) {
  const std::string line = kInfiniteBench.substr(0, kInfiniteBench.find('\n'));
  const auto task = [&](const std::string& name, const std::string& content) {
    const Result<std::vector<Item>> list = all_items(write(name, content));
    return list ? list->front().task : to_string(list.error());
  };
  EXPECT_EQ(task("longbook_choice_eng.jsonl", line), "longbook_choice_eng");
  EXPECT_EQ(task("code_debug.json", line), "code_debug");
  EXPECT_EQ(task("mine.jsonl", line), "");
  const std::string said = R"({"task": "code_debug", )" + line.substr(1);
  EXPECT_EQ(task("mine.jsonl", said), "code_debug");
  EXPECT_EQ(task("code_debug.jsonl", said), "code_debug");
  EXPECT_EQ(task("code_run.jsonl", said),
            path("code_run.jsonl") + ": entry 1: task: says code_debug, the file's name code_run");
  EXPECT_EQ(all_items(write("data.json", kLongBench2))->front().task, "longbench2");
}

TEST_F(TaskFiles, AnItemsSampleKeepsWhatTheFileSaysOfIt) {
  TaskTexts texts;
  texts.items["longbench2"] = *items(kLongBench2);
  const auto bytes = [](std::string_view text) { return Result<std::int64_t>(std::ssize(text)); };
  const Result<Sample> sample = make_sample(*find_task("longbench2"), texts, {.length = 4096}, bytes);
  ASSERT_TRUE(sample) << to_string(sample.error());
  EXPECT_EQ(
      sample->labels,
      (std::map<std::string, std::string>{
          {"id", "66f"}, {"domain", "Code"}, {"sub_domain", "Repo"}, {"difficulty", "hard"}, {"length", "short"}}));
}

// ---- Documents -----------------------------------------------------------------------------------------------------

TEST_F(TaskFiles, DocumentsAreTheTextsOfTheirLines) {
  const auto texts = [](const std::string& path) {
    Texts out;
    const Result<void> read = read_texts(path, [&](std::string&& text) {
      out.push_back(std::move(text));
      return true;
    });
    if (!read) out.push_back(to_string(read.error()));
    return out;
  };
  const std::string two = "{\"text\": \"One.\\nTwo\", \"meta\": {\"n\": 1}}\n\n{\"id\": 3, \"text\": \"ü\"}";
  EXPECT_EQ(texts(write("a.jsonl", two)), (Texts{"One.\nTwo", "ü"}));
  EXPECT_EQ(texts(write_gzip("a.jsonl.gz", two)), (Texts{"One.\nTwo", "ü"}));
  EXPECT_EQ(texts(write("b.jsonl", two + R"({"content": "x"})")).back(),
            path("b.jsonl") +
                R"(: entry 3: expected a field "text": a .jsonl is documents, one per line; other files are one text)");
  EXPECT_TRUE(holds_documents("x/a.jsonl"));
  EXPECT_TRUE(holds_documents("a.jsonl.gz"));
  EXPECT_FALSE(holds_documents("jsonl.txt"));
}

// LongBench-v2 has hundreds of megabytes, and base::parse_json takes 64.
TEST_F(TaskFiles, AListLargerThanTheParserTakesIsReadItemByItem) {
  Json entry = Json::parse(kLongBench2)[0];
  entry["context"] = std::string(1 << 20, 'x');
  const std::string text = entry.dump();
  {
    std::ofstream file(path("large.json"));
    for (int i = 0; i < 66; ++i) file << (i == 0 ? "[" : ",\n ") << text;
    file << "]";
  }
  std::size_t count = 0, bytes = 0;
  const Result<void> read = read_items(path("large.json"), [&](Item&& item) {
    bytes += item.context.size();
    return ++count > 0;
  });
  EXPECT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(count, 66U);
  EXPECT_EQ(bytes, 66U << 20);
}

TEST_F(TaskFiles, ReadingStopsWhereNoMoreIsWanted) {
  int count = 0;
  const Result<void> read =
      read_items(write("f.jsonl", kInfiniteBench.substr(0, kInfiniteBench.find('\n')) + "{broken"),
                 [&](Item&&) { return ++count < 1; });
  EXPECT_TRUE(read);
  EXPECT_EQ(count, 1);
}

// ---- Spoilt files --------------------------------------------------------------------------------------------------

TEST_F(TaskFiles, ErrorsNameFileEntryAndField) {
  const struct {
    std::string content, where, message;
  } cases[] = {
      {R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"question": 7}]}]}]})",
       "entry 1: data[0].paragraphs[0].qas[0].question", "expected a string, found a number"},
      {R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q", "answers": []}]}]}]})",
       "entry 1: data[0].paragraphs[0].qas[0].answers", "expected at least 1, found 0"},
      {R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q", "answers": [{"text": ""}]}]}]}]})",
       "entry 1: data[0].paragraphs[0].qas[0].answers[0].text", "expected a text that is not empty"},
      {R"({"data": [{"paragraphs": [{"qas": []}]}]})", "entry 1: data[0].paragraphs[0].context", "missing"},
      {R"([{"question": "q", "answer": "a", "context": [["t", ["s"]]]}, {"question": "q", "answer": "a", "context": [["t"]]}])",
       "entry 2: context[0]", "expected at least 2, found 1"},
      {R"([{"question": "q", "answer": "a", "context": [["t", ["s", 1]]]}])", "entry 1: context[0][1][1]",
       "expected a string, found a number"},
      {R"([{"question": "q", "answer": "a", "context": [["t", []]], "supporting_facts": [["u", 0]]}])",
       "entry 1: supporting_facts", "no title of them is in the context"},
      {R"({"question": "q", "answers": ["a"], "ctxs": [{"title": "t", "text": "x"}]} {"question": "q", "answers": "a", "ctxs": []})",
       "entry 2: answers", "expected a list, found a string"},
      {R"({"question": "q", "answers": ["a"], "ctxs": [{"title": "t", "text": "x", "isgold": 1}]})",
       "entry 1: ctxs[0].isgold", "expected true or false, found a number"},
      {"{\"question\": \"q\"}", "entry 1", "expected an entry of SQuAD (data), HotpotQA (context) or NQ-open (ctxs)"},
      {"{\"question\": \"q\",}", "entry 1: line 1, column 18", "not valid JSON"},
  };
  for (const auto& c : cases) {
    const Result<QuestionFile> file = questions(c.content);
    ASSERT_FALSE(file) << c.content;
    EXPECT_EQ(file.error().where, path("f.json") + ": " + c.where);
    EXPECT_EQ(file.error().message, c.message);
  }
  const struct {
    std::string content, where;
  } item_cases[] = {
      {R"({"id": 1, "context": 2, "input": "", "answer": "x"})", "entry 1: context"},
      {R"({"id": 1, "context": "", "input": "", "answer": []})", "entry 1: answer"},
      {R"({"id": 1, "context": "", "input": "", "answer": [true]})", "entry 1: answer[0]"},
      {R"({"id": 1, "context": "", "input": "", "answer": "x", "options": ["y"]})", "entry 1: answer"},
      {R"({"id": 1, "context": "", "input": "", "answer": ["x", "Z"], "options": ["x", "y"]})", "entry 1: answer"},
      {R"({"id": 1, "context": "", "input": "", "answer": "x", "options": ["x", null]})", "entry 1: options[1]"},
      {R"({"id": 1, "context": "", "input": ""})", "entry 1: answer"},
      {R"({"context": "", "input": "", "answer": "x"})", "entry 1: id"},
      {R"({"_id": "1", "choice_A": "a"})", "entry 1: context"},
      {"{}", "entry 1"},
  };
  for (const auto& c : item_cases) {
    const Result<std::vector<Item>> list = items(c.content);
    ASSERT_FALSE(list) << c.content;
    EXPECT_EQ(list.error().where, path("f.json") + ": " + c.where);
  }
  EXPECT_FALSE(read_questions(path("absent")));
  EXPECT_FALSE(read_questions(path("")));  // a folder
}

TEST_F(TaskFiles, AFieldThatIsMissingOrOfAnotherKindIsAnErrorOrHarmless) {
  const std::string nq = kNq.substr(0, kNq.find('\n')), infinite = kInfiniteBench.substr(0, kInfiniteBench.find('\n'));
  const Json wrong[] = {
      nullptr, true, 1, -1.5, "", "text", Json::array(), Json::object(), Json::array({Json::array()})};
  int refused = 0;
  for (const std::string& content :
       {kSquad, kHotpot.substr(1, kHotpot.size() - 2), nq, infinite, kLongBench2.substr(1, kLongBench2.size() - 2)}) {
    const Json valid = Json::parse(content);
    std::vector<test::Pointer> places;
    test::collect(valid, test::Pointer(), places);
    for (const test::Pointer& place : places) {
      for (const Json& value : wrong) {
        Json spoilt = valid;
        spoilt[place] = value;
        const Result<void> read = read_as_both(spoilt.dump());
        if (read) continue;
        ++refused;
        EXPECT_EQ(read.error().where.find(path("f.json") + ": entry 1"), 0U) << read.error().where;
      }
      Json without = valid;
      Json& parent = without[place.parent_pointer()];
      parent.is_array() ? parent.erase(parent.begin()) : parent.erase(parent.find(place.back()));
      if (!read_as_both(without.dump())) ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST_F(TaskFiles, ACutFileIsAnErrorOrHoldsLess) {
  for (const std::string& content : {kSquad, kHotpot, kLongBench2}) {
    const std::size_t end = content.rfind(content[0] == '[' ? ']' : '}');
    for (std::size_t cut = 1; cut <= end; ++cut) EXPECT_FALSE(read_as_both(content.substr(0, cut))) << cut;
  }
  for (std::size_t cut = 0; cut < kNq.size(); ++cut) {
    const Result<QuestionFile> file = questions(kNq.substr(0, cut));
    EXPECT_TRUE(!file || file->questions.size() <= 2U);
  }
}

TEST_F(TaskFiles, RandomDamageNeverDoesMoreThanFail) {
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::string bytes = "{}[]\",:\\u0\n\xff\xC3 1e9tn";
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    for (std::string text : {kSquad, kHotpot, kNq, kInfiniteBench, kLongBench2}) {
      for (std::size_t change = below(4) + 1; change > 0; --change) {
        const std::size_t at = below(text.size());
        switch (below(3)) {
          case 0: text[at] = bytes[below(bytes.size())]; break;
          case 1: text.erase(at, below(30)); break;
          default: text.insert(at, text.substr(below(text.size()), below(60)));
        }
        if (text.empty()) text = " ";
      }
      if (!read_as_both(text)) ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

// Every question of an article names all its paragraphs.
TEST_F(TaskFiles, AnArticleOfVeryManyParagraphsDoesNotGrowWithTheirSquare) {
  Json paragraphs = Json::array();
  for (int i = 0; i < 6000; ++i) {
    paragraphs.push_back(
        {{"context", std::to_string(i)}, {"qas", {{{"question", "q"}, {"answers", {{{"text", "a"}}}}}}}});
  }
  const Result<QuestionFile> file = questions(Json{{"data", {{{"paragraphs", paragraphs}}}}}.dump());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "too many documents for one subject");
}

}  // namespace
}  // namespace mrrope::eval
