// SPDX-License-Identifier: MIT
//
// mrrope eval ppl: its flags, and which way it goes.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/eval/benchmark.h"
#include "cli/eval/ppl.h"
#include "cli/terminal.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

// What a server was started with, and no request changes; and what only logits tell.
constexpr const char* kOfTheEngine[] = {"--methods",      "--factor",       "--trained",      "--plan",
                                        "--ladder",       "--kl",           "--protocol",     "--flash-attn",
                                        "--cache-type-k", "--cache-type-v", "--cache-types",  "--ubatch-size",
                                        "--n-gpu-layers", "--rpc",          "--tensor-split", "--llama"};

int run_ppl(const PplCommand& asked, const std::vector<std::string>& words) {
  PplCommand command = asked;
  const Result<std::vector<std::int64_t>> lengths = parse_lengths(command.lengths, "--lengths");
  if (!lengths) return fail(lengths.error());
  if (lengths->front() < 2) return fail(usage("expected lengths of at least 2 tokens", "--lengths"));
  if (!command.servers.endpoints.empty()) return run_ppl_on_servers(command, *lengths, words);
  if (command.eval.model.empty()) command.eval.model = command.servers.model;  // as everywhere else, --model is -m
  if (command.eval.model.empty()) return fail(usage("expected a model, or --endpoint with servers", "-m"));
  return run_ppl_in_process(command, *lengths, words);
}

}  // namespace

void say_shorter(const std::vector<TextLength>& texts, std::int64_t longest) {
  std::vector<TextLength> shorter;
  for (const TextLength& text : texts) {
    if (text.tokens < longest) shorter.push_back(text);
  }
  if (shorter.size() == 1) {
    note("{} has {} tokens: it counts at the lengths it reaches\n", shorter[0].name, shorter[0].tokens);
  } else if (!shorter.empty()) {
    note("{} of {} documents are shorter than {}: each counts at the lengths it reaches\n", shorter.size(),
         texts.size(), format_context(longest));
  }
}

void add_ppl(CLI::App& program, Action& action, const std::vector<std::string>& words) {
  auto ppl = std::make_shared<PplCommand>();
  CLI::App* command = program.add_subcommand("ppl",
                                             "perplexity at every length, one pass per method\n"
                                             "\n"
                                             "  mrrope eval ppl -m model.gguf -f 'texts/*' --factor 4 \\\n"
                                             "      --lengths 8k,16k,32k -o run\n"
                                             "  mrrope eval ppl --endpoint http://host:8000 --model NAME \\\n"
                                             "      -f 'texts/*' --lengths 32k -o run\n");
  command->add_option("-m", ppl->eval.model, "a .gguf; with --endpoint only its vocabulary")->type_name("FILE");
  command->add_option("-f,--file", ppl->eval.texts, "texts: files, or patterns in quotes ('texts/*')")
      ->required()
      ->type_name("TEXT");
  add_plan_options(*command, ppl->eval, false);
  add_file_options(*command, ppl->eval);
  command->add_option("--lengths", ppl->lengths, "tokens of text: 8k,16k,32k")->required()->type_name("LIST");
  command
      ->add_option("--kl", ppl->kl, "also how far the first N tokens move from the\nunextended model (KL divergence)")
      ->type_name("N");
  command
      ->add_option("--protocol", ppl->protocol,
                   "prefix (docs/evaluation.md), or llama-perplexity for\nits way of counting")
      ->check(CLI::IsMember({"prefix", "llama-perplexity"}))
      ->type_name("NAME");
  add_output_options(*command, ppl->eval);
  add_server_flags(*command, ppl->servers);
  add_llama_options(*command, ppl->eval);
  add_cache_option(*command, ppl->eval);
  command->callback([ppl, command, &action, words] {
    ppl->servers.not_for_servers = first_given(*command, kOfTheEngine);
    action = [ppl, words] { return run_ppl(*ppl, words); };
  });
}

}  // namespace mrrope::cli
