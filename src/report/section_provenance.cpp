// SPDX-License-Identifier: MIT
//
// Where every number comes from: enough to repeat the measurement, and to see whether two pages speak of the same one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/paths.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

// A line per fact, a column per run.
Figure run_table(const Runs& runs) {
  Figure figure{.name = "runs", .title = "Runs"};
  figure.table.header = {""};
  for (const RunSource& source : runs.sources) {
    std::string name = source.path;
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    figure.table.header.push_back(base::to_text(base::to_path(name).filename()));
  }
  figure.table.left = figure.table.header.size();
  const auto line = [&](const std::string& name, auto value) {
    std::vector<std::string> cells = {name};
    bool any = false;
    for (const RunSource& source : runs.sources) {
      cells.push_back(value(source));
      any = any || !cells.back().empty();
    }
    if (any) figure.table.rows.push_back(std::move(cells));
  };
  line("task", [](const RunSource& s) { return s.info.task; });
  line("model", [](const RunSource& s) { return s.info.served ? "" : s.info.model; });
  line("model hash (XXH3)", [](const RunSource& s) { return s.info.model_hash; });
  line("architecture", [](const RunSource& s) { return s.info.architecture; });
  line("trained length",
       [](const RunSource& s) { return s.info.context_trained > 0 ? std::to_string(s.info.context_trained) : ""; });
  line("engine", [](const RunSource& s) { return s.info.engine; });
  line("mrrope", [](const RunSource& s) { return s.info.version; });
  line("machine", [](const RunSource& s) { return s.info.machine; });
  line("started", [](const RunSource& s) { return s.info.started; });
  line("records", [](const RunSource& s) { return std::to_string(s.records); });
  std::set<std::string> flags;
  for (const RunSource& source : runs.sources) {
    for (const auto& [flag, value] : source.info.settings) flags.insert(flag);
  }
  for (const std::string& flag : flags) {
    line(flag, [&](const RunSource& s) {
      const auto found = s.info.settings.find(flag);
      return found != s.info.settings.end() ? found->second : std::string();
    });
  }
  line("command", [](const RunSource& s) {
    std::string all = s.info.command.empty() ? "" : "mrrope";
    for (const std::string& word : s.info.command) all += " " + word;
    return all;
  });
  return figure;
}

Figure plan_table(const Runs& runs) {
  Figure figure{.name = "rotations", .title = "Plans, by the hash of the rotation that was computed"};
  figure.table.header = {"plan", "rotation"};
  figure.table.left = 2;
  std::map<std::string, std::string> seen;
  const auto add = [&](const std::string& plan, const std::string& hash) {
    if (!hash.empty() && seen.emplace(plan, hash).second) figure.table.rows.push_back({plan, hash});
  };
  for (const eval::Readings* readings : {&runs.passes, &runs.gaps}) {
    for (const auto& [plan, rung, inv_freq, scale] : readings->rotations()) {
      const std::string name = readings->plans()[plan].text() + (rung.empty() ? "" : ", rung " + rung);
      if (!inv_freq.empty()) add(name, eval::rotation_hash(inv_freq, scale));
    }
  }
  for (std::size_t i = 0; i < runs.answers.plans().size(); ++i) add(runs.answers.plans()[i].text(), runs.rotations[i]);
  for (const Plan& plan : runs.plans) {
    add(eval::PlanName{spell(plan.method), plan.factor}.text(),
        eval::rotation_hash(plan.groups.front().inv_freq, plan.groups.front().attention_scale));
  }
  return figure;
}

Figure text_table(const Runs& runs) {
  Figure figure{.name = "texts", .title = "Texts"};
  figure.table.header = {"text", "hash of its tokens (XXH3), or samples"};
  figure.table.left = 2;
  for (const Text& text : runs.texts) figure.table.rows.push_back({text.name, text.hash});
  if (runs.all_texts > runs.texts.size()) {
    figure.table.rows.push_back({fmt::format("and {} more", runs.all_texts - runs.texts.size()), ""});
  }
  for (std::size_t t = 0; t < runs.answers.tasks().size(); ++t) {
    figure.table.rows.push_back(
        {runs.answers.tasks()[t], std::to_string(runs.answers.prompts(t)) + " different prompts"});
  }
  return figure;
}

}  // namespace

Section provenance_section(const Context& context) {
  Section section{.name = "provenance", .title = "Provenance", .figures = {}};
  if (!context.runs.sources.empty()) section.figures.push_back(run_table(context.runs));
  for (Figure figure : {plan_table(context.runs), text_table(context.runs)}) {
    if (!figure.table.rows.empty()) section.figures.push_back(std::move(figure));
  }
  return section;
}

}  // namespace mrrope::report
