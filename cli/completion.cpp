// SPDX-License-Identifier: MIT
#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/terminal.h"
#include "mrrope/catalogue.h"

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

bool takes_methods(const CLI::Option& option) {
  constexpr std::array<std::string_view, 4> names = {"method", "methods", "baseline", "against"};
  const std::vector<std::string>& own = option.get_lnames();
  return std::any_of(own.begin(), own.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
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
      if (!takes_methods(*option)) return "";
      for (const MethodInfo& method : method_catalogue()) offer(method.name, std::string(method.summary));
      return out;
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
