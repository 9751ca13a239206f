// SPDX-License-Identifier: MIT
#include "cli/eval/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "files/file.h"
#include "measure/text_files.h"
#include "mrrope/task_files.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

constexpr std::size_t kMaxHaystack = std::size_t{256} << 20;
constexpr std::size_t kStoryBytes = std::size_t{1} << 20;  // some 230,000 tokens; longer prompts repeat it

// The task that a file of questions is for; empty: there is no file. qa_1 is SQuAD and qa_2 is HotpotQA, whose answers
// need several documents.
std::string_view task_of_questions(const eval::TaskTexts& texts) {
  if (texts.questions.empty()) return "";
  return std::any_of(texts.questions.begin(), texts.questions.end(), [](const eval::Question& q) { return q.gold > 1; })
             ? "qa_2"
             : "qa_1";
}

Result<void> check_texts(const eval::Task& task, const eval::TaskTexts& texts) {
  if (task.needs == eval::TaskNeeds::questions && texts.questions.empty()) {
    return usage(fmt::format("{} asks questions of a file: SQuAD, HotpotQA or NQ-open", task.name), "--questions");
  }
  if (task.needs == eval::TaskNeeds::questions && task.name != task_of_questions(texts)) {
    return usage(
        fmt::format("{} asks the questions of its own file; this one holds {}", task.name, task_of_questions(texts)),
        "--questions");
  }
  if (task.needs == eval::TaskNeeds::items && eval::items_of(texts, task).empty()) {
    return usage(fmt::format("{0} asks the questions of a file: {1}", task.name,
                             task.group == "longbench2" ? "LongBench-v2's data.json"
                                                        : fmt::format("InfiniteBench's {}.jsonl", task.name)),
                 "--items");
  }
  return {};
}

// InfiniteBench's tasks are files of the same fields, and a score of one by the rule of another means nothing: a file
// says which it is, or is refused.
Result<void> check_held(const BenchmarkCommand& command, const std::string& held) {
  const eval::Task* task = eval::find_task(held);
  const bool published = task != nullptr && (task->group == "infinitebench" || task->group == "longbench2");
  if (published && task->group == command.group) return {};
  if (published) {
    return usage(fmt::format("the file holds {}: mrrope eval {} asks its questions", held, task->group), "--items");
  }
  if (!held.empty()) {
    return usage(
        fmt::format("the file holds {}, which is no task of InfiniteBench or LongBench-v2", base::printable(held)),
        "--items");
  }
  if (command.group == "longbench2") {
    return usage("the file holds items of InfiniteBench, not of LongBench-v2 (choice_A …)", "--items");
  }
  return usage(
      "nothing says which task the file holds: name it as published, code_debug.jsonl, or add \"task\": \"code_debug\" "
      "to "
      "its entries",
      "--items");
}

// What the files hold, each for one task or more.
using HeldTasks = std::vector<std::set<std::string>>;

Result<HeldTasks> read_items(const BenchmarkCommand& command, eval::TaskTexts& texts) {
  HeldTasks held;
  for (const std::string& path : command.items) {
    std::set<std::string>& tasks = held.emplace_back();
    const Result<void> read = eval::read_items(path, [&](eval::Item&& item) {
      tasks.insert(item.task);
      texts.items[item.task].push_back(std::move(item));
      return true;
    });
    if (!read) return read.error();
    if (tasks.empty()) return usage("the file holds no items", "--items");
    for (const std::string& task : tasks) {
      if (const auto ok = check_held(command, task); !ok) return ok.error();
    }
  }
  return held;
}

// A file that was named and that no task reads would be a surprise.
Result<void> check_files_are_used(const BenchmarkCommand& command, const eval::TaskTexts& texts, const HeldTasks& items,
                                  const std::vector<const eval::Task*>& chosen) {
  const auto reads = [&](std::string_view held) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const eval::Task* task) { return task->name == held; });
  };
  const auto unread = [&](std::string_view held, const char* flag) {
    return usage(fmt::format("the file holds {}, and --tasks asks for {} only", held, command.tasks), flag);
  };
  const std::string_view asked = task_of_questions(texts);
  if (!asked.empty() && !reads(asked)) return unread(asked, "--questions");
  for (const std::set<std::string>& held : items) {
    if (std::none_of(held.begin(), held.end(), reads)) return unread(*held.begin(), "--items");
  }
  return {};
}

// "all": those whose texts are there; what is left out is said, for a mean of eleven tasks is not that of thirteen.
Result<std::vector<const eval::Task*>> tasks_of(const BenchmarkCommand& command, const eval::TaskTexts& texts,
                                                const HeldTasks& items) {
  std::vector<const eval::Task*> chosen;
  if (command.tasks == "all") {
    std::vector<std::string_view> left_out;
    for (const eval::Task& task : eval::tasks()) {
      if (task.group != command.group) continue;
      if (check_texts(task, texts)) chosen.push_back(&task);
      else left_out.push_back(task.name);
    }
    if (!left_out.empty()) {
      const std::string_view held = task_of_questions(texts);
      note("left out  {}: {}\n", base::join(left_out),
           !held.empty() ? fmt::format("the file of --questions is for {}", held)
                         : fmt::format("they ask the questions of a file ({})",
                                       command.group == "ruler" ? "--questions" : "--items"));
    }
    return chosen;
  }
  for (const std::string_view name : base::split(command.tasks, ',')) {
    const eval::Task* task = eval::find_task(name);
    if (task == nullptr || task->group != command.group) {
      std::vector<std::string_view> names;
      for (const eval::Task& t : eval::tasks()) {
        if (t.group == command.group) names.push_back(t.name);
      }
      const std::string_view near = base::nearest(name, names);
      return usage(near.empty() ? fmt::format("no task \"{}\" (there are: {})", name, base::join(names))
                                : fmt::format("no task \"{}\"; did you mean {}?", name, near),
                   "--tasks");
    }
    if (const auto ok = check_texts(*task, texts); !ok) return ok.error();
    if (std::find(chosen.begin(), chosen.end(), task) == chosen.end()) chosen.push_back(task);
  }
  if (const auto ok = check_files_are_used(command, texts, items, chosen); !ok) return ok.error();
  return chosen;
}

// All but the items.
Result<eval::TaskTexts> texts_of(const BenchmarkCommand& command) {
  eval::TaskTexts texts;
  if (!command.eval.texts.empty()) {
    const Result<std::vector<std::string>> files = eval::files_of(command.eval.texts);
    if (!files) return files.error();
    for (const std::string& path : *files) {
      const Result<std::string> text = eval::beginning_of(path, kMaxHaystack - texts.haystack.size());
      if (!text) return text.error();
      texts.haystack += *text;
    }
  }
  if (texts.haystack.empty()) texts.haystack = eval::built_in_story(kStoryBytes);
  if (!command.words.empty()) {
    const Result<std::string> text = base::read_file(command.words, kMaxHaystack);
    if (!text) return text.error();
    for (const std::string_view word : base::split(*text, '\n')) {
      if (!word.empty()) texts.words.emplace_back(word);
    }
  }
  if (!command.questions.empty()) {
    Result<eval::QuestionFile> file = eval::read_questions(command.questions);
    if (!file) return file.error();
    texts.documents = std::move(file->documents);
    texts.questions = std::move(file->questions);
  }
  return texts;
}

Result<eval::BenchmarkOptions> options_of(const BenchmarkCommand& command, const eval::TaskTexts& texts,
                                          const HeldTasks& items) {
  eval::BenchmarkOptions options;
  options.samples = command.samples;
  options.depths = command.depths;
  options.seed = command.seed;
  const Result<std::vector<std::int64_t>> lengths = parse_lengths(command.lengths, "--lengths");
  if (!lengths) return lengths.error();
  options.lengths = *lengths;
  Result<std::vector<const eval::Task*>> chosen = tasks_of(command, texts, items);
  if (!chosen) return chosen.error();
  options.tasks = *std::move(chosen);
  for (const eval::Task* task : options.tasks) {
    if (task->name == "niah_text" && options.depths > 0 && options.samples > 1) {
      return usage("niah_text is one sentence: at one depth all its samples are the same prompt; ask for more --depths",
                   "--samples");
    }
  }
  options.share_prefixes = !command.no_sharing;
  options.letters = !command.generate;
  if (!command.shard.empty()) {
    const std::vector<std::string_view> parts = base::split(command.shard, '/');
    const Result<double> i = parse_number(parts[0]);
    const Result<double> n = parts.size() == 2 ? parse_number(parts[1]) : Result<double>(usage("", ""));
    const auto whole = [](double x) { return x == std::floor(x) && x <= 1e6; };
    if (!i || !n || *n < 1 || *i < 0 || *i >= *n || !whole(*i) || !whole(*n)) {
      return usage(fmt::format("expected i/n with i from 0 to n - 1, found \"{}\"", command.shard), "--shard");
    }
    options.shard = static_cast<std::int64_t>(*i);
    options.shards = static_cast<std::int64_t>(*n);
  }
  return options;
}

}  // namespace

Error usage(std::string message, std::string flag) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(flag)};
}

void say_too_long(std::int64_t items) { note("{} of the items do not fit; they are left out, not cut\n", items); }

Result<Prepared> prepare(const BenchmarkCommand& command) {
  Result<eval::TaskTexts> texts = texts_of(command);
  if (!texts) return texts.error();
  const Result<HeldTasks> items = read_items(command, *texts);
  if (!items) return items.error();
  Result<eval::BenchmarkOptions> options = options_of(command, *texts, *items);
  if (!options) return options.error();
  return Prepared{*std::move(texts), *std::move(options)};
}

int run_benchmark(const BenchmarkCommand& command, const std::vector<std::string>& words) {
  const Result<Prepared> prepared = prepare(command);
  if (!prepared) return fail(prepared.error());
  EvalOptions eval = command.eval;
  if (!command.servers.endpoints.empty())
    return run_on_servers(eval, command, prepared->texts, prepared->options, words);
  if (eval.model.empty()) eval.model = command.servers.model;  // as everywhere else, --model is -m
  if (eval.model.empty()) return fail(usage("expected a model, or --endpoint with servers", "-m"));
  return run_in_process(eval, command, prepared->texts, prepared->options, words);
}

}  // namespace mrrope::cli
