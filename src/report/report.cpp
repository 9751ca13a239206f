// SPDX-License-Identifier: MIT
#include "mrrope/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "mrrope/units.h"
#include "report/page.h"
#include "report/runs.h"
#include "report/sections.h"

namespace mrrope {

namespace {

using namespace report;

std::vector<std::string> facts_of(const Runs& runs, const std::vector<eval::PlanName>& plans) {
  std::vector<std::string> facts;
  if (!runs.sources.empty() && !runs.sources.front().info.architecture.empty()) {
    facts.push_back(runs.sources.front().info.architecture);
  }
  if (runs.context_trained() > 0) facts.push_back(fmt::format("trained for {} tokens", runs.context_trained()));
  facts.push_back(fmt::format("{} plan{}", plans.size(), plans.size() == 1 ? "" : "s"));
  if (runs.records > 0) facts.push_back(fmt::format("{} records", runs.records));
  if (!runs.sources.empty() && !runs.sources.front().info.engine.empty())
    facts.push_back(runs.sources.front().info.engine);
  return facts;
}

std::string title_of(const Runs& runs) {
  std::vector<std::string> models;  // served plans have names of their own
  const auto add = [&models](const std::string& name) {
    if (std::find(models.begin(), models.end(), name) == models.end()) models.push_back(name);
  };
  for (const RunSource& source : runs.sources) {
    if (!source.info.served) add(source.info.model);
    else
      for (const eval::PlanName& plan : runs.answers.plans()) add(plan.method);
  }
  if (!models.empty()) return fmt::format("{}", fmt::join(models, ", "));
  const Plan& plan = runs.plans.front();
  return !plan.spec.name.empty() ? plan.spec.name : !plan.source.empty() ? plan.source : "a plan";
}

}  // namespace

Result<Report> make_report(std::span<const std::string> paths, const ReportOptions& options) {
  const Result<Runs> runs = read_runs(paths);
  if (!runs) return runs.error();
  const std::vector<eval::PlanName> plans = plans_of(*runs);
  if (!options.baseline.empty()) {
    if (const Result<eval::PlanName> known = choose_baseline(plans, options.baseline); !known) return known.error();
  }
  const Context context{*runs, Look(plans), options.baseline};

  Page page{.title = title_of(*runs), .facts = facts_of(*runs, plans), .verdict = {}, .sections = {}};
  for (const auto& verdict : {tune_verdict, score_verdict, ppl_verdict}) {
    for (std::string& sentence : verdict(context)) page.verdict.push_back(std::move(sentence));
  }
  for (const auto& section : {tune_section, ppl_section, gap_section, score_section, published_section, band_section,
                              attention_section, plan_section}) {
    if (auto made = section(context)) page.sections.push_back(*std::move(made));
  }
  page.sections.push_back(provenance_section(context));

  Report out{
      .html = html_of(page), .verdict = page.verdict, .pictures = {}, .records = runs->records, .torn = runs->torn};
  for (const Section& section : page.sections) {
    for (const Figure& figure : section.figures) {
      if (figure.spec.is_null()) continue;
      out.pictures.push_back({figure.name, figure.title, figure.conclusion + " " + figure.reading,
                              base::write_json(figure.spec), csv_of(figure.data)});
    }
  }
  return out;
}

bool report_draws() noexcept { return !assets().vega.empty(); }

}  // namespace mrrope
