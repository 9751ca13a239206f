// SPDX-License-Identifier: MIT
//
// Long-context tasks as data: prompts of a given number of tokens, and the rule that scores an answer.
//
//   const Task* task = find_task("niah_single_2");
//   TaskTexts texts{.haystack = novel};
//   Result<Sample> sample = make_sample(*task, texts, {.length = 8192, .seed = 42, .index = 7}, count_tokens);
//   score_answer(*task, *sample, "1234567.");                                          // 0 … 1
//
// Needle in a haystack, RULER's thirteen tasks and InfiniteBench's generated ones follow their public definitions in
// our own words, with the official scoring rules; docs/benchmarks.md says where they differ. LongBench-v2 and eight
// tasks of InfiniteBench ask the questions of a file; its generated ones do so where their file is given.
// The seed of a sample draws its item; no item comes again before all have.
//
// A sample is a function of (task, texts, request, tokenizer) and of nothing else: the same bytes on every machine and
// with every compiler. Samples of the same seed and index hide the same thing at every length.
// Cost: a prompt is tokenised about five times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"
#include "mrrope/task_files.h"

namespace mrrope::eval {

// ---- Tasks ---------------------------------------------------------------------------------------------------------

// What a task takes from the user's files.
enum class TaskNeeds { nothing, haystack, questions, items };

struct Task {
  std::string_view name;   // "niah", "niah_single_1", "vt", "passkey", …: RULER's and InfiniteBench's names
  std::string_view alias;  // lm-evaluation-harness's name where it is another: "ruler_vt"
  std::string_view group;  // "niah", "ruler", "infinitebench", "longbench2"
  std::string_view summary;
  TaskNeeds needs = TaskNeeds::nothing;
  int max_new_tokens = 128;       // of an answer; a tokenizer that needs more for a perfect answer gets more
  bool stops_at_newline = false;  // an answer ends with its first line that is not empty
};

// Finds the end of such an answer, which comes in pieces.
class FirstLine {
 public:
  // Where the newline stands in the next piece; npos: the line goes on.
  std::size_t end_in(std::string_view piece);

 private:
  bool begun_ = false;
};

std::span<const Task> tasks();                 // in the order of the groups above
const Task* find_task(std::string_view name);  // by name or alias; none: nullptr

// ---- Texts ---------------------------------------------------------------------------------------------------------

// Error::option names what a task misses.
struct TaskTexts {
  std::string haystack = {};                // --haystack: any long prose; from its beginning, repeated if too short
  std::vector<std::string> words = {};      // --words: for cwe; empty: the built-in list
  std::vector<std::string> documents = {};  // --questions: what read_questions() gives, for qa_1 and qa_2
  std::vector<Question> questions = {};     // --questions
  // --items: what read_items() gives, by Item::task; never cut
  std::map<std::string, std::vector<Item>, std::less<>> items = {};
};

// What the texts have for a task. None: its prompts are made here, or it misses them.
std::span<const Item> items_of(const TaskTexts& texts, const Task& task);

// Prose of the built-in words, for those who bring none.
std::string built_in_story(std::size_t bytes);

// ---- Samples -------------------------------------------------------------------------------------------------------

// Tokens of a text on its own, as the tested model counts them: without BOS, markers in the text taken as text.
using TokenCount = std::function<Result<std::int64_t>(std::string_view)>;

struct SampleRequest {
  std::int64_t length = 4096;  // tokens: frame + prompt + answer prefix + answer never exceed it
  std::uint64_t seed = 42;
  std::int64_t index = 0;
  // 0 … 1: where in the context the (first) needle goes. None: evenly spread over the indices, any number of them.
  std::optional<double> depth = {};
  std::int64_t frame_tokens = 0;  // what BOS and a chat template cost, and a token or two for their seams
};

// A passage that holds the answer, or part of it.
struct Needle {
  std::size_t begin = 0, end = 0;  // bytes of the prompt
  std::int64_t token = 0;          // tokens before it, as those of the pieces between needles: exact to one per needle
};

struct Sample {
  std::string task;
  SampleRequest request;
  std::string prompt;  // instruction, context, question; ends with a line break where a prefix follows
  // How the assistant's turn begins; no space at either end. Without a template the text is prompt + answer_prefix.
  std::string answer_prefix;
  int max_new_tokens = 128;
  std::vector<std::string> references;
  // What right answers look like after the prefix, their space included: " 1234567". Several things are named in the
  // order of the text. None is the beginning of another. At least one.
  std::vector<std::string> answers;
  std::vector<Needle> needles;     // ascending
  std::int64_t prompt_tokens = 0;  // of prompt + answer_prefix, as one text
  double depth = -1;               // of the first needle: its token / prompt_tokens; negative: there is none
  std::map<std::string, std::string> labels = {};  // of an item: its id, and Item::labels; id of a question: its number
};

// Generated prompts fill the length to within the least that can be added: a word, a number, an entry of a list. Items
// are as long as they are. Errors: missing or unusable texts; a length that the smallest prompt does not fit
// (ErrorCode::unsupported, `where` is --lengths), or an item does not; an index beyond the items; what `count` returns.
Result<Sample> make_sample(const Task& task, const TaskTexts& texts, const SampleRequest& request,
                           const TokenCount& count);

// By the task's own rule (docs/benchmarks.md), 0 … 1. `answer` is what came after the prefix, thoughts included.
double score_answer(const Task& task, const Sample& sample, std::string_view answer);
// By other rules worth a look: {"content_recall": 0.71} for niah_text. Mostly empty.
std::map<std::string, double> other_scores(const Task& task, const Sample& sample, std::string_view answer);

}  // namespace mrrope::eval
