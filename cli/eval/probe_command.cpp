// SPDX-License-Identifier: MIT
#include "cli/eval/probe_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "cli/eval/benchmark.h"
#include "cli/input.h"
#include "mrrope/catalogue.h"
#include "mrrope/choose.h"
#include "mrrope/provenance.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

// What is asked for: --only; else what has to be true; else everything that can be.
Result<Parts> parts_of(const ProbeCommand& command) {
  if (command.only.empty()) {
    if (!command.expect.empty() || !command.length.empty()) {
      return Parts{.length = !command.length.empty(), .table = !command.expect.empty(), .health = false};
    }
    return Parts{.length = true, .table = !command.eval.model.empty(), .health = true};
  }
  Parts parts;
  for (const std::string_view part : base::split(command.only, ',')) {
    if (part == "length") parts.length = true;
    else if (part == "table") parts.table = true;
    else if (part == "health") parts.health = true;
    else return usage(fmt::format("expected length, table and health, found \"{}\"", base::printable(part)), "--only");
  }
  return parts;
}

// A length that was typed; 0 if none was.
Result<std::int64_t> tokens_of(const std::string& text, const char* flag) {
  if (text.empty()) return std::int64_t{0};
  Result<std::int64_t> tokens = parse_context(text);
  if (!tokens) return usage(to_string(tokens.error()), flag);
  return tokens;
}

bool is_of(const Plan& plan, const RopeSpec& spec) {
  return std::equal(plan.spec.groups.begin(), plan.spec.groups.end(), spec.groups.begin(), spec.groups.end(),
                    [](const LayerGroup& a, const LayerGroup& b) {
                      return a.rotary_dim == b.rotary_dim && std::abs(a.base / b.base - 1) <= kSameModel;
                    });
}

// Two plans of one name would be one in the verdict.
void add_candidate(Candidates& candidates, Plan plan, const std::string& file) {
  std::string name = probe::name_of(plan);
  const auto taken = [&](const probe::Suspect& one) { return one.name == name; };
  if (std::any_of(candidates.also.begin(), candidates.also.end(), taken)) {
    name += fmt::format(" ({})", base::to_text(base::to_path(file).filename()));
  }
  candidates.also.push_back({std::move(name), std::move(plan)});
}

}  // namespace

Result<Wanted> wanted_of(const ProbeCommand& command) {
  Wanted out;
  const Result<Parts> parts = parts_of(command);
  if (!parts) return parts.error();
  out.parts = *parts;
  if (out.parts.table && command.eval.model.empty()) {
    return usage("the table is named by running the model that is served here: expected its .gguf", "-m");
  }
  if (!command.expect.empty() && !out.parts.table) return usage("the table has to be asked for, too", "--only");
  if (!command.length.empty() && !out.parts.length) return usage("the length has to be asked for, too", "--only");
  for (const auto& [text, flag, value] : {std::tuple{&command.length, "--length", &out.length},
                                          std::tuple{&command.max_tokens, "--max-tokens", &out.max_tokens},
                                          std::tuple{&command.table_tokens, "--table-tokens", &out.table_tokens}}) {
    const Result<std::int64_t> tokens = tokens_of(*text, flag);
    if (!tokens) return tokens.error();
    if (*tokens > 0) *value = *tokens;
  }
  if (out.table_tokens < kLeastTableTokens || out.table_tokens > kMostTableTokens) {
    return usage(fmt::format("expected {} to {} tokens", kLeastTableTokens, kMostTableTokens), "--table-tokens");
  }
  if (out.max_tokens == 0) out.max_tokens = out.length;
  if (out.max_tokens < out.length) return usage("less than --length cannot show that length", "--max-tokens");
  return out;
}

Result<Candidates> candidates_of_files(const ProbeCommand& command) {
  const Result<ModelFile> file = open_model(command.eval.model, command.eval.trained);
  if (!file) return file.error();
  if (file->gguf() == nullptr) return usage("the weights are run by llama.cpp: expected a .gguf", "-m");
  Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) return Error{spec.error().code, to_string(spec.error()), command.eval.model};
  Candidates out{.spec = *std::move(spec), .path = file->path};
  const Result<Plan> farther = recommend(*file, 2 * out.spec.context_trained);
  const bool needs_table = !farther || !std::holds_alternative<None>(farther->method.law);
  out.reach = needs_table ? out.spec.context_trained : kMaxContext;
  if (!command.expect.empty()) {
    Result<Plan> plan = plan_of_file(command.expect);
    if (!plan) return plan.error();
    add_candidate(out, *std::move(plan), command.expect);
    out.expected = out.also.front();
    out.expected_by = base::to_text(base::to_path(command.expect).filename());
  }
  if (std::optional<Plan> plan = stored_plan(*file)) {
    add_candidate(out, *std::move(plan), command.eval.model);
    if (!out.expected) {
      out.expected = out.also.back();
      out.expected_by = base::to_text(base::to_path(command.eval.model).filename());
    }
  }
  for (const std::string& path : command.plans) {
    Result<Plan> plan = plan_of_file(path);
    if (!plan) return plan.error();
    add_candidate(out, *std::move(plan), path);
  }
  for (const probe::Suspect& one : out.also) {
    if (is_of(one.plan, out.spec)) continue;
    return Error{ErrorCode::inconsistent, fmt::format("the plan {} is of another model", one.name), command.eval.model};
  }
  return out;
}

}  // namespace mrrope::cli
