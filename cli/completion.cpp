// SPDX-License-Identifier: MIT
#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "base/text.h"
#include "cli/terminal.h"
#include "mrrope/catalogue.h"
#include "mrrope/targets.h"
#include "mrrope/tasks.h"

namespace mrrope::cli {

namespace {

// Each asks `mrrope complete` with the words so far: one implementation, in this file. No answer: names of files.
constexpr std::string_view kBash = R"~(# mrrope completions bash > ~/.local/share/bash-completion/completions/mrrope
_mrrope() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(mrrope complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mrrope mrrope
)~";
constexpr std::string_view kZsh = R"~(#compdef mrrope
# mrrope completions zsh > "${fpath[1]}/_mrrope"
_mrrope() {
  local -a found
  local line
  for line in "${(@f)$(mrrope complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( ${#found} )); then _describe mrrope found; else _files; fi
}
compdef _mrrope mrrope
)~";
constexpr std::string_view kFish = R"~(# mrrope completions fish > ~/.config/fish/completions/mrrope.fish
function __mrrope_complete
  set -l words (commandline -opc) (commandline -ct)
  mrrope complete $words[2..] 2>/dev/null; or true
end
complete -c mrrope -a '(__mrrope_complete)'
)~";
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kScripts = {
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool is_called(const CLI::Option& option, std::initializer_list<std::string_view> names) {
  const std::vector<std::string>& own = option.get_lnames();
  return std::any_of(own.begin(), own.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

struct Choice {
  std::string_view name;
  std::string_view meaning = {};
};

std::vector<Choice> methods() {
  std::vector<Choice> out;
  for (const MethodInfo& method : method_catalogue()) out.push_back({method.name, method.summary});
  return out;
}

// Those that may read what the command writes or runs.
std::vector<Choice> engines(const CLI::App& command) {
  std::vector<Choice> out;
  if (command.get_name() == "extend") out.push_back({kUniversal, "as many engines as one file can serve"});
  for (const EngineInfo& engine : engine_catalogue()) {
    if (command.get_name() != "tune" || engine.reads_gguf) out.push_back({engine.name, engine.title});
  }
  return out;
}

// A command of benchmarks is called as its group of tasks; a search takes all that need no file.
std::vector<Choice> tasks(const CLI::App& command) {
  const bool search = command.get_name() == "tune";
  std::vector<Choice> out;
  if (!search) out.push_back({"all", "every task that has its texts"});
  for (const eval::Task& task : eval::tasks()) {
    const bool alone = task.needs == eval::TaskNeeds::nothing || task.needs == eval::TaskNeeds::haystack;
    if (search ? alone : task.group == command.get_name()) out.push_back({task.name, task.summary});
  }
  return out;
}

// What an option's check allows: CLI11 writes it "SEVERITY:{note,warning}". Domain: `type` outlives the result.
std::vector<Choice> members(std::string_view type) {
  const std::size_t open = type.find(":{");
  if (open == std::string_view::npos || !type.ends_with('}')) return {};
  std::vector<Choice> out;
  for (const std::string_view name : base::split(type.substr(open + 2, type.size() - open - 3), ',')) {
    out.push_back({name});
  }
  return out;
}

// Lines for the last word, of which only what follows its last comma is being typed where values are a list.
std::string offered(const std::vector<Choice>& choices, std::string_view last, bool list) {
  const std::size_t comma = list ? last.rfind(',') : std::string_view::npos;
  const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
  const std::string_view before = last.substr(0, begin);
  const std::vector<std::string_view> taken = base::split(before, ',');
  std::string out;
  for (const Choice& choice : choices) {
    if (!choice.name.starts_with(last.substr(begin))) continue;
    if (std::find(taken.begin(), taken.end(), choice.name) != taken.end()) continue;
    out += fmt::format("{}{}\t{}\n", before, choice.name, first_line(std::string(choice.meaning)));
  }
  return out;
}

// What may follow this option; nothing for the name of a file or a number.
std::string values(const CLI::App& command, const CLI::Option& option, std::string_view last) {
  if (is_called(option, {"method", "baseline"})) return offered(methods(), last, false);
  if (is_called(option, {"methods"})) return offered(methods(), last, true);
  if (is_called(option, {"target"})) return offered(engines(command), last, false);
  if (is_called(option, {"tasks"})) return offered(tasks(command), last, true);
  const std::string type = option.get_type_name();
  return offered(members(type), last, false);
}

// The option that `word` names and that wants a value after it.
const CLI::Option* option_before(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_type_size() != 0 && !option->get_positional() && option->check_name(word)) return option;
  }
  return nullptr;
}

// What may stand in the place of the last word (which may be empty): lines "candidate<TAB>meaning". Nothing means that
// the name of a file is expected.
std::string candidates(CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto below = command->get_subcommands([&](const CLI::App* c) { return c->get_name() == words[i]; });
    if (!below.empty()) command = below.front();
  }
  const std::string last = words.empty() ? "" : words.back();
  std::string out;
  const auto offer = [&](std::string_view name, const std::string& meaning) {
    if (name.starts_with(last)) out += fmt::format("{}\t{}\n", name, first_line(meaning));
  };
  if (words.size() > 1) {
    if (const CLI::Option* option = option_before(*command, words[words.size() - 2])) {
      return values(*command, *option, last);
    }
  }
  if (!last.starts_with('-')) {
    for (const CLI::App* below : command->get_subcommands(nullptr)) offer(below->get_name(), below->get_description());
    return out;
  }
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) offer("--" + name, option->get_description());
    for (const std::string& name : option->get_snames()) offer("-" + name, option->get_description());
  }
  return out;
}

}  // namespace

std::optional<int> answer_shell(CLI::App& program, const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  if (words[0] == "complete") {
    print("{}", candidates(program, {words.begin() + 1, words.end()}));
    return 0;
  }
  if (words[0] == "man" && words.size() == 1) {
    print("{}", manual_page(program));
    return 0;
  }
  if (words[0] != "completions") return std::nullopt;
  for (const auto& [shell, script] : kScripts) {
    if (words.size() == 2 && words[1] == shell) {
      print("{}", script);
      return 0;
    }
  }
  print_error("expected a shell: bash, zsh or fish", "mrrope completions bash");
  return 2;
}

}  // namespace mrrope::cli
