// SPDX-License-Identifier: MIT
//
// Plan files come from other people. Every field is removed, mistyped, overflowed, renamed and contradicted in turn, at
// every depth, and the file is cut at every byte: each must be refused, and by the name of the field.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/json_paths.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

using test::collect;
using test::Json;
using test::Pointer;

std::vector<Json> valid_plans() {
  return {
      Json::parse(to_json(*make_plan(test::llama31_spec(), 262144, test::method("mrrope-pro:low=20+cope:pairs=9")))),
      Json::parse(to_json(*make_plan(test::gemma3_spec(), 524288, test::method("yarn:truncate=false")))),
      Json::parse(to_json(*make_plan(test::spec("dim=4,base=1e4,ctx=4k"), 8192, LongRope{{1, 1}, {2, 3}})))};
}

// "/method/params/beta_fast" as the error spells it.
std::string path_of(const Pointer& pointer) {
  std::string path;
  const std::string text = pointer.to_string();
  std::size_t start = 1;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find('/', start), text.size());
    const std::string token = text.substr(start, end - start);
    const bool index = !token.empty() && token.find_first_not_of("0123456789") == std::string::npos;
    path += index ? "[" + token + "]" : (path.empty() ? "" : ".") + token;
    start = end + 1;
  }
  return path;
}

// Changes that may leave a plan valid: fields with a default, and text that is only for people.
const std::set<std::string>& optional_fields() {
  static const std::set<std::string> names = {
      "provenance",      "source",           "name",   "layers",         "group",    "extended", "modifiers",
      "beta_fast",       "beta_slow",        "mscale", "mscale_all_dim", "truncate", "low",      "high",
      "low_freq_factor", "high_freq_factor", "pairs",  "trained"};
  return names;
}

std::string leaf(const Pointer& pointer) { return pointer.empty() ? "" : pointer.back(); }

struct Count {
  int refused = 0;
  std::set<std::string> unnamed;
};

// Refused, and the error's place is the field, the object around it or a part of it. A number that is fine by itself
// but contradicts the tables is reported where the contradiction shows.
void expect_refused(const Json& plan, const Pointer& at, const char* what, Count& count) {
  const Result<Plan> result = plan_from_json(plan.dump());
  const std::string path = path_of(at);
  ASSERT_FALSE(result) << what << " of " << path << " was accepted";
  ++count.refused;
  const std::string& where = result.error().where;
  const std::string parent = path.substr(0, path.find_last_of(".["));
  if (result.error().code != ErrorCode::inconsistent && where.find(path) == std::string::npos &&
      where.find(parent) == std::string::npos && path.find(where) == std::string::npos) {
    count.unnamed.insert(std::string(what) + " of " + path + " -> " + to_string(result.error()));
  }
}

TEST(MalformedPlan, IsRefusedByTheNameOfTheField) {
  Count count;
  for (const Json& valid : valid_plans()) {
    ASSERT_TRUE(plan_from_json(valid.dump()));
    std::vector<Pointer> pointers;
    collect(valid, Pointer(), pointers);
    for (const Pointer& at : pointers) {
      const Json& original = valid.at(at);
      Json changed = valid;
      // Another type
      changed[at] = original.is_string() ? Json(17) : Json("x");
      expect_refused(changed, at, "type", count);
      changed[at] = nullptr;
      expect_refused(changed, at, "null", count);
      if (original.is_number()) {
        changed[at] = -1e300;
        expect_refused(changed, at, "huge", count);
        changed[at] = original.get<double>() * 1.001 + 1e-3;
        const bool free = at.to_string().find("/params/") != std::string::npos;  // then the tables no longer follow
        if (!free) expect_refused(changed, at, "shift", count);
      }
      if (original.is_array() && !original.empty() && leaf(at) != "layers") {
        changed[at] = original;
        changed[at].push_back(original.back());
        expect_refused(changed, at, "longer list", count);
        changed[at] = Json::array();
        expect_refused(changed, at, "empty list", count);
      }
      if (original.is_object()) {
        changed[at] = original;
        changed[at]["surprise"] = 1;
        expect_refused(changed, at / "surprise", "unknown field", count);
      }
      // Removed or renamed
      Json& parent = changed[at.parent_pointer()];
      changed[at] = original;
      if (parent.is_object()) {
        parent.erase(leaf(at));
        if (!optional_fields().contains(leaf(at))) expect_refused(changed, at, "removal", count);
        parent[leaf(at) + "_"] = original;
        expect_refused(changed, at, "renaming", count);
      }
    }
  }
  EXPECT_GE(count.refused, 200);
  EXPECT_TRUE(count.unnamed.empty()) << count.unnamed.size() << " errors do not name their field, first: "
                                     << (count.unnamed.empty() ? "" : *count.unnamed.begin());
  std::printf("%d malformed plans refused\n", count.refused);
}

TEST(MalformedPlan, CutAtAnyByteIsRefused) {
  const std::string text = to_json(*make_plan(test::spec("dim=8,base=1e4,ctx=4k"), 8192, MrRopePro{}));
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {  // the final newline may go
    const std::string prefix = text.substr(0, length);  // a fresh allocation: AddressSanitizer sees any overrun
    EXPECT_FALSE(plan_from_json(prefix)) << length;
  }
}

TEST(MalformedPlan, EveryByteFlippedNeverCrashes) {
  const std::string text = to_json(*make_plan(test::spec("dim=8,base=1e4,ctx=4k"), 8192, MrRopePro{}));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {0, 1, 4, 7}) {
      std::string flipped = text;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      const Result<Plan> plan = plan_from_json(flipped);
      if (plan) {
        EXPECT_TRUE(plan_from_json(to_json(*plan)));
      }
    }
  }
}

TEST(MalformedPlan, WithARepeatedFieldIsRefused) {
  std::string text = to_json(*make_plan(test::llama2_spec(), 8192, MrRopePro{}));
  text.replace(text.find("\"factor\""), 0, "\"factor\": 2.0,\n  ");
  EXPECT_EQ(plan_from_json(text).error().where, "factor");
}

}  // namespace
}  // namespace mrrope
