// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/json_paths.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

using Lengths = std::vector<std::int64_t>;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Ladder small_ladder() { return *make_ladder(test::llama2_spec(), {4096, 8192, 16384}); }

std::string name_for(const Ladder& ladder, std::int64_t prompt, std::optional<std::int64_t> answer = std::nullopt) {
  const Rung* rung = rung_for(ladder, prompt, answer);
  return rung == nullptr ? "none" : rung->name;
}

TEST(Ladder, ItsFirstRungIsTheModelAsItIs) {
  const Ladder ladder = small_ladder();
  ASSERT_EQ(ladder.rungs.size(), 3U);
  EXPECT_EQ(ladder.rungs[0].plan, *make_plan(test::llama2_spec(), 4096, None{}));
  EXPECT_EQ(ladder.rungs[1].plan, *recommend(test::llama2_spec(), 8192));
  EXPECT_EQ(ladder.rungs[2].name, "16k");
  EXPECT_EQ(ladder.rungs[2].length, 16384);
}

TEST(Ladder, TakesAMethodForWhatIsExtended) {
  const Ladder ladder = *make_ladder(test::llama2_spec(), {2048, 4096, 8192}, Method{Yarn{}});
  EXPECT_EQ(ladder.rungs[0].plan.method, Method{None{}});
  EXPECT_EQ(ladder.rungs[1].plan.method, Method{None{}});
  EXPECT_EQ(ladder.rungs[2].plan.method, Method{Yarn{}});
}

TEST(Ladder, SaysWhatEachRungCostsInsideTheTrainedLength) {
  const Ladder ladder = small_ladder();
  EXPECT_NE(ladder.rungs[0].why.find("The model as it is"), std::string::npos) << ladder.rungs[0].why;
  const Exposure middle = exposure(ladder.rungs[1].plan);
  const Exposure last = exposure(ladder.rungs[2].plan);
  ASSERT_GT(last.short_drift_turns, middle.short_drift_turns);
  const auto digits = [](double turns) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", turns);
    return std::string(text.data());
  };
  const std::string here = digits(middle.short_drift_turns);
  const std::string there = digits(last.short_drift_turns);
  EXPECT_NE(ladder.rungs[1].why.find("4097 to 8192"), std::string::npos) << ladder.rungs[1].why;
  EXPECT_NE(ladder.rungs[1].why.find(here + " turns from training"), std::string::npos) << ladder.rungs[1].why;
  EXPECT_NE(ladder.rungs[1].why.find("with 16384 it would be " + there), std::string::npos) << ladder.rungs[1].why;
  EXPECT_EQ(ladder.rungs[2].why.find("would be"), std::string::npos) << ladder.rungs[2].why;
}

TEST(Ladder, TheReserveIsAnEighthOfTheFirstRungAtMost1024) {
  EXPECT_EQ(make_ladder(test::spec("dim=64,base=1e4,ctx=512"), {512, 1024})->reserve, 64);
  EXPECT_EQ(small_ladder().reserve, 512);
  EXPECT_EQ(make_ladder(test::llama31_spec(), {131072})->reserve, 1024);
  EXPECT_EQ(make_ladder(test::llama2_spec(), {4096}, std::nullopt, 0)->reserve, 0);
}

// ---- rung_for ------------------------------------------------------------------------------------------------------

TEST(RungFor, PromptAndAnswerThatFillARungExactlyFitIt) {
  const Ladder ladder = small_ladder();
  EXPECT_EQ(name_for(ladder, 0, 0), "4k");
  EXPECT_EQ(name_for(ladder, 4000, 96), "4k");
  EXPECT_EQ(name_for(ladder, 4000, 97), "8k");
  EXPECT_EQ(name_for(ladder, 4096, 0), "4k");
  EXPECT_EQ(name_for(ladder, 4097, 0), "8k");
  EXPECT_EQ(name_for(ladder, 8192, 8192), "16k");
}

TEST(RungFor, AnAnswerOfUnknownLengthGetsTheReserve) {
  const Ladder ladder = small_ladder();
  EXPECT_EQ(name_for(ladder, 4096 - 512), "4k");
  EXPECT_EQ(name_for(ladder, 4096 - 511), "8k");
  EXPECT_EQ(name_for(ladder, 8192 - 512), "8k");
  EXPECT_EQ(name_for(ladder, 8192 - 511), "16k");
  // There is nothing above the last: its answer gets what the prompt leaves
  EXPECT_EQ(name_for(ladder, 16383), "16k");
  EXPECT_EQ(name_for(ladder, 16384), "none");
}

TEST(RungFor, BeyondTheLastRungIsNone) {
  const Ladder ladder = small_ladder();
  EXPECT_EQ(name_for(ladder, 16384, 0), "16k");
  EXPECT_EQ(name_for(ladder, 16384, 1), "none");
  EXPECT_EQ(name_for(ladder, 16385, 0), "none");
}

TEST(RungFor, SumsDoNotOverflow) {
  const Ladder ladder = small_ladder();
  EXPECT_EQ(name_for(ladder, kMost, kMost), "none");
  EXPECT_EQ(name_for(ladder, 1, kMost), "none");
  EXPECT_EQ(name_for(ladder, kMost), "none");
}

// ---- What is no ladder ---------------------------------------------------------------------------------------------

Error refused(const Lengths& lengths, std::optional<std::int64_t> reserve = std::nullopt) {
  const Result<Ladder> ladder = make_ladder(test::llama2_spec(), lengths, std::nullopt, reserve);
  return ladder ? Error{} : ladder.error();
}

TEST(Ladder, RefusesNoRungsAndTooMany) {
  EXPECT_EQ(refused({}).where, "rungs");
  Lengths many;
  for (std::size_t i = 0; i <= kMaxRungs; ++i) many.push_back(4096 + static_cast<std::int64_t>(i));
  EXPECT_EQ(refused(many).where, "rungs");
  many.pop_back();
  EXPECT_TRUE(make_ladder(test::llama2_spec(), many));
}

TEST(Ladder, RefusesLengthsThatDoNotAscend) {
  EXPECT_EQ(refused({8192, 4096}).where, "rungs[1].length");
  EXPECT_NE(refused({8192, 4096}).message.find("4096 after 8192"), std::string::npos);
  EXPECT_EQ(refused({4096, 4096}).where, "rungs[1].name");
  EXPECT_EQ(refused({0}).where, "context_target");
  EXPECT_EQ(refused({4096, kMost}).where, "context_target");
}

TEST(Ladder, RefusesAReserveThatLeavesNoPrompt) {
  EXPECT_EQ(refused({4096}, 4096).where, "reserve");
  EXPECT_EQ(refused({4096}, -1).where, "reserve");
  EXPECT_TRUE(make_ladder(test::llama2_spec(), {4096}, std::nullopt, 4095));
}

TEST(Ladder, RefusesPlansOfDifferentModels) {
  const Plan first = *recommend(test::llama2_spec(), 4096);
  for (const char* other : {"dim=128,base=10000,ctx=2048", "dim=64,base=10000,ctx=4096", "dim=128,base=5e5,ctx=4096",
                            "dim=128,base=10000,ctx=4096,scaling=linear,scaling_factor=2,scaling_ctx=2048"}) {
    const Result<Ladder> ladder = ladder_of_plans({first, *recommend(test::spec(other), 16384)});
    ASSERT_FALSE(ladder) << other;
    EXPECT_EQ(ladder.error().where, "rungs[1].plan") << other;
    EXPECT_NE(ladder.error().message.find("another model"), std::string::npos);
  }
  // A name is for people
  EXPECT_TRUE(ladder_of_plans({first, *recommend(test::spec("dim=128,base=10000,ctx=4096,name=b"), 16384)}));
}

TEST(Ladder, RefusesNamesThatNoFileCouldHave) {
  for (const char* name : {"", ".", "../8k", "8 k", "8k\n", "-8k", "8k$(x)", "8k'", "a/b", "\xC3\xA9",
                           "123456789012345678901234567890123"}) {
    Ladder ladder = small_ladder();
    ladder.rungs[1].name = name;
    const auto checked = check_ladder(ladder);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().where, "rungs[1].name");
  }
  Ladder ladder = small_ladder();
  ladder.rungs[1].name = "4K";  // the same file as 4k on some systems
  EXPECT_EQ(check_ladder(ladder).error().where, "rungs[1].name");
  ladder.rungs[1].name = "Up_to-8.k";
  EXPECT_TRUE(check_ladder(ladder));
}

// ---- choose_rungs --------------------------------------------------------------------------------------------------

TEST(ChooseRungs, DoublesTheTrainedLength) {
  const RopeSpec smollm = test::spec("dim=64,base=100000,ctx=8k");
  EXPECT_EQ(*choose_rungs(smollm, 32768), (Lengths{8192, 16384, 32768}));
  EXPECT_EQ(*choose_rungs(smollm, 16384), (Lengths{8192, 16384}));
  EXPECT_EQ(*choose_rungs(test::spec("dim=64,base=1e4,ctx=512"), 4096), (Lengths{512, 1024, 2048, 4096}));
}

TEST(ChooseRungs, LeavesOutARungThatIsNearTheTarget) {
  EXPECT_EQ(*choose_rungs(test::llama2_spec(), 12288), (Lengths{4096, 8192, 12288}));
  EXPECT_EQ(*choose_rungs(test::llama2_spec(), 12287), (Lengths{4096, 12287}));
  EXPECT_EQ(*choose_rungs(test::llama2_spec(), 4097), (Lengths{4096, 4097}));
}

TEST(ChooseRungs, OneIsEnoughWhereTheTrainedTableReaches) {
  EXPECT_EQ(*choose_rungs(test::llama2_spec(), 4096), (Lengths{4096}));
  EXPECT_EQ(*choose_rungs(test::llama2_spec(), 2048), (Lengths{2048}));
  EXPECT_EQ(*choose_rungs(test::llama2_spec(), 65536, Method{None{}}), (Lengths{65536}));
}

TEST(ChooseRungs, KeepsTheTrainedLengthAndTheTargetOfMany) {
  for (const std::size_t most : {2U, 3U, 4U, 5U}) {
    const Lengths lengths = *choose_rungs(test::llama2_spec(), 1 << 20, std::nullopt, most);
    ASSERT_EQ(lengths.size(), most);
    EXPECT_EQ(lengths.front(), 4096);
    EXPECT_EQ(lengths.back(), 1 << 20);
    EXPECT_TRUE(std::is_sorted(lengths.begin(), lengths.end()));
  }
  EXPECT_EQ(*choose_rungs(test::llama2_spec(), 1 << 20, std::nullopt, 1), (Lengths{1 << 20}));
}

TEST(ChooseRungs, RefusesWhatNoPlanCanBe) {
  EXPECT_EQ(choose_rungs(test::llama2_spec(), 0).error().where, "context_target");
  EXPECT_EQ(choose_rungs(test::llama2_spec(), kMost).error().where, "context_target");
  EXPECT_EQ(choose_rungs(test::llama2_spec(), 8192, std::nullopt, 0).error().where, "most");
  EXPECT_EQ(choose_rungs(test::llama2_spec(), 8192, std::nullopt, kMaxRungs + 1).error().where, "most");
}

// Every subset is tried: what the recursion finds may not be beaten.
TEST(CheapestRungs, NoOtherChoiceCostsLess) {
  const std::vector<RungCandidate> candidates = {{1024, 0},   {2048, 3},   {4096, 2.5}, {8192, 9},
                                                 {16384, 30}, {32768, 31}, {65536, 100}};
  const auto paid = [&](const std::vector<std::size_t>& chosen) {
    double sum = 0;
    for (std::size_t i = 1; i < chosen.size(); ++i) {
      sum += candidates[chosen[i]].cost * (1.0 / static_cast<double>(candidates[chosen[i - 1]].length) -
                                           1.0 / static_cast<double>(candidates[chosen[i]].length));
    }
    return sum;
  };
  for (std::size_t most = 2; most <= candidates.size(); ++most) {
    const Lengths lengths = cheapest_rungs(candidates, most);
    ASSERT_LE(lengths.size(), most);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (std::find(lengths.begin(), lengths.end(), candidates[i].length) != lengths.end()) found.push_back(i);
    }
    ASSERT_EQ(found.size(), lengths.size());
    for (unsigned between = 0; between < 32; ++between) {
      std::vector<std::size_t> other = {0};
      for (std::size_t i = 0; i < 5; ++i) {
        if ((between >> i & 1U) != 0) other.push_back(i + 1);
      }
      other.push_back(6);
      if (other.size() > most) continue;
      EXPECT_LE(paid(found), paid(other) + 1e-12) << most;
    }
  }
  // 2048 costs more than the longer 4096: no prompt is better off on it
  const Lengths all = cheapest_rungs(candidates, 16);
  EXPECT_EQ(std::find(all.begin(), all.end(), 2048), all.end());
}

// ---- Files ---------------------------------------------------------------------------------------------------------

TEST(LadderJson, RoundTripsByteForByte) {
  for (const auto& [spec, target] : {std::pair{test::llama2_spec(), 65536}, std::pair{test::llama31_spec(), 524288},
                                     std::pair{test::gemma3_spec(), 524288}}) {
    Ladder ladder = *make_ladder(spec, *choose_rungs(spec, target));
    ladder.source = "a \"quoted\" \xC3\xA9 name.gguf";
    const std::string text = to_json(ladder);
    const Result<Ladder> back = ladder_from_json(text);
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(*back, ladder);
    EXPECT_EQ(to_json(*back), text);
  }
}

TEST(LadderJson, HasTheFixedInterface) {
  const auto json = nlohmann::json::parse(to_json(small_ladder()));
  EXPECT_EQ(json["schema"], "mrrope.ladder/1");
  EXPECT_EQ(json["source"], "");
  EXPECT_EQ(json["reserve"], 512);
  ASSERT_EQ(json["rungs"].size(), 3U);
  EXPECT_EQ(json["rungs"][1]["name"], "8k");
  EXPECT_EQ(json["rungs"][1]["length"], 8192);
  EXPECT_TRUE(json["rungs"][1]["why"].is_string());
  EXPECT_EQ(json["rungs"][1]["plan"]["schema"], "mrrope.plan/1");
  // Each plan is a plan file
  EXPECT_EQ(*plan_from_json(json["rungs"][1]["plan"].dump()), small_ladder().rungs[1].plan);
}

// Every field, but for those of plans, which tests/plan/malformed_plan_test.cpp has: missing, of another type, unknown.
TEST(LadderJson, RefusesAMalformedFieldByItsName) {
  const test::Json valid = test::Json::parse(to_json(small_ladder()));
  std::vector<test::Pointer> pointers;
  test::collect(valid, test::Pointer(), pointers);
  int refused_ones = 0;
  for (const test::Pointer& at : pointers) {
    if (at.to_string().find("/plan/") != std::string::npos) continue;
    const auto expect_refused = [&](const test::Json& changed, const char* what) {
      const Result<Ladder> read = ladder_from_json(changed.dump());
      ASSERT_FALSE(read) << what << " of " << at.to_string();
      const std::string& key = at.back();
      EXPECT_TRUE(read.error().where.find(key) != std::string::npos || read.error().where.find("rungs[") == 0)
          << what << " of " << at.to_string() << " -> " << to_string(read.error());
      ++refused_ones;
    };
    test::Json changed = valid;
    changed[at] = valid.at(at).is_string() ? test::Json(17) : test::Json("x");
    expect_refused(changed, "type");
    changed[at] = nullptr;
    expect_refused(changed, "null");
    if (valid.at(at).is_number()) {
      for (const double number : {-1.0, 0.5, 1e300}) {
        changed[at] = number;
        expect_refused(changed, "number");
      }
    }
    changed = valid;
    if (changed[at.parent_pointer()].is_object()) {
      changed[at.parent_pointer()].erase(at.back());
      expect_refused(changed, "removal");
      changed[at.parent_pointer()][at.back() + "_"] = valid.at(at);
      expect_refused(changed, "renaming");
    }
    if (valid.at(at).is_object()) {
      changed = valid;
      changed[at]["surprise"] = 1;
      expect_refused(changed, "unknown field");
    }
  }
  EXPECT_GT(refused_ones, 50);
}

TEST(LadderJson, PlacesAnErrorOfAPlan) {
  test::Json json = test::Json::parse(to_json(small_ladder()));
  json["rungs"][1]["plan"]["pair_factors"][30] = 77;
  EXPECT_EQ(ladder_from_json(json.dump()).error().where, "rungs[1].plan.pair_factors[30]");
  json = test::Json::parse(to_json(small_ladder()));
  json["rungs"][2]["plan"]["spec"]["base"] = -1;
  EXPECT_EQ(ladder_from_json(json.dump()).error().where, "rungs[2].plan.spec.base");
  json = test::Json::parse(to_json(small_ladder()));
  json["rungs"][0]["plan"]["surprise"] = -1;
  EXPECT_EQ(ladder_from_json(json.dump()).error().where, "rungs[0].plan.surprise");
}

TEST(LadderJson, RefusesRungsThatContradictEachOther) {
  const test::Json valid = test::Json::parse(to_json(small_ladder()));
  test::Json json = valid;
  std::swap(json["rungs"][0], json["rungs"][1]);
  EXPECT_EQ(ladder_from_json(json.dump()).error().where, "rungs[1].length");
  json = valid;
  json["rungs"][1]["length"] = 8193;  // more than its plan reaches
  EXPECT_EQ(ladder_from_json(json.dump()).error().where, "rungs[1].length");
  json = valid;
  json["rungs"][1]["length"] = 8000;  // less is fine
  EXPECT_TRUE(ladder_from_json(json.dump()));
  json = valid;
  json["rungs"] = test::Json::array();
  EXPECT_EQ(ladder_from_json(json.dump()).error().where, "rungs");
  json = valid;
  json["reserve"] = 4096;
  EXPECT_EQ(ladder_from_json(json.dump()).error().where, "reserve");
  json = valid;
  json["schema"] = "mrrope.ladder/2";
  EXPECT_EQ(ladder_from_json(json.dump()).error().code, ErrorCode::unsupported);
}

TEST(LadderJson, RefusesEveryPrefixOfAFile) {
  const std::string text = to_json(*make_ladder(test::spec("dim=4,base=1e4,ctx=4k"), {4096, 8192}));
  for (std::size_t n = 0; n + 2 < text.size(); ++n) EXPECT_FALSE(ladder_from_json(text.substr(0, n))) << n;
}

TEST(LadderJson, TextsOfStrangersCanBeShown) {
  Ladder ladder = small_ladder();
  ladder.source = ladder.rungs[1].why = "\x1b[31mevil\n";
  const Result<Ladder> back = ladder_from_json(to_json(ladder));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->source, "?[31mevil?");
  EXPECT_EQ(back->rungs[1].why, "?[31mevil?");
}

}  // namespace
}  // namespace mrrope
