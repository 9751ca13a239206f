// SPDX-License-Identifier: MIT
#include "cli/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/unicode.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/probe.h"

namespace mrrope::cli {

namespace {

using base::Json;

// How much slower than base^(-i/n) an engine turns the first and the last pair: "1 .. 4"; "plain": not at all.
std::string table_text(const EngineVerdict& row, const RopeSpec& spec) {
  if (!row.effect || !row.effect->loads || row.effect->groups.empty()) return "-";
  if (!row.effect->by_table) return "none";
  const LayerGroup& group = spec.groups[0];
  const Spectrum plain = plain_spectrum(group.rotary_dim, group.base, static_cast<double>(spec.context_trained));
  const std::vector<double>& theta = row.effect->groups[0].inv_freq;
  if (theta.size() != plain.inv_freq.size()) return fmt::format("{} pairs", theta.size());
  const double first = plain.inv_freq.front() / theta.front();
  const double last = theta.back() > 0 ? plain.inv_freq.back() / theta.back() : kNoRotation;
  if (table_difference(theta, plain.inv_freq) < 1e-6) return "plain";
  return fmt::format("{:.3g} .. {:.3g}", first, last);
}

void print_finding(const Finding& f) {
  print("{} {:<8} {}\n", bold(f.code), to_string(f.severity), wrap(f.message, 66, 14));
  if (!f.advice.empty()) print("              {}\n", wrap("-> " + f.advice, 66, 17));
}

// What befalls the file, as the beginning of "… in vllm, sglang".
std::string_view shared_phrase(std::string_view code) {
  if (code == "R200") return "does not load in";
  if (code == "R201") return "runs plain, without its scaling, in";
  if (code == "R202") return "rotates by another table in";
  if (code == "R203") return "has another attention scale in";
  if (code == "R204") return "has fewer tokens, unless told, in";
  if (code == "R205") return "is rotated wrongly at some positions in";
  return "not checked with this kind of model in";
}

// Engines that fail in the same way share a line; the reasons stand below the table.
void print_shared(const std::vector<Finding>& findings) {
  for (const FindingInfo& info : finding_catalogue()) {
    for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
      std::vector<std::string_view> engines;
      for (const Finding& f : findings) {
        if (!f.engine.empty() && f.code == info.code && f.severity == severity) engines.push_back(f.engine);
      }
      if (engines.empty()) continue;
      print("{} {:<8} {}\n", bold(info.code), to_string(severity),
            wrap(fmt::format("{} {}", shared_phrase(info.code), base::join(engines)), 66, 14));
    }
  }
}

void print_findings(const Examination& found, bool one_engine) {
  for (const Finding& f : found.findings) {
    if (f.engine.empty() || one_engine) print_finding(f);
  }
  if (!one_engine) print_shared(found.findings);
  if (!found.rotates) print("no layer rotates in this model, so that no table limits its length\n");
  else if (found.findings.empty()) print("no findings\n");
}

std::string version_text(const EngineVerdict& row) {
  if (!row.effect || row.effect->evidence == Evidence::unchecked) return std::string(row.engine->versions);
  return fmt::format("{} {}", row.engine->versions, to_string(row.effect->evidence));
}

// Most notes begin with the engine's name already.
std::string note_text(const EngineInfo& engine, const std::string& note) {
  const bool named = note.starts_with(engine.title);
  return fmt::format("  {}\n", wrap(named ? note : fmt::format("{}: {}", engine.title, note), 76, 4));
}

void print_engines(const std::vector<EngineVerdict>& rows, const RopeSpec& spec) {
  TextTable table({"engine", "verdict", "version", "slowed", "scale", "context"}, 4);
  std::string notes;
  for (const EngineVerdict& row : rows) {
    const bool ok = row.effect && row.effect->loads && !row.effect->groups.empty();
    table.add({std::string(row.engine->name), to_string(row.verdict), version_text(row), table_text(row, spec),
               ok && row.effect->by_table ? fmt::format("{:.4f}", row.effect->groups[0].attention_scale) : "-",
               ok ? std::to_string(row.effect->context) : "-"});
    const std::vector<std::string> said =
        row.effect ? row.effect->notes : std::vector<std::string>{to_string(row.effect.error())};
    for (const std::string& note : said) notes += note_text(*row.engine, note);
    if (rows.size() == 1 && !row.source.empty()) notes += note_text(*row.engine, "read in " + row.source);
  }
  print("\n{}", table.text());
  std::string_view day;
  for (const EngineVerdict& row : rows) day = std::max(day, row.engine->verified);
  if (!day.empty()) {
    print("  {}\n", dim(fmt::format("run: compared with the running engine, {}; read: from its source", day)));
  }
  if (!notes.empty()) print("\n{}", notes);
}

}  // namespace

void print_examination(const ModelFile& model, const Examination& found, bool one_engine) {
  print_findings(found, one_engine);
  const Result<RopeSpec> spec = rope_spec(model);
  if (spec && !found.engines.empty()) print_engines(found.engines, *spec);
  for (const std::string& remark : found.remarks) print("\n{}\n", wrap(remark, 80, 0));
}

Json examination_json(const ModelFile& model, const Examination& found) {
  Json json{{"schema", "mrrope.doctor/1"}, {"path", model.path},        {"rotates", found.rotates},
            {"remarks", found.remarks},    {"findings", Json::array()}, {"engines", Json::array()}};
  for (const Finding& f : found.findings) {
    json["findings"].push_back({{"code", f.code},
                                {"severity", to_string(f.severity)},
                                {"engine", f.engine},
                                {"message", f.message},
                                {"advice", f.advice}});
  }
  for (const EngineVerdict& row : found.engines) {
    Json engine{{"name", row.engine->name},
                {"versions", row.engine->versions},
                {"verified", row.engine->verified},
                {"verdict", to_string(row.verdict)}};
    if (row.effect) {
      engine["evidence"] = to_string(row.effect->evidence);
      if (!row.source.empty()) engine["source"] = row.source;
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

void print_codes() {
  TextTable table({"code", "severity", "finding"}, 3);
  for (const FindingInfo& info : finding_catalogue()) {
    table.add({std::string(info.code), to_string(info.severity), std::string(info.title)});
  }
  print("{}", table.text());
}

Result<void> explain_code(std::string_view code) {
  const std::string asked = base::lower_case(code);
  std::vector<std::string_view> codes;
  std::vector<FindingInfo> all = finding_catalogue();
  all.insert(all.end(), probe::probe_catalogue().begin(), probe::probe_catalogue().end());
  for (const FindingInfo& info : all) {
    codes.push_back(info.code);
    if (base::lower_case(info.code) != asked) continue;
    print("{} {}: {}\n", bold(info.code), to_string(info.severity), info.title);
    for (std::string_view rest = info.explanation; !rest.empty();) {
      const std::size_t end = std::min(rest.find("\n\n"), rest.size());
      print("\n{}\n", wrap(rest.substr(0, end), 80, 0));
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
    return {};
  }
  const std::string_view guess = base::nearest(code, codes);
  return Error{ErrorCode::invalid_argument,
               fmt::format("no finding \"{}\"{}", code, guess.empty() ? "" : fmt::format("; did you mean {}?", guess)),
               "--explain"};
}

}  // namespace mrrope::cli
