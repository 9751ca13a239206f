// SPDX-License-Identifier: MIT
//
// Questions and whole items from the files that benchmarks are published in, and plain documents.
//
//   Result<QuestionFile> file = read_questions("dev-v2.0.json");    // for RULER's qa: documents and questions
//   read_items("data.json", [&](Item&& item) { … return true; });   // one at a time: a file of any size
//   read_texts("texts.jsonl", [&](std::string&& text) { … return true; });
//
// A file is a list of objects, or objects one after the other (.jsonl), plain or gzip; what an object is, its fields
// say. Texts are kept as they are. The first malformed entry ends the reading with an Error whose place is the file,
// the entry (from 1) and the field. Bounds: 64 MiB for one entry, 1 GiB (questions) or 16 GiB (items) for a file when
// unpacked; beyond them is an Error, found without unpacking more.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::eval {

// ---- Questions about documents -------------------------------------------------------------------------------------

struct Question {
  std::string question;
  std::vector<std::string> answers;    // any of them counts; at least one, none empty
  std::vector<std::size_t> documents;  // of QuestionFile: first those that hold the answer, then others of the subject
  std::size_t gold = 1;                // how many hold the answer
};

struct QuestionFile {
  std::vector<std::string> documents;  // each once, sorted by bytes
  std::vector<Question> questions;     // in the order of the file
};

//   SQuAD, XQuAD  {data: [{paragraphs: [{context, qas: [{question, answers: [{text}], is_impossible?}]}]}]}
//                 Documents are paragraphs; others of the subject are those of the article. Impossible questions are
//                 left out.
//   HotpotQA      {question, answer, context: [[title, [sentence]]], supporting_facts?: [[title, number]]}
//                 A document is the title, a line break and the sentences. Without supporting facts all are gold.
//   NQ-open       {question, answers, ctxs: [{title, text, isgold?}]}, as in lost-in-the-middle
//                 A document is the title, a line break and the text. Without any isgold all are gold; a question
//                 whose documents all say false is left out.
Result<QuestionFile> read_questions(const std::string& path);

// ---- Whole items ---------------------------------------------------------------------------------------------------

// A question with its whole context.
struct Item {
  std::string task;  // "longbench2", or the name InfiniteBench gives it, "code_debug"; empty: nobody says
  std::string id;
  std::string context;
  std::string question;
  std::vector<std::string> options;                // A first; none where an answer is free text
  std::vector<std::string> answers;                // the letter of an option, "B"; or the texts that count
  std::map<std::string, std::string> labels = {};  // of LongBench-v2: domain, sub_domain, difficulty, length
};

// Called with each item in the order of the file; false: no more is wanted.
using TakeItem = std::function<bool(Item&&)>;

//   InfiniteBench  {id, context, input, answer, options?, task?}
//                  An answer is a text, a number, a list of them or such a list in a list; with options one of them, or
//                  that and its letter.
//                  Its twelve tasks have the same fields: which one it is says `task`, or else the file's name, if it
//                  is the published one: code_debug.jsonl. Both, and different: an Error.
//   LongBench-v2   {_id, domain, sub_domain, difficulty, length, question, choice_A … choice_D, answer, context}
Result<void> read_items(const std::string& path, const TakeItem& take);

// ---- Plain documents -----------------------------------------------------------------------------------------------

// A file of documents by its name: .jsonl, .jsonl.gz. Others are one text each.
bool holds_documents(std::string_view path);

// The `text` of each entry, in the order of the file; other fields say nothing. An entry without it is an Error.
using TakeText = std::function<bool(std::string&&)>;
Result<void> read_texts(const std::string& path, const TakeText& take);

}  // namespace mrrope::eval
