// SPDX-License-Identifier: MIT
//
// With a plan: the layers it extends rotate by its table, the others as before; and a plan that cannot be used is never
// passed over in silence.
#include <cmath>

#include "mrrope/rotary.h"
#include "tests/plugin/support.h"

namespace mrrope::test {
namespace {

// Two groups, as Gemma 3 has them: layers 1 and 3 look far, the others keep their table.
RopeSpec two_groups() {
  RopeSpec spec;
  spec.context_trained = 4096;
  spec.groups.push_back({.name = "far", .layers = {1, 3}, .rotary_dim = 64, .base = 1e6});
  spec.groups.push_back({.name = "near", .rotary_dim = 64, .base = 10000, .extended = false});
  return spec;
}

Plan a_plan() { return *make_plan(two_groups(), 32768, MrRopePro{}); }

RopeCase far_layer(const std::string& name = "Kcur-3") {
  RopeCase c;
  c.freq_base = 1e6F;
  c.name = name;
  return c;
}

std::vector<float> expected(const RopeCase& c, const RotaryTable& table) {
  std::vector<float> values = RopeGraph(c).before();
  apply_rotary(table, c.positions, values.data(), {.heads = 3, .head_dim = 64});
  return values;
}

TEST(PluginPlan, IsUsedOnTheLayersItExtends) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  const RopeCase c = far_layer();
  EXPECT_EQ(rotated(plugin, c), expected(c, rotary_table(a_plan(), 0)));
  const std::string said = plugin.messages();
  EXPECT_NE(said.find("layers 3 rotate by " + file.path() + " (mrrope-pro, 4096 -> 32768 tokens)"), std::string::npos)
      << said;
}

TEST(PluginPlan, ReplacesWhateverElseScales) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  RopeCase c = far_layer();
  c.freq_scale = 0.25F;
  c.ext_factor = 1;
  c.attn_factor = 3;
  EXPECT_EQ(rotated(plugin, c), expected(c, rotary_table(a_plan(), 0)));
}

TEST(PluginPlan, LeavesOtherLayersAsTheyWere) {
  const TemporaryFile file(to_json(a_plan()));
  std::vector<float> before;
  RopeCase near;
  near.name = "Qcur-2";
  near.freq_scale = 0.5F;
  {
    LoadedPlugin without;
    before = rotated(without, near);
  }
  LoadedPlugin plugin(file.path());
  EXPECT_EQ(rotated(plugin, near), before);
}

// llama.cpp multiplies cached keys by the attention factor again with every context shift.
TEST(PluginPlan, MovesCachedKeysWithoutTheAttentionScale) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  RopeCase c = far_layer("cache_k_l3 (view)");
  c.positions = {0, -512, -512, 0, -1};
  c.attn_factor = 1.3F;
  const RotaryTable unscaled(a_plan().groups[0].inv_freq);
  EXPECT_EQ(rotated(plugin, c), expected(c, unscaled));
}

std::string refusal_of(const Plan& plan, const RopeCase& c) {
  const TemporaryFile file(to_json(plan));
  LoadedPlugin plugin(file.path());
  RopeGraph graph(c);
  const ggml_backend_t backend = plugin.backend();
  EXPECT_NE(backend, nullptr);
  EXPECT_TRUE(ggml_backend_dev_supports_op(plugin.device(), graph.node()));
  EXPECT_EQ(graph.run(backend), GGML_STATUS_FAILED);
  return plugin.messages();
}

TEST(PluginPlan, ForAnotherModelFailsTheGraph) {
  const auto refusal = [](const RopeCase& c) { return refusal_of(a_plan(), c); };
  RopeCase base = far_layer();
  base.freq_base = 5e5F;
  EXPECT_NE(refusal(base).find("layer 3 has base 500000, the plan 1e+06"), std::string::npos);
  RopeCase dims = far_layer();
  dims.n_dims = 32;
  EXPECT_NE(refusal(dims).find("layer 3 rotates 32 dimensions, the plan's 64"), std::string::npos);
  EXPECT_NE(refusal(far_layer("somewhere")).find("does not tell which layer"), std::string::npos);
}

// Llama 3 and 3.1 have the same pairs and base, and 3.1 has factors in its file: with a plan for 3 they were gone.
TEST(PluginPlan, ForAModelWithOtherFactorsFailsTheGraph) {
  RopeSpec spec = two_groups();
  spec.groups[0].trained = TrainedScaling{.method = Llama3{}, .factor = 8, .context_original = 512};
  const Plan with_factors = *make_plan(spec, 32768, MrRopePro{});
  const std::vector<double> trained = trained_table(spec, 0).pair_factors;
  RopeCase own = far_layer();
  own.factors.assign(trained.begin(), trained.end());
  RopeCase other = far_layer();
  other.factors = own.factors;
  other.factors[31] *= 1.01F;
  for (const auto& [plan, c] :
       {std::pair{a_plan(), own}, std::pair{with_factors, other}, std::pair{with_factors, far_layer()}}) {
    EXPECT_NE(refusal_of(plan, c).find("the factors of layer 3 are not those it was made for"), std::string::npos);
  }
  const TemporaryFile file(to_json(with_factors));
  LoadedPlugin plugin(file.path());
  EXPECT_EQ(rotated(plugin, own), expected(own, rotary_table(with_factors, 0)));
}

// llama-server asks about a graph without weights first. That there are factors is enough to refuse.
TEST(PluginPlan, ForAModelWithoutFactorsIsRefusedBeforeTheyAreLoaded) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  RopeCase c = far_layer();
  c.factors.assign(32, 2.0F);
  const RopeGraph graph(c);
  graph.node()->src[2]->data = nullptr;
  EXPECT_TRUE(ggml_backend_dev_supports_op(plugin.device(), graph.node()));
  EXPECT_EQ(plugin.backend(), nullptr) << "no context";
}

// Which of its two lists a model of LongRoPE uses depends on the length of the context; a plan is for both.
TEST(PluginPlan, IsForBothListsOfLongRope) {
  RopeSpec spec = two_groups();
  const LongRope lists{std::vector<double>(32, 1.25), std::vector<double>(32, 6)};
  spec.groups[0].trained = TrainedScaling{.method = lists, .factor = 8, .context_original = 512};
  const Plan plan = *make_plan(spec, 32768, MrRopePro{});
  const TemporaryFile file(to_json(plan));
  LoadedPlugin plugin(file.path());
  for (const float factor : {1.25F, 6.0F}) {
    RopeCase c = far_layer();
    c.factors.assign(32, factor);
    EXPECT_EQ(rotated(plugin, c), expected(c, rotary_table(plan, 0)));
  }
}

// Linear scaling and YaRN are keys of a file, and a program's flags may replace them: nothing is compared.
TEST(PluginPlan, ForAModelScaledByKeysNeedsNoFactors) {
  RopeSpec spec = two_groups();
  spec.groups[0].trained = TrainedScaling{.method = Yarn{}, .factor = 8, .context_original = 512};
  const Plan plan = *make_plan(spec, 32768, MrRopePro{});
  const TemporaryFile file(to_json(plan));
  LoadedPlugin plugin(file.path());
  EXPECT_EQ(rotated(plugin, far_layer()), expected(far_layer(), rotary_table(plan, 0)));
}

// Qwen 2.5 VL and Qwen 3.5: of text, all sections stand at the same position.
TEST(PluginPlan, TurnsTextOfModelsWithSectionsLikeAnyOther) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  for (const auto& [mode, sections] : {std::pair{GGML_ROPE_TYPE_MROPE, std::array{8, 12, 12, 0}},
                                       std::pair{GGML_ROPE_TYPE_IMROPE, std::array{11, 11, 10, 0}}}) {
    RopeCase c = far_layer();
    const std::vector<float> wanted = expected(c, rotary_table(a_plan(), 0));
    c.mode = mode;
    c.sections = sections;
    c.positions = of_text(c.positions);
    EXPECT_EQ(rotated(plugin, c), wanted) << mode;
  }
}

TEST(PluginPlan, LeavesTheTowerThatLooksAtPicturesAlone) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  const RopeGraph graph(far_layer());
  graph.node()->op_params[2] = GGML_ROPE_TYPE_VISION;
  EXPECT_FALSE(ggml_backend_dev_supports_op(plugin.device(), graph.node()));
  EXPECT_EQ(rotated(plugin, far_layer()), expected(far_layer(), rotary_table(a_plan(), 0))) << "the plan stands";
}

TEST(PluginPlan, OfAFormThatIsNotSupportedFailsTheGraph) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  RopeGraph graph(far_layer());
  graph.node()->op = GGML_OP_ROPE_BACK;
  ASSERT_NE(plugin.backend(), nullptr);
  EXPECT_TRUE(ggml_backend_dev_supports_op(plugin.device(), graph.node()));
  EXPECT_EQ(graph.run(plugin.backend()), GGML_STATUS_FAILED);
  EXPECT_NE(plugin.messages().find("layer 3: cannot take this rotation, because it turns vectors back"),
            std::string::npos);
}

TEST(PluginPlan, ForAnotherModelIsLeftAsideIfOptional) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path(), true);
  RopeCase c = far_layer();
  c.freq_base = 5e5F;
  RopeGraph graph(c);
  ASSERT_NE(plugin.backend(), nullptr);
  EXPECT_FALSE(ggml_backend_dev_supports_op(plugin.device(), graph.node()));
  EXPECT_NE(plugin.messages().find("The model rotates as its file says (MRROPE_PLAN_OPTIONAL=1)"), std::string::npos);
}

struct BadPlan {
  const char* what;
  std::string text;
  const char* message;
};

TEST(PluginPlan, ThatCannotBeReadMakesNoContext) {
  std::string torn = to_json(a_plan());
  torn.resize(torn.size() / 2);
  std::string edited = to_json(a_plan());
  edited.replace(edited.find("\"inv_freq\": [1") + 13, 1, "2");
  for (const BadPlan& bad : {BadPlan{"empty", "", "not a plan"}, BadPlan{"torn", torn, "not a plan"},
                             BadPlan{"edited", edited, "not a plan"}, BadPlan{"other", "{}", "not a plan"},
                             BadPlan{"large", std::string((16U << 20U) + 1, ' '), "too large"}}) {
    SCOPED_TRACE(bad.what);
    const TemporaryFile file(bad.text);
    {
      LoadedPlugin plugin(file.path());
      ASSERT_NE(plugin.registration(), nullptr);
      EXPECT_EQ(plugin.backend(), nullptr);
      const std::string said = plugin.messages();
      EXPECT_NE(said.find("MRROPE_PLAN=" + file.path() + " cannot be used: "), std::string::npos) << said;
      EXPECT_NE(said.find(bad.message), std::string::npos) << said;
      EXPECT_NE(said.find("Set MRROPE_PLAN_OPTIONAL=1 to run the model without it."), std::string::npos) << said;
    }
    LoadedPlugin optional(file.path(), true);
    EXPECT_NE(optional.backend(), nullptr);
    EXPECT_FALSE(ggml_backend_dev_supports_op(optional.device(), RopeGraph(far_layer()).node()));
    EXPECT_NE(optional.messages().find("(MRROPE_PLAN_OPTIONAL=1)"), std::string::npos);
  }
  for (const char* path : {"/nowhere/plan.json", "/", "/dev/zero"}) {
    SCOPED_TRACE(path);
    LoadedPlugin plugin(path);
    EXPECT_EQ(plugin.backend(), nullptr);
    EXPECT_NE(plugin.messages().find(std::string("MRROPE_PLAN=") + path + " cannot be used: "), std::string::npos);
  }
}

TEST(PluginPlan, IsReportedOnce) {
  const TemporaryFile file(to_json(a_plan()));
  LoadedPlugin plugin(file.path());
  EXPECT_EQ(ggml_backend_load(MRROPE_PLUGIN), plugin.registration()) << "loading again is no other plug-in";
  for (int i = 0; i < 3; ++i) rotated(plugin, far_layer());
  const std::string said = plugin.messages();
  EXPECT_EQ(said.find("mrrope: "), said.rfind("mrrope: ")) << said;
}

}  // namespace
}  // namespace mrrope::test
