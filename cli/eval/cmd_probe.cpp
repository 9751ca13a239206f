// SPDX-License-Identifier: MIT
//
// mrrope probe: what a running server really runs: how long its requests may be, by which table it rotates, whether it
// repeats itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/eval/endpoint.h"
#include "cli/eval/probe.h"
#include "cli/eval/probe_command.h"
#include "cli/eval/probe_result.h"
#include "cli/input.h"
#include "cli/terminal.h"
#include "mrrope/probing.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

constexpr std::int64_t kAnswer = 16;  // tokens that a prompt for the table leaves for its answer

// Tokens of the longest prompt for the table.
std::int64_t table_longest(const Wanted& wanted, const ServerInfo& info, const std::optional<probe::Length>& length) {
  std::optional<std::int64_t> most = info.advertised;
  if (length && length->accepted) most = length->accepted;
  if (length && length->read && length->cut != probe::Cut::none)
    most = std::min(*length->read, most.value_or(*length->read));
  return most ? std::min(wanted.table_tokens, *most - kAnswer) : wanted.table_tokens;
}

// What it may take at most, before anything is asked that costs the server something.
void print_plan(const Wanted& wanted, const ServerInfo& info, const ProbeBudget& budget, bool json) {
  ProbePlan all = {.longest = 0, .requests = info.requests, .prompt_tokens = 0};
  const auto add = [&all](std::int64_t longest, int requests, std::int64_t tokens) {
    all.longest = std::max(all.longest, longest);
    all.requests += requests;
    all.prompt_tokens += tokens;
  };
  const ProbePlan length = plan_length(info, budget);
  if (wanted.parts.length) add(length.longest, length.requests, length.prompt_tokens);
  if (wanted.parts.table) {
    const StatementOptions table{.longest = table_longest(wanted, info, std::nullopt)};
    add(table.longest, statement_requests(table), statement_tokens(table));
  }
  if (wanted.parts.health) {
    const ProbePlan health = plan_health({.accepted = length.longest, .refused = length.longest});
    add(health.longest, health.requests, health.prompt_tokens);
  }
  const std::string text =
      wrap(fmt::format("at most {} requests, one at a time, with {} tokens in all and {} in the longest, besides "
                       "counts of tokens",
                       all.requests, all.prompt_tokens, all.longest),
           terminal().width - 10, 10);
  if (json) note("asks      {}\n", text);
  else print("asks      {}\n", text);
  (void)std::fflush(stdout);
}

// An error that concerns one part: the others are told all the same.
struct PartError {
  std::optional<Error> first = {};

  // The reason to print; false: nothing else is worth asking.
  bool keep(const Error& error, std::string& why) {
    why = error.message;
    if (error.code == ErrorCode::unsupported) return true;
    if (!first) first = error;
    return error.code == ErrorCode::malformed;
  }
};

std::string unmet_length(const std::optional<probe::Length>& length, std::int64_t wanted) {
  if (!length) return "its length is not known";
  if (!length->accepted || *length->accepted < wanted) {
    return fmt::format("requests of {} tokens are not accepted: {}", wanted,
                       length->refusal.empty() ? length_line(*length) : length->refusal);
  }
  if (length->cut == probe::Cut::none) return "";
  return length->read ? fmt::format("of {} tokens it reads {}", length->sent, *length->read)
                      : "what it reads of so many tokens cannot be told";
}

std::string unmet_table(const Probed& probed, const Candidates& candidates) {
  if (!probed.table) return "its table is not known: " + probed.no_table;
  const probe::TableVerdict& verdict = probed.table->verdict;
  if (is_named(verdict, candidates.expected->plan)) return "";
  switch (verdict.kind) {
    case probe::TableVerdict::Kind::named:
      return fmt::format(
          "it runs {}{}, not {}", table_words(verdict),
          verdict.scale_off == 0 ? "" : fmt::format(" with a scale {:+.1f} % off", 100 * verdict.scale_off),
          candidates.expected->name);
    case probe::TableVerdict::Kind::tied: return fmt::format("its table is tied: {}", table_words(verdict));
    case probe::TableVerdict::Kind::none:
      return fmt::format("it runs none of the tables that were tried, not {}", candidates.expected->name);
    case probe::TableVerdict::Kind::unclear: break;
  }
  return "its table cannot be told: " + verdict.why;
}

class Probe {
 public:
  Probe(const ProbeCommand& command, const Wanted& wanted, ServerOptions server, std::optional<Candidates> candidates)
      : command_(command), wanted_(wanted), server_(std::move(server)), candidates_(std::move(candidates)) {
    out_.url = command.url;
    budget_.max_tokens = wanted.max_tokens;
    prompts_.seed = command.seed;
  }

  Result<void> describe() {
    Result<ServerInfo> info = describe_server(server_, cancel_);
    if (!info) return info.error();
    out_.server = *std::move(info);
    if (server_.model.empty()) server_.model = out_.server.model;
    if (!command_.eval.json) print_server(out_);
    print_plan(wanted_, out_.server, budget_, command_.eval.json);
    return {};
  }

  // Errors: of the model; what the server does is in the result.
  Result<void> load() {
    if (command_.eval.model.empty()) return {};
    LlamaModelOptions options = command_.eval.load;
    options.vocab_only = !wanted_.parts.table;
    show_progress("loads the model");
    Result<Weights> weights = load_weights(candidates_ ? candidates_->path : command_.eval.model, options);
    if (!weights && weights.error().code == ErrorCode::unsupported) {  // length and health are told all the same
      out_.no_table = weights.error().message;
      return {};
    }
    if (!weights) return weights.error();
    weights_ = *std::move(weights);
    prompts_.tokens = vocabulary_of(weights_).tokens;
    return {};
  }

  void ask() {
    const auto start = std::chrono::steady_clock::now();
    if (ask_length() && ask_table()) ask_health();
    show_progress("");
    out_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    judge();
  }

  [[nodiscard]] const Probed& result() const { return out_; }
  [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_.first; }

 private:
  bool ask_length() {
    if (!wanted_.parts.length) return true;
    show_progress("length: asks how much is accepted and read");
    Result<probe::Length> length = probe_length(server_, out_.server, budget_, prompts_, cancel_);
    if (!length) return trouble_.keep(length.error(), out_.no_length);
    out_.length = *std::move(length);
    return true;
  }

  bool ask_table() {
    if (!wanted_.parts.table || !weights_) return true;
    const std::int64_t longest = table_longest(wanted_, out_.server, out_.length);
    if (longest < kLeastTableTokens) {
      out_.no_table = fmt::format("prompts of {} tokens are too short", longest);
      return true;
    }
    const std::optional<std::int64_t> served = served_length();
    const TableQuestion question{
        .suspects = probe::suspects(candidates_->spec, {.advertised = served, .also = candidates_->also}),
        .statements = {.longest = longest, .seed = command_.seed}};
    Result<ProbedTable> table = probe_table(server_, out_.server, weights_, command_.eval.context, question, cancel_);
    if (!table) return trouble_.keep(table.error(), out_.no_table);
    out_.table = *std::move(table);
    return true;
  }

  bool ask_health() {
    if (!wanted_.parts.health) return true;
    show_progress("health: asks the same again");
    probe::Length length = out_.length.value_or(probe::Length{.accepted = out_.server.advertised});
    Result<probe::Health> health = probe_health(server_, out_.server, length, prompts_, cancel_);
    if (!health) return trouble_.keep(health.error(), out_.no_health);
    out_.health = *std::move(health);
    return true;
  }

  // Tokens that reach the model: of a prompt that is cut, what is left.
  [[nodiscard]] std::optional<std::int64_t> served_length() const {
    if (!out_.length || !out_.length->accepted) return out_.server.advertised;
    return out_.length->cut != probe::Cut::none && out_.length->read ? out_.length->read : out_.length->accepted;
  }

  void judge() {
    const auto add = [this](std::vector<Finding> more) {
      out_.findings.insert(out_.findings.end(), std::make_move_iterator(more.begin()),
                           std::make_move_iterator(more.end()));
    };
    if (out_.length) add(length_findings(*out_.length));
    if (out_.table) {
      add(table_findings(out_.table->verdict, {.table = candidates_->expected,
                                               .by = candidates_->expected_by,
                                               .trained = candidates_->reach,
                                               .served = served_length()}));
    } else if (!out_.no_table.empty()) {
      probe::TableVerdict untold;
      untold.why = out_.no_table;
      add(table_findings(untold, {}));
    }
    if (out_.health) add(health_findings(*out_.health));
    if (command_.expect.empty() && command_.length.empty()) return;
    Expectation expected;
    if (!command_.expect.empty()) {
      expected.table = candidates_->expected->name;
      expected.unmet = unmet_table(out_, *candidates_);
    }
    if (!command_.length.empty()) {
      expected.length = wanted_.length;
      if (expected.unmet.empty()) expected.unmet = unmet_length(out_.length, wanted_.length);
    }
    out_.expected = std::move(expected);
  }

  const ProbeCommand& command_;
  const Wanted& wanted_;
  ServerOptions server_;
  std::optional<Candidates> candidates_;
  ProbeBudget budget_;
  ProbePrompts prompts_;
  Weights weights_;
  Probed out_;
  PartError trouble_;
  const std::atomic<bool>* cancel_ = cancel_on_signals();
};

// The one command that leads on from here; empty: nothing is left to do.
std::string next_step(const ProbeCommand& command, const Probed& probed) {
  const auto has = [&](std::string_view code) {
    return std::any_of(probed.findings.begin(), probed.findings.end(),
                       [&](const Finding& f) { return f.code == code; });
  };
  const std::string model = base::shell_quoted(command.eval.model), url = base::shell_quoted(command.url);
  if (has("P200") || has("P202")) return fmt::format("mrrope doctor {}", model);
  if (has("P201")) {
    return fmt::format("mrrope plan {} -c {}", model,
                       format_context(probed.length && probed.length->accepted ? *probed.length->accepted
                                                                               : probed.server.advertised.value_or(0)));
  }
  if (has("P204") && probed.table->longest < kMostTableTokens) {
    return fmt::format("mrrope probe {} -m {} --only table --table-tokens 2k", url, model);
  }
  if (command.eval.model.empty() && command.only.empty() && command.length.empty()) {
    return fmt::format("mrrope probe {} -m model.gguf    names the table", url);
  }
  return "";
}

int interrupted() {
  show_progress("");
  print_error("interrupted", "nothing was changed on the server");
  return 130;
}

int run_probe(const ProbeCommand& command) {
  const Result<Wanted> wanted = wanted_of(command);
  if (!wanted) return fail(wanted.error());
  std::optional<Candidates> candidates;
  if (wanted->parts.table) {
    Result<Candidates> read = candidates_of_files(command);
    if (!read) return fail(read.error());
    candidates = *std::move(read);
  }
  Result<ServerOptions> server = ready_servers(
      {.urls = {command.url}, .model = command.served_model, .chat = command.chat, .deadline_s = command.deadline},
      command.key_variable);
  if (!server) return fail(server.error());
  Probe probe(command, *wanted, *std::move(server), std::move(candidates));
  for (const auto step : {&Probe::describe, &Probe::load}) {
    const Result<void> ok = (probe.*step)();
    if (!ok && ok.error().code == ErrorCode::cancelled) return interrupted();
    if (!ok) {
      show_progress("");
      return fail(ok.error());
    }
  }
  probe.ask();
  const std::optional<Error>& trouble = probe.trouble();
  if (trouble && trouble->code == ErrorCode::cancelled) return interrupted();
  const Probed& probed = probe.result();
  if (command.eval.json) print("{}", base::write_json(probed_json(probed)));
  else print_probed(probed, next_step(command, probed));
  if (trouble) return fail(*trouble);
  const bool unmet = probed.expected && !probed.expected->unmet.empty();
  return unmet || reaches(probed.findings, command.fail_on) ? 3 : 0;
}

}  // namespace

void add_probe(CLI::App& program, Action& action) {
  auto probe = std::make_shared<ProbeCommand>();
  CLI::App* command = program.add_subcommand("probe",
                                             "what a running server really runs: its length, its table\n"
                                             "\n"
                                             "  mrrope probe http://localhost:8080\n"
                                             "  mrrope probe http://localhost:8080 -m model.gguf\n"
                                             "  mrrope probe http://localhost:8080 -m model.gguf \\\n"
                                             "      --expect plan.json --length 32k\n");
  command->add_option("URL", probe->url, "an OpenAI-compatible server")->required();
  command->add_option("-m", probe->eval.model, "the .gguf that is served; it is run here to name the\ntable")
      ->type_name("FILE");
  add_trained(*command, probe->eval.trained);
  command->add_option("--plan", probe->plans, "a plan that the server may run; may be repeated")->type_name("FILE");
  command->add_option("--expect", probe->expect, "a plan that it has to run, else the exit status is 3")
      ->type_name("FILE");
  command->add_option("--length", probe->length, "tokens that it has to accept and read, else likewise")
      ->type_name("N");
  command
      ->add_option("--only", probe->only, "of length,table,health (default: all, or what --expect\nand --length need)")
      ->type_name("LIST");
  command
      ->add_option("--max-tokens", probe->max_tokens,
                   "longest request to send (default: the lesser of the\nadvertised length + 1/8 and 4M)")
      ->type_name("N");
  command->add_option("--table-tokens", probe->table_tokens, "of the longest prompt for the table (1k; at most 2k)")
      ->type_name("N");
  command->add_option("--fail-on", probe->fail_on, "exit with 3 from this severity on (default error)")
      ->type_name("SEVERITY")
      ->check(CLI::IsMember({"note", "warning", "error", "never"}));
  command->add_option("--seed", probe->seed, "of the prompts (1)")->type_name("N");
  command->add_flag("--json", probe->eval.json, "the result as JSON");
  const auto group = [](CLI::Option* option) { option->group("Server"); };
  group(command->add_option("--model", probe->served_model, "the name it serves it under (default: the first)")
            ->type_name("NAME"));
  group(command->add_flag("--chat", probe->chat, "/v1/chat/completions for length and health"));
  group(command->add_option("--deadline", probe->deadline, "seconds for one request (600)")->type_name("S"));
  group(command
            ->add_option("--api-key-env", probe->key_variable,
                         "the environment variable that holds its API key\n(MRROPE_API_KEY)")
            ->type_name("NAME"));
  add_llama_options(*command, probe->eval);
  command->callback([probe, &action] { action = [probe] { return run_probe(*probe); }; });
}

}  // namespace mrrope::cli
