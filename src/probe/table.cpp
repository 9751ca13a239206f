// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mrrope/probe.h"
#include "probe/report.h"
#include "probe/suspects.h"

namespace mrrope::probe {

namespace {

bool same_speeds(Plan a, const Plan& b) {
  for (std::size_t g = 0; g < std::min(a.groups.size(), b.groups.size()); ++g) {
    a.groups[g].attention_scale = b.groups[g].attention_scale;
  }
  return same_table(a, b);
}

// The same law at a factor that explains the server as well.
bool is_in_range(const TableVerdict& verdict, const Plan& plan) {
  return near(*verdict.plan, plan) && verdict.plan->method.modifiers == plan.method.modifiers &&
         verdict.factor_low <= table_factor(plan) && table_factor(plan) <= verdict.factor_high;
}

bool is_plain(const Plan& plan) {
  return std::holds_alternative<None>(plan.method.law) && plan.method.modifiers.empty();
}

// Scales of one law within its range of factors: 0.1 ln 1.25 for YaRN's.
constexpr double kSameScale = 0.025;

// "the plain table" is what people call no method at all.
std::string in_words(const std::string& name) { return name == "none" ? "the plain table" : name; }

bool is_out(const TableVerdict& verdict, const std::string& name) {
  return std::any_of(verdict.rivals.begin(), verdict.rivals.end(),
                     [&](const Rival& rival) { return rival.suspect.name == name && rival.out; });
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * std::abs(share)); }

// The scale against the one that is expected or, where nothing is, against the method's own.
void add_scale(const TableVerdict& verdict, const TableExpected& expected, Report& report) {
  const double found = verdict.plan->groups.front().attention_scale;
  const double wanted =
      expected.table ? expected.table->plan.groups.front().attention_scale : found / (1 + verdict.scale_off);
  const double off = found / wanted - 1;
  if (std::abs(off) <= kSameTable) return;
  report.add("P202",
             fmt::format("the server multiplies cosines and sines by {:.4g}, {} {} than {} has", found, percent(off),
                         off > 0 ? "more" : "less", in_words(expected.table ? expected.table->name : verdict.name)),
             "look for an attention factor in its file and among its flags (attn_factor, attention_factor)");
}

void add_named(const TableVerdict& verdict, const TableExpected& expected, Report& report) {
  const bool another = expected.table && !same_speeds(*verdict.plan, expected.table->plan);
  if (another && !is_in_range(verdict, expected.table->plan)) {
    report.add("P200",
               fmt::format("the server runs {}; {} says {}", in_words(verdict.name), expected.by,
                           in_words(expected.table->name)),
               "see what its engine makes of the file with mrrope doctor, and with which flags it was started");
    return;
  }
  add_scale(verdict, another ? TableExpected{} : expected, report);
  if (is_plain(*verdict.plan) && expected.served && *expected.served > expected.trained) {
    report.add("P201",
               fmt::format("the server takes {} tokens and runs the plain table, which was trained for {}",
                           *expected.served, expected.trained),
               "extend the model, or start the server for the trained length");
  }
}

}  // namespace

std::string table_words(const TableVerdict& verdict) {
  std::string words = in_words(verdict.name);
  for (std::size_t i = 0; i < verdict.tied.size(); ++i) {
    words += (i + 1 < verdict.tied.size() ? ", " : " or ") + in_words(verdict.tied[i]);
  }
  return words;
}

bool is_named(const TableVerdict& verdict, const Plan& plan) {
  if (verdict.kind != TableVerdict::Kind::named || !verdict.plan) return false;
  if (same_table(*verdict.plan, plan)) return true;
  const double scale = verdict.plan->groups.front().attention_scale / plan.groups.front().attention_scale;
  return is_in_range(verdict, plan) && std::abs(scale - 1) <= kSameScale;
}

std::vector<Finding> table_findings(const TableVerdict& verdict, const TableExpected& expected) {
  Report report;
  const auto not_it = [&](std::string runs) {
    report.add(
        "P200",
        fmt::format("the server runs {}, and not {}, as {} says", runs, in_words(expected.table->name), expected.by),
        "see what its engine makes of the file with mrrope doctor, and with which flags it was started");
  };
  switch (verdict.kind) {
    case TableVerdict::Kind::named: add_named(verdict, expected, report); break;
    case TableVerdict::Kind::tied:
      if (expected.table && is_out(verdict, expected.table->name)) not_it(table_words(verdict));
      report.add("P204", fmt::format("{}: the server's probabilities do not tell which", table_words(verdict)),
                 "ask with longer prompts (--table-tokens)");
      break;
    case TableVerdict::Kind::none:
      if (expected.table) not_it("none of the tables that were tried");
      report.add("P205",
                 fmt::format("none of the {} tables that were tried explains the server; nearest is {}: {}",
                             verdict.rivals.size(), in_words(verdict.name), verdict.why),
                 "give the plan that it should run (--plan)");
      break;
    case TableVerdict::Kind::unclear:
      report.add("P203", fmt::format("the table cannot be told: {}", verdict.why),
                 "give the very file that is served (-m)");
      break;
  }
  return std::move(report.findings);
}

}  // namespace mrrope::probe
