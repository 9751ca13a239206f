// SPDX-License-Identifier: MIT
//
// mrrope eval niah, ruler, infinitebench, longbench2: can the model still find things?
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/eval/benchmark.h"

namespace mrrope::cli {

namespace {

struct Kind {
  const char* group;
  const char* summary;
  const char* tasks;  // default
  std::int64_t samples;
  int depths;
};

constexpr Kind kKinds[] = {
    {"niah",
     "a needle in a haystack, by length and depth\n"
     "\n"
     "  mrrope eval niah -m model.gguf --factor 4 --lengths 8k,16k,32k -o run\n",
     "niah", 1, 10},
    {"ruler",
     "RULER's tasks: retrieval, tracing, counting, questions\n"
     "\n"
     "  mrrope eval ruler -m model.gguf --factor 4 --lengths 4k,8k,16k -o run\n"
     "  mrrope eval ruler --endpoint http://host:8000 --model NAME --lengths 32k\n",
     "all", 20, 0},
    {"infinitebench",
     "InfiniteBench: pass keys, numbers, key-value, code, books\n"
     "\n"
     "  mrrope eval infinitebench -m model.gguf --factor 4 --lengths 32k -o run\n"
     "  mrrope eval infinitebench -m model.gguf --factor 4 --lengths 128k \\\n"
     "      --items InfiniteBench/*.jsonl -o run\n",
     "all", 20, 0},
    {"longbench2",
     "LongBench-v2's questions from its data.json\n"
     "\n"
     "  mrrope eval longbench2 -m model.gguf --factor 4 --lengths 32k \\\n"
     "      --items data.json -o run\n",
     "all", 20, 0},
};

// What a server was started with, and no request changes.
constexpr const char* kOfTheEngine[] = {"--methods",       "--factor",       "--plan",        "--ladder",
                                        "--chat-template", "--no-sharing",   "--flash-attn",  "--cache-type-k",
                                        "--cache-type-v",  "--cache-types",  "--ubatch-size", "--n-gpu-layers",
                                        "--rpc",           "--tensor-split", "--llama"};

void add_sample_options(CLI::App& command, const Kind& kind, BenchmarkCommand& b) {
  const std::string_view group = kind.group;
  command.add_option("--lengths", b.lengths, "tokens of prompt and answer together: 8k,16k,32k")
      ->required()
      ->type_name("LIST");
  if (group != "longbench2") {
    command
        .add_option("--tasks", b.tasks,
                    group == "niah" ? "niah (a number), niah_text (a sentence), niah_implied\n(no word in common)"
                                    : "names, or all (default)")
        ->type_name("LIST");
  }
  command.add_option("--samples", b.samples, group == "niah" ? "per length and depth (1)" : "per task and length (20)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  if (group == "niah") {
    command.add_option("--depths", b.depths, "places of the needle, from start to end (10)")
        ->check(CLI::Range(1, 1000))
        ->type_name("N");
  }
  command.add_option("--seed", b.seed, "of the samples (42)")->type_name("N");
  if (group == "niah" || group == "ruler") {
    command.add_option("-f,--haystack", b.eval.texts, "the haystack: files of prose (default: built in)")
        ->type_name("TEXT");
  }
  if (group == "ruler") {
    command.add_option("--words", b.words, "a file of words, one a line, instead of the built-in")->type_name("FILE");
    command.add_option("--questions", b.questions, "SQuAD, HotpotQA or NQ-open, for the qa tasks")->type_name("FILE");
  }
  if (group == "infinitebench" || group == "longbench2") {
    CLI::Option* data = command
                            .add_option("--items", b.items,
                                        group == "longbench2" ? "LongBench-v2's data.json"
                                                              : "its files, as published: code_debug.jsonl …")
                            ->type_name("FILE");
    if (group == "longbench2") {
      data->required();
      command.add_flag("--generate", b.generate, "let the model write its answer (default: the likeliest\nletter)");
    }
  }
  command.add_option("--shard", b.shard, "i/n: one of n parts of the samples, i from 0")->type_name("I/N");
}

}  // namespace

void add_benchmarks(CLI::App& program, Action& action, const std::vector<std::string>& words) {
  for (const Kind& kind : kKinds) {
    auto b = std::make_shared<BenchmarkCommand>();
    b->group = kind.group;
    b->tasks = kind.tasks;
    b->samples = kind.samples;
    b->depths = kind.depths;
    CLI::App* command = program.add_subcommand(kind.group, kind.summary);
    command->add_option("-m", b->eval.model, "a .gguf; with --endpoint only its vocabulary")->type_name("FILE");
    add_plan_options(*command, b->eval, false);
    add_file_options(*command, b->eval);
    add_sample_options(*command, kind, *b);
    add_output_options(*command, b->eval);
    command
        ->add_option("--chat-template", b->chat_template,
                     "auto (the file's, if it has one), none, or a name that\nllama.cpp knows")
        ->type_name("NAME");
    command->add_flag("--no-sharing", b->no_sharing, "compute every prompt from its start (for comparison)");
    add_server_flags(*command, b->servers);
    command->add_flag("--chat", b->chat, "/v1/chat/completions, not /v1/completions")->group("Servers");
    add_llama_options(*command, b->eval);
    add_cache_option(*command, b->eval);
    command->callback([b, command, &action, words] {
      b->servers.not_for_servers = first_given(*command, kOfTheEngine);
      action = [b, words] { return run_benchmark(*b, words); };
    });
  }
}

}  // namespace mrrope::cli
