// SPDX-License-Identifier: MIT
#include "cli/benchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "eval/text_files.h"
#include "mrrope/task_files.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

constexpr std::uint64_t kMaxHaystack = std::uint64_t{256} << 20;
constexpr std::size_t kStoryBytes = std::size_t{1} << 20;  // some 230,000 tokens; longer prompts repeat it

Error usage(std::string message, std::string flag) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(flag)};
}

std::optional<Error> missing_texts(const Task& task, const TaskTexts& texts) {
  if (task.needs == TaskNeeds::questions && texts.questions.empty()) {
    return usage(fmt::format("{} asks questions of a file: SQuAD, HotpotQA or NQ-open", task.name), "--questions");
  }
  if (task.needs == TaskNeeds::items && texts.items.empty()) {
    return usage(fmt::format("{} asks the questions of its own file", task.name), "--items");
  }
  return std::nullopt;
}

// A file serves one of two tasks: of RULER's questions qa_1 is SQuAD and qa_2 is HotpotQA, whose answers need several
// documents; of InfiniteBench's items code_debug has options, the dialogues have none.
bool fits_file(const Task& task, const TaskTexts& texts) {
  if (task.needs == TaskNeeds::questions) {
    const bool several =
        std::any_of(texts.questions.begin(), texts.questions.end(), [](const Question& q) { return q.gold > 1; });
    return several == (task.name == "qa_2");
  }
  if (task.needs == TaskNeeds::items && task.group == "infinitebench") {
    return texts.items.front().options.empty() == (task.name == "longdialogue_qa_eng");
  }
  return true;
}

// "all": those whose texts are there; what is left out is said, for a mean of eleven tasks is not that of thirteen.
Result<std::vector<const Task*>> tasks_of(const BenchmarkCommand& command, const TaskTexts& texts) {
  std::vector<const Task*> chosen;
  if (command.tasks == "all") {
    std::vector<std::string_view> left_out;
    for (const Task& task : tasks()) {
      if (task.group != command.group) continue;
      if (!missing_texts(task, texts) && fits_file(task, texts)) chosen.push_back(&task);
      else left_out.push_back(task.name);
    }
    if (chosen.empty()) return usage("no task of this group without a file of its items", "--items");
    if (!left_out.empty()) {
      const bool given = !command.questions.empty() || !command.items.empty();
      note("left out  {}: {} {}\n", base::join(left_out),
           given ? "nothing for it in the file of" : "the questions come by",
           command.group == "ruler" ? "--questions" : "--items");
    }
    return chosen;
  }
  for (const std::string_view name : base::split(command.tasks, ',')) {
    const Task* task = find_task(name);
    if (task == nullptr || task->group != command.group) {
      std::vector<std::string_view> names;
      for (const Task& t : tasks()) {
        if (t.group == command.group) names.push_back(t.name);
      }
      const std::string_view near = base::nearest(name, names);
      return usage(near.empty() ? fmt::format("no task \"{}\" (there are: {})", name, base::join(names))
                                : fmt::format("no task \"{}\"; did you mean {}?", name, near),
                   "--tasks");
    }
    if (auto error = missing_texts(*task, texts)) return *error;
    if (std::find(chosen.begin(), chosen.end(), task) == chosen.end()) chosen.push_back(task);
  }
  return chosen;
}

Result<TaskTexts> texts_of(const BenchmarkCommand& command) {
  TaskTexts texts;
  if (!command.eval.texts.empty()) {
    const Result<std::vector<std::string>> files = eval::files_of(command.eval.texts);
    if (!files) return files.error();
    for (const std::string& path : *files) {
      const Result<std::string> text = base::read_file(path, kMaxHaystack);
      if (!text) return text.error();
      texts.haystack += *text;
    }
  }
  if (texts.haystack.empty()) texts.haystack = built_in_story(kStoryBytes);
  if (!command.words.empty()) {
    const Result<std::string> text = base::read_file(command.words, kMaxHaystack);
    if (!text) return text.error();
    for (const std::string_view word : base::split(*text, '\n')) {
      if (!word.empty()) texts.words.emplace_back(word);
    }
  }
  if (!command.questions.empty()) {
    Result<QuestionFile> file = read_questions(command.questions);
    if (!file) return file.error();
    texts.documents = std::move(file->documents);
    texts.questions = std::move(file->questions);
  }
  if (!command.items.empty()) {
    auto error = read_items(command.items, [&](Item&& item) {
      texts.items.push_back(std::move(item));
      return true;
    });
    if (error) return *error;
  }
  return texts;
}

Result<BenchmarkOptions> options_of(const BenchmarkCommand& command, const TaskTexts& texts) {
  BenchmarkOptions options;
  options.samples = command.samples;
  options.depths = command.depths;
  options.seed = command.seed;
  const Result<std::vector<std::int64_t>> lengths = parse_lengths(command.lengths, "--lengths");
  if (!lengths) return lengths.error();
  options.lengths = *lengths;
  Result<std::vector<const Task*>> chosen = tasks_of(command, texts);
  if (!chosen) return chosen.error();
  options.tasks = *std::move(chosen);
  for (const Task* task : options.tasks) {
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

void say_too_long(std::int64_t items) { note("{} of the items do not fit; they are left out, not cut\n", items); }

int run_in_process(EvalOptions eval, const BenchmarkCommand& command, const TaskTexts& texts, BenchmarkOptions options,
                   const std::vector<std::string>& words) {
  if (eval.factors.empty()) {
    if (eval.methods != "none") return fail(usage("expected how many times the trained length, such as 4", "--factor"));
    eval.factors = "1";
  }
  const Result<std::vector<Candidate>> candidates = candidates_of(eval);
  if (!candidates) return fail(candidates.error());
  eval.settings["chat-template"] = command.chat_template;
  if (command.group == "longbench2") eval.settings["answers"] = command.generate ? "generated" : "letters";
  Result<Session> session = start_session(eval, command.group, words);
  if (!session) return fail(session.error());
  Result<LlamaContext> context = ready_context(command, session->model, options);
  if (!context) return fail(context.error());
  const Result<BenchmarkCost> cost =
      measure_answers(session->model, *context, texts, *candidates, options, session->run, make_control(session->run));
  if (!cost) return ended(cost.error(), eval);
  if (cost->prompt_tokens > 0 && !eval.json) {
    note("computed {} of {} prompt tokens; prompts that begin alike share the rest\n", cost->computed_tokens,
         cost->prompt_tokens);
  }
  if (cost->too_long > 0) say_too_long(cost->too_long);
  return print_scores(eval, session->run.info(), records_of(session->run, cost->asked), options.lengths);
}

// From the environment: arguments are shown to everyone on the machine, and recorded. Only from a variable that is ours
// or that was named, so that the key of one service is not sent to another.
Result<std::string> api_key_of(const BenchmarkCommand& command) {
  const std::string& name = command.key_variable;
  const char* key = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (key != nullptr) return std::string(key);
  if (name == BenchmarkCommand().key_variable) return std::string();
  // Not repeated: it may be the key itself
  return usage("expected the name of an environment variable that is set, such as OPENAI_API_KEY", "--api-key-env");
}

int run_on_servers(const EvalOptions& eval, const BenchmarkCommand& command, const TaskTexts& texts,
                   const BenchmarkOptions& options, const std::vector<std::string>& words) {
  if (command.served_model.empty())
    return fail(usage("expected the name the servers serve the model under", "--model"));
  if (!command.not_for_servers.empty()) {
    return fail(usage("servers answer as they were started: leave it out; --label names their plan in the records",
                      command.not_for_servers));
  }
  ServerOptions servers{.urls = command.endpoints,
                        .model = command.served_model,
                        .chat = command.chat,
                        .concurrency = command.concurrency,
                        .deadline_s = command.deadline};
  const Result<std::string> key = api_key_of(command);
  if (!key) return fail(key.error());
  servers.api_key = *key;
  // Asks nothing: a password in a URL is refused before the command is recorded
  if (const auto error = run_requests(servers, 0, nullptr, nullptr)) return fail(*error);
  if (const std::vector<std::string> urls = servers_without_encryption(servers); !key->empty() && !urls.empty()) {
    note("warning: the API key goes to {} without encryption; anyone on the way can read it\n", fmt::join(urls, ", "));
  }

  std::optional<LlamaModel> vocabulary;
  TokenCount count;
  std::string counted;  // by what
  if (!eval.model.empty()) {
    LlamaModelOptions load = eval.load;
    load.vocab_only = true;
    Result<LlamaModel> model = LlamaModel::load(eval.model, load);
    if (!model) return fail(model.error());
    vocabulary.emplace(*std::move(model));
    count = token_counter(*vocabulary);
    counted = std::filesystem::path(eval.model).filename().string();
  } else {
    Result<ServedCount> served = count_on_servers(servers, cancel_on_signals());
    if (!served) return ended(served.error(), eval);
    if (!served->exact) {
      note("the servers do not tokenise: lengths are estimated and checked by their usage figures\n");
    }
    count = served->count;
    counted = served->exact ? "/tokenize" : "estimated";
  }
  RunInfo info{.task = command.group,
               .model = command.served_model,
               .model_hash = content_hash("served"),  // plans are served under names of their own
               .architecture = "",
               .engine = command.chat ? "/v1/chat/completions" : "/v1/completions"};
  info.settings = {{"endpoint", info.engine}, {"tokens", counted}};
  info.command = words;
  Result<OpenRun> run = open_run(eval, std::move(info));
  if (!run) return fail(run.error());
  const Result<ServedCost> cost = measure_served(servers, command.label.empty() ? command.served_model : command.label,
                                                 texts, count, options, run->folder, make_control(run->folder));
  if (!cost) return ended(cost.error(), eval);
  if (cost->too_long > 0) say_too_long(cost->too_long);
  if (cost->over_budget > 0) {
    note("{} of {} prompts were longer than asked, by the servers' count\n", cost->over_budget, cost->answered);
  }
  if (cost->answered == 0 && cost->first_failure && cost->first_failure->where == "--lengths") {
    return fail(*cost->first_failure);
  }
  RunInfo shown = run->folder.info();
  shown.model = command.served_model;
  const std::vector<Record> records = records_of(run->folder, cost->asked);
  // Where every request failed there is nothing to show, and the reason is not the lengths
  const bool scores = !records.empty() || cost->failed == 0;
  const int status = scores ? print_scores(eval, shown, records, options.lengths) : 1;
  if (cost->failed == 0) return status;
  return fail({ErrorCode::io,
               fmt::format("{} samples have no answer; the same command asks again. The first: {}", cost->failed,
                           to_string(*cost->first_failure)),
               ""});
}

}  // namespace

Result<Prepared> prepare(const BenchmarkCommand& command) {
  Result<TaskTexts> texts = texts_of(command);
  if (!texts) return texts.error();
  Result<BenchmarkOptions> options = options_of(command, *texts);
  if (!options) return options.error();
  return Prepared{*std::move(texts), *std::move(options)};
}

Result<LlamaContext> ready_context(const BenchmarkCommand& command, const LlamaModel& model,
                                   BenchmarkOptions& options) {
  Result<PromptFrame> frame = make_frame(model, command.chat_template);
  if (!frame) return frame.error();
  if (command.chat_template == "auto" && frame->name == "none" && !model.chat_template().empty()) {
    note(
        "llama.cpp does not know this file's chat template: prompts are sent as plain text. --chat-template chatml,\n"
        "or another name that llama.cpp knows, sends them as a conversation\n");
  }
  options.frame = *std::move(frame);
  ContextOptions context_options = command.eval.context;
  context_options.ctx_size = options.lengths.back();
  return LlamaContext::create(model, context_options);
}

int run_benchmark(const BenchmarkCommand& command, const std::vector<std::string>& words) {
  const Result<Prepared> prepared = prepare(command);
  if (!prepared) return fail(prepared.error());
  EvalOptions eval = command.eval;
  if (!command.endpoints.empty()) return run_on_servers(eval, command, prepared->texts, prepared->options, words);
  if (eval.model.empty()) eval.model = command.served_model;  // as everywhere else, --model is -m
  if (eval.model.empty()) return fail(usage("expected a model, or --endpoint with servers", "-m"));
  return run_in_process(eval, command, prepared->texts, prepared->options, words);
}

}  // namespace mrrope::cli
