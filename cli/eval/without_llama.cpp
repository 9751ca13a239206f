// SPDX-License-Identifier: MIT
//
// In the place of everything that runs models, where llama.cpp was not found (cmake/llama.cmake): the commands are
// there and say what is missing.
#include <string>

#include "cli/commands.h"
#include "cli/eval/benchmark.h"
#include "cli/eval/llama_folder.h"
#include "cli/eval/ppl.h"
#include "cli/eval/probe.h"

namespace mrrope::cli {

namespace {

Error no_llama(const std::string& where) {
  return {ErrorCode::unsupported, "this mrrope was built without llama.cpp and runs no models", where};
}

void add_missing(CLI::App& program, Action& action, const char* name, const char* summary) {
  CLI::App* command =
      program.add_subcommand(name, std::string(summary) + "\n\nNot in this mrrope: it was built without llama.cpp.\n");
  command->allow_extras();
  command->callback([&action] { action = [] { return fail(no_llama(""), kGetEval); }; });
}

}  // namespace

Result<void> use_named_llama(const std::vector<std::string>& /*words*/) { return {}; }

void add_gap(CLI::App& program, Action& action, const std::vector<std::string>& /*words*/) {
  add_missing(program, action, "gap", "long distances without long texts");
}

void add_suite(CLI::App& program, Action& action, const std::vector<std::string>& /*words*/) {
  add_missing(program, action, "suite", "how far the model can be trusted, in the minutes you have");
}

void add_tune(CLI::App& program, Action& action, const std::vector<std::string>& /*words*/) {
  add_missing(program, action, "tune", "the best plan for this model, found by measuring");
}

void add_attention(CLI::App& program, Action& action) {
  add_missing(program, action, "analyze", "what the band adds to attention scores, by distance");
}

int run_in_process(EvalOptions /*eval*/, const BenchmarkCommand& /*command*/, const eval::TaskTexts& /*texts*/,
                   eval::BenchmarkOptions /*options*/, const std::vector<std::string>& /*words*/) {
  return fail(no_llama("-m"), "--endpoint asks servers; or: " + std::string(kGetEval));
}

int run_ppl_in_process(const PplCommand& /*command*/, const std::vector<std::int64_t>& /*lengths*/,
                       const std::vector<std::string>& /*words*/) {
  return fail(no_llama("-m"), "--endpoint asks servers; or: " + std::string(kGetEval));
}

Result<eval::TokenCount> vocabulary_count(const EvalOptions& /*eval*/) {
  return Error{ErrorCode::unsupported,
               "this mrrope was built without llama.cpp and reads no vocabularies; leave it out, the servers count",
               "-m"};
}

Result<VocabularyTexts> vocabulary_texts(const EvalOptions& /*eval*/, std::int64_t /*tokens*/,
                                         const std::string& /*sample*/) {
  return Error{ErrorCode::unsupported,
               "this mrrope was built without llama.cpp and reads no vocabularies; leave it out, the servers tokenise",
               "-m"};
}

Result<Weights> load_weights(const std::string& /*path*/, const LlamaModelOptions& /*options*/) {
  return no_llama("-m");
}

Vocabulary vocabulary_of(const Weights& /*weights*/) { return {}; }

Result<ProbedTable> probe_table(const ServerOptions& /*server*/, const ServerInfo& /*info*/, const Weights& /*weights*/,
                                const ContextOptions& /*context*/, const TableQuestion& /*question*/,
                                const std::atomic<bool>* /*cancel*/) {
  return no_llama("-m");
}

}  // namespace mrrope::cli
