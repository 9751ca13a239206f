// SPDX-License-Identifier: MIT
//
// Ladder files, schema mrrope.ladder/1: plan files in a list; docs/ladder.md.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "mrrope/ladder.h"
#include "mrrope/units.h"
#include "plan/json_parts.h"

namespace mrrope {

namespace {

using base::Json;
using base::ObjectReader;
using base::Rejected;

Ladder read_ladder(const Json& json) {
  ObjectReader reader(json, "");
  const std::string schema = reader.text("schema");
  if (schema != kLadderSchema) {
    reader.reject("schema", ErrorCode::unsupported,
                  fmt::format("expected \"{}\", found \"{}\"", kLadderSchema, base::printable(schema)));
  }
  Ladder ladder;
  ladder.source = base::printable(reader.text("source"), std::string::npos);
  ladder.reserve = reader.integer("reserve", 0, kMaxContext);
  const Json& rungs = reader.array("rungs");
  if (rungs.empty() || rungs.size() > kMaxRungs) {
    reader.reject("rungs", ErrorCode::invalid_argument,
                  fmt::format("expected 1 to {} rungs, found {}", kMaxRungs, rungs.size()));
  }
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    ObjectReader rung(rungs[i], fmt::format("rungs[{}]", i));
    Rung& added = ladder.rungs.emplace_back();
    added.name = rung.text("name");
    added.length = rung.integer("length", 1, kMaxContext);
    added.why = base::printable(rung.text("why"), std::string::npos);
    added.plan = plan::plan_from_json(rung.object("plan"));
    rung.finish();
  }
  reader.finish();
  if (const auto ok = check_ladder(ladder); !ok) throw Rejected{ok.error()};
  return ladder;
}

}  // namespace

std::string to_json(const Ladder& ladder) {
  Json json;
  json["schema"] = std::string(kLadderSchema);
  json["source"] = ladder.source;
  json["reserve"] = ladder.reserve;
  json["rungs"] = Json::array();
  for (const Rung& rung : ladder.rungs) {
    Json added;
    added["name"] = rung.name;
    added["length"] = rung.length;
    added["why"] = rung.why;
    added["plan"] = plan::plan_to_json(rung.plan);
    json["rungs"].push_back(std::move(added));
  }
  return base::write_json(json);
}

Result<Ladder> ladder_from_json(std::string_view text) {
  const Result<Json> json = base::parse_json(text);
  if (!json) return json.error();
  try {
    return read_ladder(*json);
  } catch (Rejected& rejected) {
    return std::move(rejected.error);
  }
}

}  // namespace mrrope
