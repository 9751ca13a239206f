// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

std::vector<Plan> all_kinds_of_plans() {
  std::vector<Plan> plans;
  for (const MethodInfo& info : method_catalogue()) {
    if (info.needs_parameters) continue;
    const std::string name(info.name);
    for (const auto& [spec, target] : {std::pair{test::llama2_spec(), 30000}, std::pair{test::llama31_spec(), 262144},
                                       std::pair{test::gemma3_spec(), 524288}}) {
      plans.push_back(*make_plan(spec, target, test::method(name)));
    }
  }
  for (const char* text : {"abf:base=123456.789", "yarn:truncate=false:mscale=0.707:mscale_all_dim=1",
                           "mrrope-power:p=-1:low=5:high=50:attention_scale=1.1", "mrrope-pro+cope+resonance",
                           "mrrope-power:p=1.15:low=1:high=20:attention_scale=1.16:factor=6.5"}) {
    plans.push_back(*make_plan(test::llama2_spec(), 30000, test::method(text)));
  }
  const RopeSpec tiny = test::spec("dim=4,base=10000,ctx=4k,name=a \"quoted\" \xC3\xA9 name");
  plans.push_back(*make_plan(tiny, 30000, Custom{{1.1, kNoRotation}}));
  plans.push_back(*make_plan(tiny, 30000, LongRope{{1, 1}, {1.5, 2.25}}, 5000));
  return plans;
}

TEST(PlanJson, RoundTripsBitForBit) {
  for (Plan plan : all_kinds_of_plans()) {
    plan.source = "model.gguf";
    SCOPED_TRACE(spell(plan.method));
    const std::string text = to_json(plan);
    const Result<Plan> back = plan_from_json(text);
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(*back, plan);
    EXPECT_EQ(to_json(*back), text);
  }
}

TEST(PlanJson, HasTheFixedInterface) {
  const auto json = nlohmann::json::parse(to_json(*make_plan(test::llama2_spec(), 65536, MrRopePro{})));
  EXPECT_EQ(json["schema"], "mrrope.plan/1");
  EXPECT_EQ(json["spec"]["rotary_dim"], 128);
  EXPECT_EQ(json["spec"]["base"], 10000);
  EXPECT_EQ(json["spec"]["context_trained"], 4096);
  EXPECT_EQ(json["method"]["name"], "mrrope-pro");
  EXPECT_TRUE(json["method"]["params"].is_object());
  EXPECT_EQ(json["context_target"], 65536);
  EXPECT_EQ(json["factor"], 16);
  EXPECT_EQ(json["band"]["low"], 20);
  EXPECT_EQ(json["band"]["high"], 46);
  EXPECT_EQ(json["pair_factors"].size(), 64U);
  EXPECT_EQ(json["inv_freq"].size(), 64U);
  EXPECT_NEAR(json["attention_scale"], 1.27725887222397, 1e-14);
  EXPECT_EQ(json["radix"]["kind"], "progressive");
  EXPECT_EQ(json["radix"]["lambda"].size(), 63U);
}

// The member is there only where the table's S is not L'/L; files written before it existed read as before.
TEST(PlanJson, AFactorOfTheMethodIsAParameterOfIt) {
  auto json = nlohmann::ordered_json::parse(to_json(*make_plan(test::llama2_spec(), 65536, MrRopePro{})));
  EXPECT_FALSE(json["method"]["params"].contains("factor"));
  json["method"]["params"]["factor"] = 14.07;
  EXPECT_EQ(plan_from_json(json.dump()).error().where, "attention_scale");  // the tables are those of S = 16
  json = nlohmann::ordered_json::parse(
      to_json(*make_plan(test::llama2_spec(), 65536, test::method("mrrope-pro:factor=14.07"))));
  EXPECT_EQ(json["method"]["params"]["factor"], 14.07);
  EXPECT_EQ(json["factor"], 16);
  EXPECT_EQ(json["pair_factors"].back(), 14.07);
  json["method"]["params"]["factor"] = 0.5;
  EXPECT_EQ(plan_from_json(json.dump()).error().where, "method.params.factor");
}

// Another machine's math library may round the last digit differently; its plan must still be read, and kept as it is.
TEST(PlanJson, KeepsTheFilesOwnDigits) {
  auto json = nlohmann::ordered_json::parse(to_json(*make_plan(test::llama2_spec(), 65536, MrRopePro{})));
  const double shifted = std::nextafter(json["pair_factors"][30].get<double>(), 100.0);
  json["pair_factors"][30] = shifted;
  const Result<Plan> plan = plan_from_json(json.dump());
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_EQ(plan->groups[0].pair_factors[30], shifted);
}

TEST(PlanJson, RefusesATableThatIsNotTheMethods) {
  auto json = nlohmann::ordered_json::parse(to_json(*make_plan(test::llama2_spec(), 65536, MrRopePro{})));
  json["pair_factors"][30] = 3.0;
  const Result<Plan> plan = plan_from_json(json.dump());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().where, "pair_factors[30]");
  EXPECT_EQ(plan.error().code, ErrorCode::inconsistent);
  EXPECT_NE(plan.error().message.find("custom"), std::string::npos);
}

TEST(PlanJson, RefusesAnotherSchemaVersion) {
  auto json = nlohmann::ordered_json::parse(to_json(*make_plan(test::llama2_spec(), 65536, MrRopePro{})));
  json["schema"] = "mrrope.plan/2";
  EXPECT_EQ(plan_from_json(json.dump()).error().code, ErrorCode::unsupported);
}

// A plan may come from a stranger's file (mrrope.plan of a GGUF), and its names go to a terminal.
TEST(PlanJson, NamesOfStrangersCanBeShown) {
  Plan plan = *make_plan(test::gemma3_spec(), 524288, MrRopePro{});
  plan.spec.name = plan.source = plan.spec.groups[1].name = "\x1b[31mevil\n";
  const Result<Plan> back = plan_from_json(to_json(plan));
  ASSERT_TRUE(back) << to_string(back.error());
  for (const std::string& name : {back->spec.name, back->source, back->spec.groups[1].name}) {
    EXPECT_EQ(name, "?[31mevil?");
  }
}

}  // namespace
}  // namespace mrrope
