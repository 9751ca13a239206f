// SPDX-License-Identifier: MIT
//
// mrrope doctor: coded findings about a file, and what each engine will really do with it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

namespace {

using base::Json;

struct Options {
  std::string file;
  std::string fail_on = "error";
  bool json = false;
  bool list = false;
};

struct EngineRow {
  const EngineInfo* info = nullptr;
  Result<Effective> effect;
};

std::vector<EngineRow> ask_engines(const ModelFile& model) {
  std::vector<EngineRow> rows;
  for (const EngineInfo& info : engine_catalogue()) {
    const bool reads = model.gguf() != nullptr ? info.reads_gguf : info.reads_hf;
    if (reads) rows.push_back({&info, effective(info.name, model)});
  }
  return rows;
}

// How an engine's table compares with the trained one: "plain", "slowed 1 .. 4".
std::string table_text(const EngineRow& row, const RopeSpec& spec) {
  if (!row.effect) return "error";
  if (!row.effect->loads) return "does not load";
  if (!row.effect->by_table) return "something else";
  if (row.effect->groups.empty()) return "-";
  const LayerGroup& group = spec.groups[0];
  const Spectrum plain = plain_spectrum(group.rotary_dim, group.base, static_cast<double>(spec.context_trained));
  const std::vector<double>& theta = row.effect->groups[0].inv_freq;
  if (theta.size() != plain.inv_freq.size()) return fmt::format("{} pairs", theta.size());
  const double first = plain.inv_freq.front() / theta.front();
  const double last = theta.back() > 0 ? plain.inv_freq.back() / theta.back() : kNoRotation;
  if (table_difference(theta, plain.inv_freq) < 1e-6) return "plain";
  return fmt::format("slowed {:.3g} .. {:.3g}", first, last);
}

void print_findings(const std::vector<Finding>& findings) {
  for (const Finding& f : findings) {
    print("{} {:<8} {}\n", bold(f.code), to_string(f.severity), wrap(f.message, 66, 14));
    if (!f.advice.empty()) print("              {}\n", wrap("-> " + f.advice, 66, 17));
  }
  if (findings.empty()) print("no findings\n");
}

void print_engines(const std::vector<EngineRow>& rows, const RopeSpec& spec) {
  TextTable table({"engine", "verified for", "table", "scale", "context"}, 3);
  std::string notes;
  for (const EngineRow& row : rows) {
    const bool ok = row.effect && row.effect->loads && !row.effect->groups.empty();
    table.add({std::string(row.info->title),
               row.effect ? fmt::format("{}, {}", row.info->versions, to_string(row.effect->evidence)) : "-",
               table_text(row, spec),
               ok && row.effect->by_table ? fmt::format("{:.4f}", row.effect->groups[0].attention_scale) : "-",
               ok ? std::to_string(row.effect->context) : "-"});
    const std::vector<std::string> said =
        row.effect ? row.effect->notes : std::vector<std::string>{to_string(row.effect.error())};
    for (const std::string& note : said)
      notes += fmt::format("  {}\n", wrap(fmt::format("{}: {}", row.info->title, note), 76, 4));
  }
  print("\n{}", table.text());
  std::string_view day;
  for (const EngineRow& row : rows) day = std::max(day, row.info->verified);
  print("  {}\n", dim(fmt::format("run: compared with the running engine, {}; read: from its source", day)));
  if (!notes.empty()) print("\n{}", notes);
}

Json to_json(const ModelFile& model, const std::vector<Finding>& findings, const std::vector<EngineRow>& rows) {
  Json json{
      {"schema", "mrrope.doctor/1"}, {"path", model.path}, {"findings", Json::array()}, {"engines", Json::array()}};
  for (const Finding& f : findings) {
    json["findings"].push_back(
        {{"code", f.code}, {"severity", to_string(f.severity)}, {"message", f.message}, {"advice", f.advice}});
  }
  for (const EngineRow& row : rows) {
    Json engine{{"name", row.info->name}, {"versions", row.info->versions}, {"verified", row.info->verified}};
    if (row.effect) {
      engine["evidence"] = to_string(row.effect->evidence);
      engine["loads"] = row.effect->loads;
      engine["by_table"] = row.effect->by_table;
      engine["context"] = row.effect->context;
      engine["notes"] = row.effect->notes;
      for (const EffectiveGroup& g : row.effect->groups) {
        engine["groups"].push_back(
            {{"name", g.name}, {"attention_scale", g.attention_scale}, {"inv_freq", g.inv_freq}});
      }
    } else {
      engine["error"] = to_string(row.effect.error());
    }
    json["engines"].push_back(std::move(engine));
  }
  return json;
}

int print_catalogue() {
  TextTable table({"code", "severity", "finding"}, 3);
  for (const FindingInfo& info : finding_catalogue()) {
    table.add({std::string(info.code), to_string(info.severity), std::string(info.title)});
  }
  print("{}", table.text());
  return 0;
}

int run_doctor(const Options& options) {
  if (options.list) return print_catalogue();
  if (options.file.empty())
    return fail({ErrorCode::invalid_argument, "which file? A .gguf, a folder or a config.json", "MODEL"});
  const Result<ModelFile> model = read_model(options.file);
  if (!model) return fail(model.error());
  const std::vector<Finding> findings = diagnose(*model);
  const std::vector<EngineRow> rows = ask_engines(*model);
  if (options.json) {
    print("{}", base::write_json(to_json(*model, findings, rows)));
  } else {
    print_findings(findings);
    const Result<RopeSpec> spec = rope_spec(*model);
    if (spec && !rows.empty()) print_engines(rows, *spec);
  }
  const Severity threshold = options.fail_on == "note"      ? Severity::note
                             : options.fail_on == "warning" ? Severity::warning
                                                            : Severity::error;
  for (const Finding& f : findings) {
    if (options.fail_on != "never" && f.severity >= threshold) return 3;
  }
  return 0;
}

}  // namespace

void add_doctor(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("doctor",
                                             "what each engine will really do with a file; coded findings\n"
                                             "\n"
                                             "  mrrope doctor model.gguf\n"
                                             "  mrrope doctor path/to/model --fail-on warning\n");
  command->add_option("MODEL", options->file, "a .gguf, a Hugging Face folder or config.json");
  command->add_option("--fail-on", options->fail_on, "exit with 3 from this severity on (default error)")
      ->type_name("SEVERITY")
      ->check(CLI::IsMember({"note", "warning", "error", "never"}));
  CLI::Option* list = command->add_flag("--list", options->list, "all findings there are");
  command->add_flag("--json", options->json, "for programs")->excludes(list);
  command->callback([options, &action] { action = [options] { return run_doctor(*options); }; });
}

}  // namespace mrrope::cli
