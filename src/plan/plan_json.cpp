// SPDX-License-Identifier: MIT
//
// Plan files, schema mrrope.plan/1. The tables of the first group stand at the top level, those of further groups in
// "other_groups"; docs/plan-file.md.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "mrrope/plan.h"
#include "mrrope/units.h"
#include "mrrope/version.h"
#include "plan/json_parts.h"

namespace mrrope {

namespace {

using base::Json;
using base::ObjectReader;
using base::Rejected;

// Two correct implementations differ by a few ulp; a float32 table or a typing error by more.
constexpr double kTolerance = 1e-9;

// Pair numbers are whole for all but one option of one method; they should look it.
Json edge(double pair) { return pair == std::floor(pair) ? Json(static_cast<std::int64_t>(pair)) : Json(pair); }

void write_tables(const GroupPlan& group, Json& json) {
  json["band"] = Json{{"low", edge(group.band.low)}, {"high", edge(group.band.high)}};
  json["attention_scale"] = group.attention_scale;
  json["radix"] = Json{{"kind", to_string(group.radix.kind)}, {"lambda", group.lambda}};
  if (!group.trained_factors.empty()) json["trained_factors"] = group.trained_factors;
  json["pair_factors"] = group.pair_factors;
  json["inv_freq"] = group.inv_freq;
}

bool near(double found, double expected) {
  return found == expected || std::fabs(found - expected) <= kTolerance * std::fabs(expected);
}

// Takes a number from the file if it is what the method gives; says which it should be if not.
void take(ObjectReader& reader, std::string_view key, double& value) {
  const double found = reader.number(key);
  if (!near(found, value)) {
    reader.reject(key, ErrorCode::inconsistent,
                  fmt::format("{} does not follow from spec, method and target, which give {}", format_number(found),
                              format_number(value)));
  }
  value = found;
}

void take(ObjectReader& reader, std::string_view key, std::vector<double>& values) {
  std::vector<double> found = reader.numbers(key);
  if (found.size() != values.size()) {
    reader.reject(key, ErrorCode::inconsistent,
                  fmt::format("expected {} numbers, found {}", values.size(), found.size()));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (near(found[i], values[i])) continue;
    reader.reject(fmt::format("{}[{}]", key, i), ErrorCode::inconsistent,
                  fmt::format("{} does not follow from spec, method and target, which give {}; a table of your own "
                              "belongs in method \"custom\"",
                              format_number(found[i]), format_number(values[i])));
  }
  values = std::move(found);
}

void take_tables(ObjectReader& reader, GroupPlan& group) {
  ObjectReader band = reader.object("band");
  take(band, "low", group.band.low);
  take(band, "high", group.band.high);
  band.finish();
  take(reader, "attention_scale", group.attention_scale);
  ObjectReader radix = reader.object("radix");
  const std::string kind = radix.text("kind");
  if (kind != to_string(group.radix.kind)) {
    radix.reject(
        "kind", ErrorCode::inconsistent,
        fmt::format("\"{}\" does not follow from the method, which is \"{}\"", kind, to_string(group.radix.kind)));
  }
  take(radix, "lambda", group.lambda);
  radix.finish();
  if (!group.trained_factors.empty()) take(reader, "trained_factors", group.trained_factors);
  take(reader, "pair_factors", group.pair_factors);
  take(reader, "inv_freq", group.inv_freq);
}

// "spec.groups[0].base" of the value type as the file spells it: the first group's fields stand in the spec itself.
std::string file_path(std::string where) {
  for (std::size_t g = 0; g < kMaxGroups; ++g) {
    const std::string prefix = fmt::format("spec.groups[{}].", g);
    if (where.starts_with(prefix)) {
      where.replace(0, prefix.size(), g == 0 ? "spec." : fmt::format("spec.other_groups[{}].", g - 1));
    }
  }
  return where;
}

}  // namespace

Plan plan::plan_from_json(ObjectReader reader) {
  const std::string schema = reader.text("schema");
  if (schema != kPlanSchema) {
    reader.reject("schema", ErrorCode::unsupported, fmt::format("expected \"{}\", found \"{}\"", kPlanSchema, schema));
  }
  std::string source;
  if (reader.has("provenance")) {
    ObjectReader provenance = reader.object("provenance");
    (void)provenance.text("tool");
    if (provenance.has("source")) source = base::printable(provenance.text("source"), std::string::npos);
    provenance.finish();
  }

  // What was decided, and the plan that follows from it
  RopeSpec spec = plan::spec_from_json(reader.object("spec"));
  const Method method = plan::method_from_json(reader.object("method"));
  const std::int64_t target = reader.integer("context_target", 1, kMaxContext);
  std::optional<std::int64_t> length;
  if (depends_on_length(method)) length = reader.integer("length", 1, kMaxContext);
  Result<Plan> made = make_plan(spec, target, method, length);
  if (!made) {
    reader.reject(file_path(made.error().where), made.error().code, made.error().message);
  }

  // The file's own numbers, which must agree
  Plan plan = *std::move(made);
  plan.source = std::move(source);
  take(reader, "factor", plan.factor);
  take_tables(reader, plan.groups[0]);
  if (plan.groups.size() > 1) {
    const Json& others = reader.array("other_groups");
    if (others.size() + 1 != plan.groups.size()) {
      reader.reject("other_groups", ErrorCode::inconsistent,
                    fmt::format("expected {} as in spec, found {}", plan.groups.size() - 1, others.size()));
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      ObjectReader other(others[i], reader.path(fmt::format("other_groups[{}]", i)));
      take_tables(other, plan.groups[i + 1]);
      other.finish();
    }
  }
  reader.finish();
  return plan;
}

Json plan::plan_to_json(const Plan& plan) {
  Json json;
  json["schema"] = std::string(kPlanSchema);
  json["provenance"]["tool"] = "mrrope " MRROPE_VERSION;
  if (!plan.source.empty()) json["provenance"]["source"] = plan.source;
  json["spec"] = plan::spec_to_json(plan.spec);
  json["method"] = plan::method_to_json(plan.method);
  json["context_target"] = plan.context_target;
  if (plan.length) json["length"] = *plan.length;
  json["factor"] = plan.factor;
  write_tables(plan.groups[0], json);
  for (std::size_t g = 1; g < plan.groups.size(); ++g) {
    Json other;
    write_tables(plan.groups[g], other);
    json["other_groups"].push_back(std::move(other));
  }
  return json;
}

std::string to_json(const Plan& plan) { return base::write_json(plan::plan_to_json(plan)); }

Result<Plan> plan_from_json(std::string_view text) {
  const Result<Json> json = base::parse_json(text);
  if (!json) return json.error();
  try {
    return plan::plan_from_json(ObjectReader(*json, ""));
  } catch (Rejected& rejected) {
    return std::move(rejected.error);
  }
}

}  // namespace mrrope
