// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "cli/completion.h"
#include "mrrope/version.h"

namespace mrrope::cli {

namespace {

// Text for troff: its escapes, hyphens that can be copied, and no line that looks like a request.
std::string roff(std::string_view text) {
  std::string out;
  bool start = true;
  for (const char c : text) {
    if (start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    start = c == '\n';
  }
  return out;
}

// A description as help shows it: paragraphs, and examples where lines are indented.
std::string paragraphs(std::string_view text) {
  std::string out;
  bool example = false;
  bool apart = false;  // the next line begins a paragraph
  for (const std::string_view line : base::split(text, '\n')) {
    const bool indented = line.starts_with("  ");
    if (indented && !example) out += ".RS 2\n.nf\n";
    if (!indented && example) out += ".fi\n.RE\n";
    apart = apart || (example && !indented) || line.empty();
    example = indented;
    if (line.empty()) continue;
    if (apart && !indented && !out.empty()) out += ".PP\n";
    apart = false;
    out += roff(indented ? line.substr(2) : line) + "\n";
  }
  return out + (example ? ".fi\n.RE\n" : "");
}

std::string option_entry(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  if (option.get_positional()) names = option.get_name();
  const std::string type = option.get_type_name();
  const std::string value =
      option.get_type_size() == 0 || option.get_positional() ? "" : type.substr(0, type.find(':'));
  std::string text = option.get_description();
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(names), value.empty() ? "" : " \\fI" + roff(value) + "\\fR",
                     roff(text));
}

std::string options_of(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) out += option_entry(*option);
  return out;
}

}  // namespace

std::string manual_page(CLI::App& program) {
  std::string file = program.get_name();  // "mrrope eval" has the page mrrope-eval
  for (char& c : file) c = c == ' ' ? '-' : c;
  const std::string description = program.get_description();
  std::string upper = file;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"mrrope {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n.I COMMAND\n[options]\n"
      ".SH DESCRIPTION\n{}.SH OPTIONS\n{}.SH COMMANDS\n",
      upper, MRROPE_VERSION, roff(file), roff(description.substr(0, description.find('\n'))), roff(program.get_name()),
      paragraphs(description), options_of(program));
  for (const CLI::App* command : program.get_subcommands(nullptr)) {
    out += fmt::format(".SS {} {}\n{}{}", roff(program.get_name()), roff(command->get_name()),
                       paragraphs(command->get_description()), options_of(*command));
  }
  return out +
         ".SH EXIT STATUS\n0 done, 1 failure, 2 wrong usage, 3 findings or a threshold missed, 130 interrupted with "
         "what was\n"
         "finished kept.\n"
         ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nno colour, whatever its value\n.TP\n\\fBCOLUMNS\\fR\nwidth of tables "
         "where output "
         "is no terminal (80)\n";
}

}  // namespace mrrope::cli
