// SPDX-License-Identifier: MIT
#include "cli/eval/probe_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/terminal.h"
#include "mrrope/catalogue.h"
#include "mrrope/plan.h"

namespace mrrope::cli {

namespace {

using base::Json;
using probe::TableVerdict;

// ---- For people ----------------------------------------------------------------------------------------------------

void print_line(std::string_view label, std::string_view text) {
  print("{:<9} {}\n", label, wrap(text, terminal().width - 10, 10));
}

// What was found of a part, or why nothing was.
std::string missing(const std::string& why) { return why.empty() ? "not asked" : "not told: " + why; }

const probe::Rival* next_of(const TableVerdict& verdict) {
  const auto other = [&](const probe::Rival& rival) { return rival.suspect.name != verdict.name; };
  const auto found = std::find_if(verdict.rivals.begin(), verdict.rivals.end(), other);
  return found == verdict.rivals.end() ? nullptr : &*found;
}

std::string table_sentence(const ProbedTable& table) {
  const TableVerdict& verdict = table.verdict;
  const std::string words = table_words(verdict);
  switch (verdict.kind) {
    case TableVerdict::Kind::named: {
      const std::string sentence = words + ": no other table that was tried explains the server";
      const probe::Rival* next = next_of(verdict);
      if (next == nullptr) return sentence;
      return fmt::format("{} (the next of {}, {}, is {} times as far)", sentence, verdict.rivals.size(),
                         next->suspect.name,
                         next->times < 10 ? fmt::format("{:.1f}", next->times) : fmt::format("{:.0f}", next->times));
    }
    case TableVerdict::Kind::tied: return "tied: " + words;
    case TableVerdict::Kind::none:
      return fmt::format("none of the {} tables that were tried; the nearest is {}: {}", verdict.rivals.size(), words,
                         verdict.why);
    case TableVerdict::Kind::unclear: break;
  }
  return "cannot be told: " + verdict.why;
}

void print_table(const ProbedTable& table) {
  print_line("table", table_sentence(table));
  const TableVerdict& verdict = table.verdict;
  const bool known = verdict.kind == TableVerdict::Kind::named || verdict.kind == TableVerdict::Kind::tied;
  if (known && verdict.scale_off != 0) {
    print_line("",
               fmt::format("attention scale {:.1f} ± {:.1f} % {} the method's own", 100 * std::abs(verdict.scale_off),
                           100 * verdict.scale_error, verdict.scale_off > 0 ? "above" : "below"));
  }
  if (known && verdict.factor_low < verdict.factor_high) {
    print_line("", fmt::format("the factor is {:.3g} to {:.3g}", verdict.factor_low, verdict.factor_high));
  }
  if (!table.cache_type.empty()) print_line("", "cache " + table.cache_type);
}

std::string first_token(const probe::FirstToken& first) {
  return fmt::format("{:.2f} s for {} tokens", first.seconds, first.tokens);
}

void print_health(const probe::Health& health) {
  const auto said = [](const std::optional<bool>& value, const char* yes, const char* no, const char* unknown) {
    return value ? (*value ? yes : no) : unknown;
  };
  print_line(
      "health",
      fmt::format("{}; {}; {}",
                  said(health.same_twice, "repeats itself", "does not repeat itself", "repeats itself: not told"),
                  said(health.same_cached, "answers alike from its prefix cache",
                       "answers otherwise from its prefix cache", "prefix cache: not told"),
                  said(health.context_shift, "context shift on", "context shift off", "context shift: not told")));
  if (!health.first_short && !health.first_long) return;
  std::string times = "first token after ";
  if (health.first_short) times += first_token(*health.first_short);
  if (health.first_short && health.first_long) times += ", ";
  if (health.first_long) times += first_token(*health.first_long);
  print_line("", times);
}

void print_finding(const Finding& f) {
  const std::size_t width = terminal().width - 14;
  print("{} {:<8} {}\n", bold(f.code), to_string(f.severity), wrap(f.message, width, 14));
  if (!f.advice.empty()) print("              -> {}\n", wrap(f.advice, width - 3, 17));
}

// ---- For programs --------------------------------------------------------------------------------------------------

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json server_json(const ServerInfo& server) {
  Json claims = Json::array();
  for (const LengthClaim& claim : server.claims) {
    claims.push_back(Json{{"tokens", claim.tokens}, {"by", claim.by}, {"of_model", claim.of_model}});
  }
  return Json{{"software", text_or_null(server.software)},
              {"version", text_or_null(server.version)},
              {"model", text_or_null(server.model)},
              {"model_path", text_or_null(server.model_path)},
              {"slots", or_null(server.slots)},
              {"claims", std::move(claims)}};
}

Json length_json(const probe::Length& length) {
  return Json{{"advertised", or_null(length.advertised)},
              {"advertised_by", text_or_null(length.advertised_by)},
              {"accepted", or_null(length.accepted)},
              {"refused", or_null(length.refused)},
              {"refusal", text_or_null(length.refusal)},
              {"sent", length.sent},
              {"read", or_null(length.read)},
              {"read_within", length.read_within},
              {"cut", to_string(length.cut)},
              {"counted", length.counted},
              {"usage", or_null(length.usage)},
              {"line", length_line(length)}};
}

// The method only where the server is believed to run it; a nearest one is a name and no more.
Json table_json(const ProbedTable& table) {
  const TableVerdict& verdict = table.verdict;
  const bool known =
      verdict.plan && (verdict.kind == TableVerdict::Kind::named || verdict.kind == TableVerdict::Kind::tied);
  Json rivals = Json::array();
  for (const probe::Rival& rival : verdict.rivals) {
    rivals.push_back(
        Json{{"name", rival.suspect.name}, {"distance", rival.distance}, {"times", rival.times}, {"out", rival.out}});
  }
  return Json{{"verdict", to_string(verdict.kind)},
              {"certain", verdict.kind == TableVerdict::Kind::named},
              {"name", text_or_null(verdict.name)},
              {"method", known ? Json(spell(verdict.plan->method)) : Json(nullptr)},
              {"factor", known ? Json(table_factor(*verdict.plan)) : Json(nullptr)},
              {"factor_low", known ? Json(verdict.factor_low) : Json(nullptr)},
              {"factor_high", known ? Json(verdict.factor_high) : Json(nullptr)},
              {"attention_scale", known ? Json(verdict.plan->groups.front().attention_scale) : Json(nullptr)},
              {"scale_off", known ? Json(verdict.scale_off) : Json(nullptr)},
              {"scale_error", known ? Json(verdict.scale_error) : Json(nullptr)},
              {"cache_type", text_or_null(table.cache_type)},
              {"distance", verdict.distance},
              {"noise", verdict.noise},
              {"why", text_or_null(verdict.why)},
              {"tied", verdict.tied},
              {"rivals", std::move(rivals)},
              {"longest", table.longest},
              {"whole_prompts", table.said.whole_prompts}};
}

Json first_json(const std::optional<probe::FirstToken>& first) {
  return first ? Json{{"tokens", first->tokens}, {"seconds", first->seconds}} : Json(nullptr);
}

Json health_json(const probe::Health& health) {
  return Json{{"same_twice", or_null(health.same_twice)},       {"twice_differs", or_null(health.twice_differs)},
              {"same_cached", or_null(health.same_cached)},     {"cached_differs", or_null(health.cached_differs)},
              {"context_shift", or_null(health.context_shift)}, {"first_short", first_json(health.first_short)},
              {"first_long", first_json(health.first_long)}};
}

}  // namespace

int Probed::requests() const {
  return server.requests + (length ? length->requests : 0) + (table ? table->said.requests : 0) +
         (health ? health->requests : 0);
}

std::int64_t Probed::prompt_tokens() const {
  return (length ? length->prompt_tokens : 0) + (table ? table->said.prompt_tokens : 0) +
         (health ? health->prompt_tokens : 0);
}

void print_server(const Probed& probed) {
  const ServerInfo& server = probed.server;
  std::string line = server.software.empty() ? "unknown software" : server.software;
  if (!server.version.empty()) line += " " + server.version;
  print_line("server", line + (server.model.empty() ? ", names no model" : ", serves " + server.model));
}

void print_probed(const Probed& probed, const std::string& next) {
  print_line("length", probed.length ? length_line(*probed.length) : missing(probed.no_length));
  if (probed.table) print_table(*probed.table);
  else print_line("table", missing(probed.no_table));
  if (probed.health) print_health(*probed.health);
  else print_line("health", missing(probed.no_health));
  print_line("took", fmt::format("{} requests, {} prompt tokens, {:.1f} s", probed.requests(), probed.prompt_tokens(),
                                 probed.seconds));
  if (!probed.findings.empty()) print("\n");
  for (const Finding& f : probed.findings) print_finding(f);
  if (probed.expected) {
    const std::string& unmet = probed.expected->unmet;
    print("\n");
    print_line("expected", unmet.empty() ? "all of it is true" : "not met: " + unmet);
  }
  if (!next.empty()) print("\nnext      {}\n", next);
}

Json probed_json(const Probed& probed) {
  Json findings = Json::array();
  for (const Finding& f : probed.findings) {
    findings.push_back(
        Json{{"code", f.code}, {"severity", to_string(f.severity)}, {"message", f.message}, {"advice", f.advice}});
  }
  Json missing = Json::object();
  for (const auto& [part, why] : {std::pair{"length", &probed.no_length}, std::pair{"table", &probed.no_table},
                                  std::pair{"health", &probed.no_health}}) {
    if (!why->empty()) missing[part] = *why;
  }
  Json expected = nullptr;
  if (const auto& e = probed.expected) {
    expected = Json{{"table", text_or_null(e->table)},
                    {"length", or_null(e->length)},
                    {"met", e->unmet.empty()},
                    {"why", text_or_null(e->unmet)}};
  }
  return Json{{"schema", "mrrope.probe/1"},
              {"url", probed.url},
              {"server", server_json(probed.server)},
              {"length", probed.length ? length_json(*probed.length) : Json(nullptr)},
              {"table", probed.table ? table_json(*probed.table) : Json(nullptr)},
              {"health", probed.health ? health_json(*probed.health) : Json(nullptr)},
              {"missing", std::move(missing)},
              {"findings", std::move(findings)},
              {"expected", std::move(expected)},
              {"requests", probed.requests()},
              {"prompt_tokens", probed.prompt_tokens()},
              {"seconds", probed.seconds}};
}

}  // namespace mrrope::cli
