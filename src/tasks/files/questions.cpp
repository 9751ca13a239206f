// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "mrrope/task_files.h"
#include "tasks/files/entries.h"

namespace mrrope::eval {

namespace {

using namespace task_files;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
// Every question of an article names all its paragraphs: a file of many small ones would grow with their square.
// SQuAD's training set has 4 million such indices.
constexpr std::size_t kMostLinks = std::size_t{1} << 24;

// Documents get numbers as they come, and their places in sorted order at the end.
class Collector {
 public:
  std::size_t document(std::string text) {
    return numbers_.try_emplace(std::move(text), numbers_.size()).first->second;
  }

  void question(Question question, const std::string& place) {
    links_ += question.documents.size();
    if (links_ > kMostLinks) reject(place, "too many documents for one subject");
    questions_.push_back(std::move(question));
  }

  QuestionFile finish() && {
    QuestionFile file;
    std::vector<std::size_t> place(numbers_.size());
    while (!numbers_.empty()) {
      auto first = numbers_.extract(numbers_.begin());
      place[first.mapped()] = file.documents.size();
      file.documents.push_back(std::move(first.key()));
    }
    for (Question& question : questions_) {
      for (std::size_t& document : question.documents) document = place[document];
    }
    file.questions = std::move(questions_);
    return file;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<Question> questions_;
  std::size_t links_ = 0;
};

std::vector<std::size_t> each_once(const std::vector<std::size_t>& documents) {
  std::set<std::size_t> seen;
  std::vector<std::size_t> kept;
  std::copy_if(documents.begin(), documents.end(), std::back_inserter(kept),
               [&](std::size_t document) { return seen.insert(document).second; });
  return kept;
}

// The gold ones first, then the others. Domain: `gold` is among `all`, in which each is once.
void set_documents(Question& question, const std::set<std::size_t>& gold, const std::vector<std::size_t>& all) {
  question.documents.reserve(all.size());
  question.gold = gold.size();
  for (const bool wanted : {true, false}) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(question.documents),
                 [&](std::size_t document) { return gold.contains(document) == wanted; });
  }
}

void read_paragraph(ObjectReader& in, std::size_t gold, const std::vector<std::size_t>& article, Collector& out) {
  const Json& list = in.array("qas");
  for (std::size_t i = 0; i < list.size(); ++i) {
    ObjectReader qa(list[i], element(in.path("qas"), i));
    if (qa.has("is_impossible") && qa.boolean("is_impossible")) continue;
    Question question{.question = qa.text("question"), .answers = {}, .documents = {}};
    const Json& answers = list_of(qa.any("answers"), qa.path("answers"), 1);
    for (std::size_t a = 0; a < answers.size(); ++a) {
      ObjectReader answer(answers[a], element(qa.path("answers"), a));
      question.answers.push_back(answer_of(answer.any("text"), answer.path("text")));
    }
    set_documents(question, {gold}, article);
    out.question(std::move(question), qa.path("question"));
  }
}

void read_squad(ObjectReader& in, Collector& out) {
  const Json& articles = in.array("data");
  for (std::size_t a = 0; a < articles.size(); ++a) {
    ObjectReader article(articles[a], element(in.path("data"), a));
    const Json& list = article.array("paragraphs");
    std::vector<ObjectReader> paragraphs;
    std::vector<std::size_t> documents;
    for (std::size_t p = 0; p < list.size(); ++p) {
      paragraphs.emplace_back(list[p], element(article.path("paragraphs"), p));
      documents.push_back(out.document(paragraphs.back().text("context")));
    }
    const std::vector<std::size_t> unique = each_once(documents);
    for (std::size_t p = 0; p < list.size(); ++p) read_paragraph(paragraphs[p], documents[p], unique, out);
  }
}

void read_hotpot(ObjectReader& in, Collector& out) {
  Question question{.question = in.text("question"), .answers = {}, .documents = {}};
  question.answers.push_back(answer_of(in.any("answer"), in.path("answer")));
  std::set<std::string> supporting;
  if (in.has("supporting_facts")) {
    const Json& facts = in.array("supporting_facts");
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const std::string place = element(in.path("supporting_facts"), i);
      supporting.insert(text_of(list_of(facts[i], place, 1)[0], element(place, 0)));
    }
  }
  std::vector<std::size_t> all;
  std::set<std::size_t> gold;
  const Json& context = list_of(in.any("context"), in.path("context"), 1);
  for (std::size_t i = 0; i < context.size(); ++i) {
    const std::string place = element(in.path("context"), i);
    const Json& pair = list_of(context[i], place, 2);
    const std::string& title = text_of(pair[0], element(place, 0));
    std::string document = title + '\n';
    const Json& sentences = list_of(pair[1], element(place, 1), 0);
    for (std::size_t s = 0; s < sentences.size(); ++s) {
      document += text_of(sentences[s], element(element(place, 1), s));
    }
    all.push_back(out.document(std::move(document)));
    if (supporting.empty() || supporting.contains(title)) gold.insert(all.back());
  }
  if (gold.empty()) in.reject("supporting_facts", ErrorCode::inconsistent, "no title of them is in the context");
  set_documents(question, gold, each_once(all));
  out.question(std::move(question), in.path("question"));
}

void read_nq(ObjectReader& in, Collector& out) {
  Question question{.question = in.text("question"), .answers = {}, .documents = {}};
  const Json& answers = list_of(in.any("answers"), in.path("answers"), 1);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    question.answers.push_back(answer_of(answers[i], element(in.path("answers"), i)));
  }
  bool marked = false;
  std::vector<std::size_t> all;
  std::set<std::size_t> gold;
  const Json& contexts = list_of(in.any("ctxs"), in.path("ctxs"), 1);
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    ObjectReader context(contexts[i], element(in.path("ctxs"), i));
    all.push_back(out.document(context.text("title") + '\n' + context.text("text")));
    marked = marked || context.has("isgold");
    if (context.has("isgold") && context.boolean("isgold")) gold.insert(all.back());
  }
  if (marked && gold.empty()) return;
  if (!marked) gold.insert(all.begin(), all.end());
  set_documents(question, gold, each_once(all));
  out.question(std::move(question), in.path("question"));
}

}  // namespace

Result<QuestionFile> read_questions(const std::string& path) {
  Collector collector;
  const Result<void> read = for_each_entry(path, kMostBytes, [&](ObjectReader& in) {
    if (in.has("data")) {
      read_squad(in, collector);
    } else if (in.has("ctxs")) {
      read_nq(in, collector);
    } else if (in.has("context")) {
      read_hotpot(in, collector);
    } else {
      reject("", "expected an entry of SQuAD (data), HotpotQA (context) or NQ-open (ctxs)");
    }
    return true;
  });
  if (!read) return read.error();
  return std::move(collector).finish();
}

}  // namespace mrrope::eval
