// SPDX-License-Identifier: MIT
#include "cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/completion.h"
#include "cli/terminal.h"
#include "mrrope/version.h"

namespace mrrope::cli {

namespace {

// What to type where the library names a way out; empty: it names an option, or nothing.
std::string way_out(const Error& error) {
  if (error.option == "force") return "add --force to change the file all the same";
  if (error.option == "undo") return fmt::format("mrrope extend {} --undo", base::shell_quoted(error.where));
  if (error.option == "vocabulary") return "-m model.gguf";
  return "";
}

// The library names its options; here they are flags.
Error in_flags(Error error) {
  if (!way_out(error).empty()) error.option.clear();
  if (error.option.empty()) return error;
  std::string flag = error.option == "output" ? "-o" : "--" + error.option;
  std::replace(flag.begin(), flag.end(), '_', '-');
  error.where = error.where.empty() ? flag : flag + " " + error.where;
  error.option.clear();
  return error;
}

}  // namespace

int fail(const Error& error, std::string_view hint) {
  const Error said = in_flags(error);
  print_error(to_string(said), hint.empty() ? way_out(error) : hint);
  const bool usage = said.where.starts_with('-') || said.where == "MODEL" ||
                     (said.where.empty() && said.code == ErrorCode::invalid_argument);
  return usage ? 2 : 1;
}

namespace {

// Help without CLI11's noise: a command is one line in the list, an option shows its value's name and nothing else.
class Help : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* command) const override {
    const std::string text = command->get_description();
    return fmt::format("  {:<10} {}\n", command->get_name(), text.substr(0, text.find('\n')));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0 || option->get_positional()) return "";
    const std::string type = option->get_type_name();
    return " " + type.substr(0, type.find(':'));  // without the names of its checks
  }
};

// CLI11 says "The following argument was not expected"; people want to know what would have been right.
int unknown_command(const std::vector<std::string>& names, std::string_view word) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view guess = base::nearest(word, views);
  print_error(
      fmt::format("unknown command \"{}\"{}", word, guess.empty() ? "" : fmt::format("; did you mean {}?", guess)),
      "commands: " + base::join(views));
  return 2;
}

// The first flag that the command does not have. Looked for before the words are parsed: what follows a flag with a
// typo would be taken for something else, and the error be about that.
std::optional<int> unknown_flag(const CLI::App& program, const CLI::App& command, std::span<const std::string> words) {
  if (command.get_allow_extras()) return std::nullopt;  // it says itself what this build lacks
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string_view word : words) {
    if (word == "--") break;
    const std::string_view flag = word.substr(0, word.find('='));
    if (!flag.starts_with("--") || std::find(names.begin(), names.end(), flag) != names.end()) continue;
    const std::string_view guess = base::nearest(flag, std::vector<std::string_view>(names.begin(), names.end()));
    print_error(fmt::format("{} has no {}{}", command.get_name(), flag,
                            guess.empty() ? "" : fmt::format("; did you mean {}?", guess)),
                fmt::format("{} {} --help", program.get_name(), command.get_name()));
    return 2;
  }
  return std::nullopt;
}

// llama.cpp has short names of several letters, which CLI11 does not know.
std::vector<std::string> with_long_names(std::span<const std::string> typed) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names = {{{"-ub", "--ubatch-size"},
                                                                                   {"-fa", "--flash-attn"},
                                                                                   {"-ctk", "--cache-type-k"},
                                                                                   {"-ctv", "--cache-type-v"},
                                                                                   {"-ngl", "--n-gpu-layers"},
                                                                                   {"-ts", "--tensor-split"}}};
  std::vector<std::string> words;
  for (auto word = typed.rbegin(); word != typed.rend(); ++word) {  // CLI11 takes them from the back
    const auto* known = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == *word; });
    words.emplace_back(known != names.end() ? known->second : std::string_view(*word));
  }
  return words;
}

}  // namespace

int run_program(CLI::App& program, Action& action, const std::vector<std::string>& words) {
  program.set_version_flag("--version", "mrrope " MRROPE_VERSION);
  program.require_subcommand(1);
  const auto help = std::make_shared<Help>();
  help->column_width(24);
  help->label("SUBCOMMAND", "COMMAND");
  program.formatter(help);
  program.get_help_ptr()->description("this text");
  program.get_version_ptr()->description("the version");
  std::vector<std::string> names;
  for (CLI::App* command : program.get_subcommands({})) {
    command->group("Commands");
    command->formatter(help);
    command->get_help_ptr()->description("this text");
    names.push_back(command->get_name());
  }
  if (words.size() < 2) {
    print("{}", program.help());
    return 2;
  }
  if (const std::optional<int> status = answer_shell(program, {words.begin() + 1, words.end()})) return *status;
  const std::string& first = words[1];
  if (!first.starts_with('-') && std::find(names.begin(), names.end(), first) == names.end()) {
    return unknown_command(names, first);
  }
  if (!first.starts_with('-')) {
    const CLI::App& command = *program.get_subcommand(first);
    if (const std::optional<int> status = unknown_flag(program, command, std::span(words).subspan(2))) return *status;
  }
  try {
    program.parse(with_long_names(std::span(words).subspan(1)));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    print_error(error.what(),
                fmt::format("{} {}--help", program.get_name(), first.starts_with('-') ? "" : first + " "));
    return 2;
  }
  const int status = action();
  // Output that could not be written (a full disk, a closed pipe) is a failure, not a success with a short file.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    print_error("could not write the output");
    return 1;
  }
  return status;
}

}  // namespace mrrope::cli
