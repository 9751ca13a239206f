// SPDX-License-Identifier: MIT
//
// RULER's question answering: the documents that hold the answer among many that do not. Documents of the same subject
// come first, then any; the last one is cut at a word to fill the length.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tasks/haystack.h"

namespace mrrope::eval::drafts {

namespace {

constexpr const char* kOption = "questions";

Result<void> check_question(const TaskTexts& texts, const Question& question, std::size_t number) {
  const auto error = [&](const std::string& what) {
    return Error{ErrorCode::inconsistent, fmt::format("question {}: {}", number + 1, what), "", kOption};
  };
  if (question.answers.empty() || std::count(question.answers.begin(), question.answers.end(), "") > 0) {
    return error("expected answers that are not empty");
  }
  if (question.gold == 0 || question.gold > question.documents.size()) {
    return error(fmt::format("expected 1 to {} documents that hold the answer, found {}", question.documents.size(),
                             question.gold));
  }
  for (const std::size_t d : question.documents) {
    if (d >= texts.documents.size()) {
      return error(fmt::format("expected one of {} documents, found number {}", texts.documents.size(), d + 1));
    }
  }
  return {};
}

// All documents without the answer, in the order in which they are taken.
std::vector<std::string_view> distractors(const TaskTexts& texts, const Question& question, Random random) {
  std::vector<std::size_t> order(texts.documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(std::span(order));
  std::vector<bool> taken(texts.documents.size());
  std::vector<std::string_view> out;
  const auto take = [&](std::size_t d, bool keep) {
    if (taken[d]) return;
    taken[d] = true;
    if (keep && cut_after(texts.documents[d], 1).words > 0) out.push_back(texts.documents[d]);
  };
  for (std::size_t i = 0; i < question.documents.size(); ++i) take(question.documents[i], i >= question.gold);
  for (const std::size_t d : order) take(d, true);
  return out;
}

// The first `words` words of the documents, which begin again after the last, in an order that more words do not
// change.
std::vector<std::string_view> shown(const std::vector<std::string_view>& documents, std::int64_t words, Random random) {
  std::vector<std::pair<std::uint64_t, std::string_view>> out;
  for (std::size_t i = 0; words > 0; ++i) {
    const std::string_view document = documents[i % documents.size()];
    const Cut cut = cut_after(document, words);
    words -= cut.words;
    out.emplace_back(random.next(), words > 0 ? document : document.substr(0, cut.bytes));
  }
  std::sort(out.begin(), out.end());
  std::vector<std::string_view> sorted;
  sorted.reserve(out.size());
  for (const auto& [priority, document] : out) sorted.push_back(document);
  return sorted;
}

// Which document to go before, so that about `depth` of the text is in front.
std::size_t place(const std::vector<std::string_view>& documents, double depth) {
  const auto total = std::accumulate(documents.begin(), documents.end(), 0.0, [](double sum, std::string_view d) {
    return sum + static_cast<double>(d.size());
  });
  double before = 0;
  std::size_t i = 0;
  for (; i < documents.size(); ++i) {
    if (before + static_cast<double>(documents[i].size()) / 2 > depth * total) break;
    before += static_cast<double>(documents[i].size());
  }
  return i;
}

}  // namespace

Forms questions(const Brief& brief) {
  const TaskTexts& texts = brief.texts;
  if (texts.questions.empty() || texts.documents.empty()) {
    return Error{ErrorCode::invalid_argument, "expected questions and documents, found none", "", kOption};
  }
  const std::size_t number = drawn(brief, texts.questions.size());
  const Question& question = texts.questions[number];
  if (const auto ok = check_question(texts, question, number); !ok) return ok.error();
  const std::vector<std::string_view> others = distractors(texts, question, brief.random.fork("documents"));
  if (others.empty()) {
    return Error{ErrorCode::invalid_argument, "expected documents beside those that hold the answer, found none", "",
                 kOption};
  }

  const auto draft = [&question, &texts, others, number, depths = depths_of(brief, question.gold),
                      order = brief.random.fork("order")](Size size) {
    const std::vector<std::string_view> distracting = shown(others, size.words, order);
    std::vector<std::pair<std::size_t, std::size_t>> gold;  // place, document
    for (std::size_t g = 0; g < question.gold; ++g) {
      gold.emplace_back(place(distracting, depths[g]), question.documents[g]);
    }
    std::sort(gold.begin(), gold.end());

    Draft out{.prompt = "Answer the question from the documents below. Give only the answer, no other words.\n\n",
              .answer_prefix = "Answer:",
              .answer = " " + question.answers[0],
              .other_answers = spaced(question.answers),
              .references = question.answers,
              .labels = {{"id", fmt::format("{}", number + 1)}}};
    std::size_t count = 0;
    const auto add = [&](std::string_view document) {
      fmt::format_to(std::back_inserter(out.prompt), "Document {}:\n", ++count);
      const Range range{out.prompt.size(), out.prompt.size() + document.size()};
      out.prompt += document;
      out.prompt += "\n\n";
      return range;
    };
    auto next = gold.begin();
    for (std::size_t i = 0; i <= distracting.size(); ++i) {
      for (; next != gold.end() && next->first == i; ++next) out.needles.push_back(add(texts.documents[next->second]));
      if (i < distracting.size()) add(distracting[i]);
    }
    out.prompt += fmt::format(
        "Answer the question from the documents above. Give only the answer, no other words.\nQuestion: {}\n",
        question.question);
    return out;
  };
  return std::vector{Form{.draft = draft}};
}

}  // namespace mrrope::eval::drafts
