// SPDX-License-Identifier: MIT
//
// Every architecture llama.cpp rotates: what is read back from the graph is what the file says (as targets/ predicts
// it, independently) and, under a plan, what the plan says.

#include "tests/llama/support.h"

namespace mrrope::test {
namespace {

// Float32 holds base, factor and scale: three roundings of 2^-24, and base^-(i/n) passes on at most one of the first.
constexpr double kFloat32 = 4 / 16777216.0;

std::vector<std::string> names() {
  std::vector<std::string> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(tiny_models(), error)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".gguf" &&
        (name.find("-of-") == std::string::npos || name.find("-00001-of-") != std::string::npos)) {
      out.push_back(name);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The group of the spec that names the layer, else the one that names none.
std::size_t group_of(const RopeSpec& spec, int layer) {
  std::size_t rest = spec.groups.size();
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const std::vector<int>& layers = spec.groups[g].layers;
    if (std::find(layers.begin(), layers.end(), layer) != layers.end()) return g;
    if (layers.empty()) rest = g;
  }
  return rest;
}

// The spec has one base and one rotary dimension for all layers that look far; these have several. Their plans are for
// another model, and are refused.
bool beyond_spec(const std::string& name) { return name == "deepseek4"; }

void expect_file_and_plan(const std::string& name) {
  const std::string path = tiny(name);
  const ModelFile file = file_of(path);
  const Result<RopeSpec> spec = rope_spec(file);
  ASSERT_TRUE(spec) << to_string(spec.error());
  const LlamaModel model = load(path);
  Result<LlamaContext> context = LlamaContext::create(model, one_thread());
  if (!context) {  // diffusion models
    EXPECT_EQ(context.error().code, ErrorCode::unsupported) << to_string(context.error());
    return;
  }
  const std::vector<Token> tokens = random_tokens(model, 6);

  const Effective predicted = *effective("llama.cpp", file, 512);
  logits(*context, tokens);
  const std::vector<Rotation> own = context->rotation();
  if (own.empty() || beyond_spec(name)) {
    const auto refusal = context->use(plan_for(path));
    ASSERT_FALSE(refusal);
    EXPECT_EQ(refusal.error().code, own.empty() ? ErrorCode::unsupported : ErrorCode::inconsistent);
    return;
  }
  for (const Rotation& r : own) {
    for (const int layer : r.layers) {
      const std::size_t g = group_of(*spec, layer);
      ASSERT_LT(g, predicted.groups.size()) << "layer " << layer;
      EXPECT_LT(table_difference(r.inv_freq, predicted.groups[g].inv_freq), kFloat32) << "layer " << layer;
    }
  }

  const Plan plan = plan_for(path);
  use(*context, plan);
  logits(*context, tokens);
  for (const Rotation& r : context->rotation()) {
    for (const int layer : r.layers) {
      const std::size_t g = group_of(*spec, layer);
      if (plan.spec.groups[g].extended) {
        EXPECT_LT(table_difference(r.inv_freq, plan.groups[g].inv_freq), kFloat32) << "layer " << layer;
        EXPECT_EQ(r.attention_scale, static_cast<float>(plan.groups[g].attention_scale)) << "layer " << layer;
      } else {
        EXPECT_TRUE(std::any_of(own.begin(), own.end(),
                                [&](const Rotation& o) {
                                  return std::find(o.layers.begin(), o.layers.end(), layer) != o.layers.end() &&
                                         o.inv_freq == r.inv_freq;
                                }))
            << "layer " << layer;
      }
    }
  }
}

TEST(Architectures, RotateByTheFileAndByAPlan) {
  MRROPE_NEED_TINY_MODELS();
  for (const std::string& name : names()) {
    SCOPED_TRACE(name);
    expect_file_and_plan(name);
  }
}

}  // namespace
}  // namespace mrrope::test
