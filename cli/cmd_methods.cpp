// SPDX-License-Identifier: MIT
//
// mrrope methods: all methods, or one explained.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "base/unicode.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/catalogue.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

using base::Json;

struct Options {
  std::string name;
  bool json = false;
};

// `name`: in lower case.
bool is_called(const MethodInfo& info, std::string_view name) {
  return info.name == name || std::find(info.aliases.begin(), info.aliases.end(), name) != info.aliases.end();
}

Json to_json(const MethodInfo& info) {
  Json json;
  json["name"] = info.name;
  json["aliases"] = info.aliases;
  json["summary"] = info.summary;
  json["pair_factor"] = info.formula;
  json["kind"] = info.kind;
  json["source"] = info.source;
  json["equation"] = info.equation;
  json["is_modifier"] = info.is_modifier;
  json["needs_parameters"] = info.needs_parameters;
  json["depends_on_length"] = info.depends_on_length;
  json["parameters"] = Json::array();
  for (const ParameterInfo& p : info.parameters) {
    // "required" and "auto" are no values; the others are numbers, true or false
    const Result<Json> value = base::parse_json(p.default_value);
    json["parameters"].push_back({{"name", p.name},
                                  {"meaning", p.meaning},
                                  {"required", p.default_value == "required"},
                                  {"default", value ? *value : Json()},
                                  {"min", p.min},
                                  {"max", p.max}});
  }
  return json;
}

void print_one(const MethodInfo& info) {
  const auto fact = [](std::string_view label, std::string_view text) {
    if (!text.empty()) print("{}{}\n", bold(fmt::format("{:<10}", label)), wrap(text, 70, 10));
  };
  print("{}: {}\n\n", bold(info.name), info.summary);
  fact("s_i", info.formula);
  fact("kind", info.kind);
  fact("source", info.source);
  fact("equation", fmt::format("{} in docs/theory.md", info.equation));
  fact("aliases", base::join(info.aliases));
  if (info.depends_on_length) fact("note", "a table per length: mrrope plan --length N");
  if (!info.parameters.empty()) {
    TextTable table({"parameter", "default", "meaning"}, 3);
    for (const ParameterInfo& p : info.parameters) {
      table.add({std::string(p.name), p.default_value, std::string(p.meaning)});
    }
    print("\n{}", table.text());
  }
  const std::string example = info.is_modifier ? "mrrope-pro+" + std::string(info.name) : std::string(info.name);
  if (!info.needs_parameters) {
    print("\n");
    print("{}mrrope plan --spec dim=128,base=1e4,ctx=4k -c 64k --method {}\n", bold("try       "), example);
  }
}

void print_all() {
  TextTable table({"method", "what it is", "conversion"}, 3);
  for (const MethodInfo& info : method_catalogue()) {
    // The first word, with a star where it is not the whole story
    const std::size_t end = info.kind.find(' ');
    std::string kind(info.kind.substr(0, end));
    if (end != std::string_view::npos) kind += '*';
    if (info.is_modifier) kind = "modifier";
    if (info.kind == "not a conversion") kind = "(rescaling)";
    table.add({std::string(info.name), std::string(info.summary), kind});
  }
  print("{}", table.text());
  print("\n{}\n",
        "* depends on the factor or a parameter: mrrope methods NAME tells all of one.\n\n"
        "Spelling: NAME[:key=value]...[+MODIFIER[:key=value]...], for example\n"
        "yarn:beta_fast=16:truncate=false or mrrope-pro+cope. Modifiers compose with any\n"
        "method; every method takes attention_scale=a, and factor=S for a table that is\n"
        "not made for the target's own factor.\n\n"
        "climb:METHOD is a table that grows with the text, so that texts within the\n"
        "trained length cost nothing: mrrope plan MODEL -c 32k --method climb:mrrope-pro");
}

int run_methods(const Options& options) {
  if (options.name.empty()) {
    if (!options.json) {
      print_all();
      return 0;
    }
    Json all = Json::array();
    for (const MethodInfo& info : method_catalogue()) all.push_back(to_json(info));
    print("{}", base::write_json({{"schema", "mrrope.methods/1"}, {"methods", std::move(all)}}));
    return 0;
  }
  const std::string asked = base::lower_case(options.name);
  for (const MethodInfo& info : method_catalogue()) {
    if (!is_called(info, asked)) continue;
    if (options.json) {
      print("{}", base::write_json({{"schema", "mrrope.methods/1"}, {"methods", Json::array({to_json(info)})}}));
    } else {
      print_one(info);
    }
    return 0;
  }
  const Result<Method> unknown = parse_method(options.name);
  return fail({ErrorCode::invalid_argument,
               unknown ? "give the name alone, without parameters: " + options.name : unknown.error().message, ""});
}

}  // namespace

void add_methods(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("methods",
                                             "the extension methods: all of them, or one with its parameters\n"
                                             "\n"
                                             "  mrrope methods\n"
                                             "  mrrope methods yarn\n");
  command->add_option("NAME", options->name, "one method or modifier");
  command->add_flag("--json", options->json, "for programs");
  command->callback([options, &action] { action = [options] { return run_methods(*options); }; });
}

}  // namespace mrrope::cli
