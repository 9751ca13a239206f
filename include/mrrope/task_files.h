// SPDX-License-Identifier: MIT
//
// Questions and whole items from the files that benchmarks are published in.
//
//   Result<QuestionFile> file = read_questions("dev-v2.0.json");          // for RULER's qa: documents and questions
//   read_items("data.json", [&](TaskItem&& item) { … return true; });     // one at a time: files of many gigabytes
//
// A file is a list of objects, or objects one after the other (.jsonl), plain or gzip; what an object is, its fields
// say. Texts are kept as they are. The first malformed entry ends the reading with an Error whose place is the file,
// the entry (from 1) and the field. Bounds: 64 MiB for one entry, 1 GiB (questions) or 16 GiB (items) for a file when
// unpacked; a file beyond them is an Error, found without unpacking more.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope {

struct Question {
  std::string question;
  std::vector<std::string> answers;    // at least one; any of them is right
  std::vector<std::size_t> documents;  // indices: first those that hold the answer, then others that go with them
  std::size_t gold = 1;                // how many of `documents` are said to hold the answer
};

struct QuestionFile {
  std::vector<std::string> documents;  // each once, sorted by bytes
  std::vector<Question> questions;     // in the order of the file
};

//   SQuAD, XQuAD  {data: [{paragraphs: [{context, qas: [{question, answers: [{text}], is_impossible?}]}]}]}; a document
//                 is a paragraph, others that go with it are those of its article; impossible questions are left out
//   HotpotQA      {question, answer, context: [[title, [sentence]]], supporting_facts: [[title, n]]}; a document is the
//                 title, a line break and the sentences
//   NQ-open       {question, answers, ctxs: [{title, text, isgold?}]} of lost-in-the-middle; a document is the title, a
//                 line break and the text; without any isgold all are gold
Result<QuestionFile> read_questions(const std::string& path);

// One long text with one question about it.
struct TaskItem {
  std::string id;
  std::string context;
  std::string question;
  std::vector<std::string> options;                // of a choice, A first; otherwise empty
  std::optional<std::size_t> correct = {};         // of options
  std::vector<std::string> answers;                // accepted texts; of a choice: the correct option
  std::map<std::string, std::string> labels = {};  // "domain", "sub_domain", "difficulty", "length"
};

// Called with each item in the order of the file; false: no more wanted.
using TakeItem = std::function<bool(TaskItem&&)>;

//   InfiniteBench  {id, context, input, answer, options}: answer a text, a number or a list of them; in
//   code_debug.jsonl
//                  and the like one of the options, or that and its letter
//   LongBench-v2   {_id, domain, sub_domain, difficulty, length, question, choice_A … choice_D, answer, context}
std::optional<Error> read_items(const std::string& path, const TakeItem& take);

}  // namespace mrrope
