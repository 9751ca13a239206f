// SPDX-License-Identifier: MIT
//
// Every fixture of tests/formats/configs x methods: the delivered file gives the plan's table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "mrrope/mrrope.h"
#include "mrrope/targets.h"
#include "targets/hf_rules.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

namespace fs = std::filesystem;

ModelFile fixture(const std::string& name) {
  Result<ModelFile> model = read_model(std::string(MRROPE_CONFIGS) + "/" + name + ".json");
  EXPECT_TRUE(model) << name;
  return *std::move(model);
}

Result<Delivery> delivered(std::string_view engine, const ModelFile& model, const std::string& method,
                           Plan* plan_out = nullptr) {
  const RopeSpec spec = *rope_spec(model);
  const Plan plan = *make_plan(spec, 4 * spec.context_trained, test::method(method));
  if (plan_out != nullptr) *plan_out = plan;
  return deliver(engine, plan, model);
}

ModelFile edited(const ModelFile& model, const Delivery& delivery) {
  HfConfig config = *model.hf();
  const auto applied = config.apply(delivery.hf);
  EXPECT_TRUE(applied) << to_string(applied.error());
  return {model.path, config};
}

bool says(const std::vector<std::string>& notes, std::string_view words) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& n) { return n.find(words) != std::string::npos; });
}

void expect_plan(const Plan& plan, const Effective& e, double scale_tolerance, const std::string& what) {
  EXPECT_TRUE(e.loads) << what;
  ASSERT_EQ(e.groups.size(), plan.groups.size()) << what;
  for (std::size_t g = 0; g < e.groups.size(); ++g) {
    EXPECT_LE(table_difference(e.groups[g].inv_freq, plan.groups[g].inv_freq), 1e-6) << what << " group " << g;
    EXPECT_LE(std::fabs(e.groups[g].attention_scale / plan.groups[g].attention_scale - 1), scale_tolerance) << what;
  }
}

bool known_to_transformers4(const ModelFile& model) {
  using namespace targets;
  const HfException* row = exception_for(*find_hf_engine("transformers4"), model.hf()->model_type(), kDefault);
  return row == nullptr || row->outcome != Outcome::refused;
}

TEST(HfDeliver, UniversalFileOfEveryFixtureGivesThePlanInTransformers) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(MRROPE_CONFIGS)) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("gpt-j")) continue;  // its table is in the code of transformers
    const ModelFile model = fixture(name);
    if (!rope_spec(model)) continue;
    ++files;
    for (const char* method : {"mrrope-pro", "yarn", "linear", "ntk"}) {
      const std::string what = name + " " + method;
      Plan plan;
      const Result<Delivery> d = delivered(kUniversal, model, method, &plan);
      ASSERT_TRUE(d) << what << ": " << to_string(d.error());
      EXPECT_LE(d->residual, 1e-6);
      const ModelFile file = edited(model, *d);
      // Phi-3 has its scale by formula; everybody else to the last digit.
      const double tolerance = model.hf()->model_type().starts_with("phi") ? 2e-4 : 1e-6;
      expect_plan(plan, *effective("transformers5", file, plan.context_target), tolerance, what);
      if (known_to_transformers4(model)) {
        expect_plan(plan, *effective("transformers4", file, plan.context_target), tolerance, what);
      }
      EXPECT_GE(effective("transformers5", file)->context, plan.context_target) << what;
      // And reading it back, as any tool would
      const RopeSpec again = *rope_spec(file);
      EXPECT_EQ(again.context_trained, std::max(plan.context_target, again.context_trained));
    }
  }
  EXPECT_GE(files, 25);
}

TEST(HfDeliver, EveryEngineGetsThePlanOrAReason) {
  for (const char* name : {"llama-2-7b", "qwen3-8b", "mistral-7b-v0.1", "gemma-3-4b", "phi-3-mini-128k"}) {
    const ModelFile model = fixture(name);
    for (const targets::HfEngine& engine : targets::hf_engines()) {
      Plan plan;
      const Result<Delivery> d = delivered(engine.info.name, model, "mrrope-pro", &plan);
      const std::string what = std::string(name) + " " + std::string(engine.info.name);
      if (!d) {
        EXPECT_EQ(d.error().code, ErrorCode::unsupported) << what;
        EXPECT_NE(d.error().message.find("cannot run"), std::string::npos) << what << ": " << d.error().message;
        continue;
      }
      expect_plan(plan, *effective(engine.info.name, edited(model, *d), plan.context_target), 2e-4, what);
    }
  }
}

// The factor of the table is not the one of the length: native types say the former, and no engine serves less than M.
TEST(HfDeliver, AFactorOfTheMethodArrivesAndTheLengthStays) {
  for (const char* method : {"yarn:factor=3.5", "yarn:attention_scale=1.05:factor=6", "llama3:factor=3.5",
                             "mrrope-power:p=1.15:attention_scale=1.16:factor=3.5"}) {
    const ModelFile model = fixture("llama-2-7b");
    for (const targets::HfEngine& engine : targets::hf_engines()) {
      Plan plan;
      const Result<Delivery> d = delivered(engine.info.name, model, method, &plan);
      if (!d) continue;  // EveryEngineGetsThePlanOrAReason
      const std::string what = std::string(method) + " " + std::string(engine.info.name);
      const Effective e = *effective(engine.info.name, edited(model, *d), plan.context_target);
      expect_plan(plan, e, 2e-4, what);
      EXPECT_GE(e.context, plan.context_target) << what;
    }
  }
  // Whoever runs YaRN runs it with another factor
  for (const targets::HfEngine& engine : targets::hf_engines()) {
    const auto served = [&](const char* method) {
      return static_cast<bool>(delivered(engine.info.name, fixture("llama-2-7b"), method));
    };
    EXPECT_EQ(served("yarn:factor=3.5"), served("yarn")) << engine.info.name;
  }
}

TEST(HfDeliver, WhoIsServedOnLlama) {
  const ModelFile model = fixture("llama-2-7b");
  for (const char* engine : {"transformers5", "transformers4", "vllm", "sglang", "tensorrt-llm", "mlx-lm", "exllamav3",
                             "exllamav2", "openvino", "lmdeploy", "tgi"}) {
    const Result<Delivery> d = delivered(engine, model, "mrrope-pro");
    EXPECT_TRUE(d) << engine << ": " << (d ? "" : to_string(d.error()));
  }
  for (const char* engine : {"onnxruntime-genai", "mistral.rs", "candle", "mlc-llm"}) {
    const Result<Delivery> d = delivered(engine, model, "mrrope-pro");
    ASSERT_FALSE(d) << engine;
    EXPECT_NE(d.error().message.find("Nearest that it can"), std::string::npos) << d.error().message;
    // Another base is a field everybody reads
    EXPECT_TRUE(delivered(engine, model, "ntk")) << engine;
  }
}

TEST(HfDeliver, UniversalNamesWhomItServes) {
  const Result<Delivery> d = delivered(kUniversal, fixture("llama-2-7b"), "mrrope-pro");
  ASSERT_TRUE(d);
  const auto service = [&](std::string_view engine) {
    return *std::find_if(d->services.begin(), d->services.end(), [&](const Service& s) { return s.engine == engine; });
  };
  for (const char* engine : {"sglang", "tgi", "exllamav2"}) {
    EXPECT_FALSE(service(engine).served) << engine;
    EXPECT_TRUE(service(engine).own_file) << engine;
  }
  for (const char* engine : {"onnxruntime-genai", "mistral.rs", "candle", "mlc-llm"}) {
    EXPECT_FALSE(service(engine).served || service(engine).own_file) << engine;
    EXPECT_FALSE(service(engine).why.empty()) << engine;
  }
  for (const char* engine : {"vllm", "mlx-lm", "exllamav3", "lmdeploy", "openvino"}) {
    EXPECT_TRUE(service(engine).served) << engine;
  }
  EXPECT_TRUE(says(d->commands, "--max-model-len 16384"));
  const Result<Delivery> own = delivered("vllm", fixture("llama-2-7b"), "mrrope-pro");
  ASSERT_TRUE(own);
  EXPECT_TRUE(says(own->commands, "--hf-overrides '{\"max_position_embeddings\":16384,\"rope_parameters\":{"));
}

TEST(HfDeliver, NtkIsAnotherBaseAndServesEverybody) {
  const Result<Delivery> d = delivered(kUniversal, fixture("llama-2-7b"), "ntk");
  ASSERT_TRUE(d);
  EXPECT_TRUE(std::all_of(d->services.begin(), d->services.end(), [](const Service& s) { return s.served; }));
  for (const HfChange& change : d->hf)
    EXPECT_TRUE(change.path == "rope_theta" || change.path == "max_position_embeddings") << change.path;
}

// A base is beside rope_parameters in an older file, and overrides once said nothing of it: vLLM ran the plain table.
TEST(HfDeliver, OverridesForVllmHoldTheWholePlan) {
  for (const char* name : {"llama-2-7b", "llama-3.1-8b", "qwen3-8b"}) {
    const ModelFile model = fixture(name);
    const RopeSpec spec = *rope_spec(model);
    for (const char* method : {"ntk", "linear", "yarn", "mrrope-pro"}) {
      const Plan plan = *make_plan(spec, 4 * spec.context_trained, test::method(method));
      const Result<std::string> overrides = hf_overrides(plan, *model.hf());
      ASSERT_TRUE(overrides) << name << " " << method << ": " << to_string(overrides.error());
      Result<HfConfig> read = HfConfig::parse(*overrides);  // as transformers 5 has it: rope_parameters, nothing else
      ASSERT_TRUE(read);
      HfConfig config = *model.hf();
      (void)config.remove("rope_scaling");  // not there in all of them
      for (const char* key : {"max_position_embeddings", "rope_parameters"})
        EXPECT_TRUE(config.set(key, read->value(key)));
      expect_plan(plan, *effective("vllm", {model.path, config}, plan.context_target), 2e-4,
                  std::string(name) + " " + method);
    }
  }
}

// vLLM's draft reads the folder and not the overrides: beyond the trained length it was right about nothing.
TEST(HfDeliver, AModelWithDraftLayersIsServedFromAFolderOnly) {
  const ModelFile plain = fixture("qwen3-8b");
  HfConfig config = *plain.hf();
  const RopeSpec spec = *rope_spec(plain);
  const Plan plan = *make_plan(spec, 2 * spec.context_trained, test::method("yarn"));
  EXPECT_TRUE(hf_overrides(plan, config));
  ASSERT_TRUE(config.set("mtp_num_hidden_layers", "1"));
  EXPECT_EQ(hf_overrides(plan, config).error().where, "mtp_num_hidden_layers");
  const ModelFile model{plain.path, config};
  const Result<Delivery> folder = deliver("vllm", plan, model);
  ASSERT_TRUE(folder) << to_string(folder.error());
  EXPECT_FALSE(says(folder->commands, "--hf-overrides"));
}

TEST(HfDeliver, SlidingLayersOfGemma3KeepTheirTable) {
  const ModelFile model = fixture("gemma-3-4b");
  Plan plan;
  const Result<Delivery> d = delivered(kUniversal, model, "mrrope-pro", &plan);
  ASSERT_TRUE(d) << to_string(d.error());
  const ModelFile file = edited(model, *d);
  const HfConfig& config = *file.hf();
  EXPECT_EQ(config.value("text_config.rope_parameters.sliding_attention.rope_type"), "\"default\"");
  EXPECT_EQ(config.value("text_config.rope_parameters.full_attention.rope_type"), "\"longrope\"");
  EXPECT_EQ(config.value("text_config.rope_scaling.rope_type"), "\"longrope\"");
  EXPECT_FALSE(config.value("text_config.rope_theta").empty());
}

TEST(HfDeliver, NeverBothTypeAndRopeType) {
  for (const char* name : {"llama-2-7b", "phi-3-mini-128k", "phi-3-mini-128k-su", "qwen2.5-7b-yarn", "vicuna-7b-16k"}) {
    const ModelFile model = fixture(name);
    const Result<Delivery> d = delivered(kUniversal, model, "mrrope-pro");
    ASSERT_TRUE(d) << name;
    const ModelFile file = edited(model, *d);
    EXPECT_NE(file.hf()->value("rope_scaling.type").empty(), file.hf()->value("rope_scaling.rope_type").empty())
        << name;
    EXPECT_TRUE(file.hf()->value("rope_parameters.type").empty()) << name;
  }
}

TEST(HfDeliver, FormulaFindsTheScaleThroughLStar) {
  const ModelFile model = fixture("llama-2-7b");
  Plan plan;
  const Result<Delivery> d = delivered("mlx-lm", model, "mrrope-pro", &plan);
  ASSERT_TRUE(d);
  const double l_star = std::stod(edited(model, *d).hf()->value("rope_scaling.original_max_position_embeddings"));
  EXPECT_EQ(l_star, std::round(std::pow(16384, 1 / std::pow(plan.groups[0].attention_scale, 2))));
  EXPECT_LE(d->scale_residual, 2e-5);
}

// Extending what was extended before: the second plan starts from the first table.
TEST(HfDeliver, ExtendsAnExtendedFileAgain) {
  const ModelFile model = fixture("llama-2-7b");
  const ModelFile once = edited(model, *delivered(kUniversal, model, "mrrope-pro"));
  EXPECT_EQ(rope_spec(once)->context_trained, 16384);
  Plan plan;
  const Result<Delivery> again = delivered(kUniversal, once, "mrrope-pro", &plan);
  ASSERT_TRUE(again) << to_string(again.error());
  expect_plan(plan, *effective("transformers4", edited(once, *again), plan.context_target), 1e-6, "twice");
}

// transformers multiplies the scores of DeepSeek by m(factor, mscale_all_dim)^2 whatever the type, unless it is default
// (modeling_deepseek_v3.py, yarn_apply_mscale).
TEST(HfDeliver, DeepSeekKeepsTheScaleOfItsScores) {
  const ModelFile model = fixture("deepseek-v3");
  const HfConfig file = *edited(model, *delivered(kUniversal, model, "mrrope-pro")).hf();
  for (const std::string rope : {"rope_scaling", "rope_parameters"}) {
    EXPECT_EQ(file.value(rope + ".rope_type"), "\"longrope\"");
    EXPECT_EQ(file.value(rope + ".mscale_all_dim"), "1.0");
    EXPECT_EQ(file.value(rope + ".factor"), "40");
  }
}

// And the queries of Ministral 3 by 1 + beta ln(1 + floor(position / original)) (modeling_ministral3.py 104-148).
TEST(HfDeliver, Ministral3KeepsTheTemperatureOfItsQueries) {
  const Result<HfConfig> config = HfConfig::parse(R"({"model_type": "ministral3", "hidden_size": 3072,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 26,
    "max_position_embeddings": 262144, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
    "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
    "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}})");
  const ModelFile model{"config.json", *config};
  Plan plan;
  const Result<Delivery> d = delivered(kUniversal, model, "mrrope-pro", &plan);
  ASSERT_TRUE(d) << to_string(d.error());
  const ModelFile file = edited(model, *d);
  expect_plan(plan, *effective("transformers5", file, plan.context_target), 1e-6, "ministral3");
  for (const std::string rope : {"rope_scaling", "rope_parameters"}) {
    EXPECT_EQ(file.hf()->value(rope + ".llama_4_scaling_beta"), "0.1");
    EXPECT_EQ(file.hf()->value(rope + ".original_max_position_embeddings"), "16384");
  }
}

// vllm/model_executor/models/deepseek_v2.py and sglang/srt/models/deepseek_v2.py overwrite the type with deepseek_yarn.
TEST(HfDeliver, VllmAndSglangRunNoTableOnDeepSeek) {
  const ModelFile model = fixture("deepseek-v3");
  const Result<Delivery> universal = delivered(kUniversal, model, "mrrope-pro");
  ASSERT_TRUE(universal);
  for (const Service& service : universal->services) {
    if (service.engine != "vllm" && service.engine != "sglang") continue;
    EXPECT_FALSE(service.served) << service.engine;
    EXPECT_FALSE(service.own_file) << service.engine;
    EXPECT_NE(service.why.find("YaRN"), std::string::npos) << service.why;
  }
  // As released it is YaRN, which they run
  EXPECT_TRUE(effective("vllm", model)->notes.empty());
  EXPECT_FALSE(hf_overrides(*make_plan(*rope_spec(model), 327680, MrRopePro{}), *model.hf()));
}

// transformers 4 and 5 compute GPT-J's table from 10000 alone; not even rope_theta is read.
TEST(HfDeliver, NothingReachesATableInTheCode) {
  for (const char* method : {"mrrope-pro", "ntk", "linear"}) {
    const Result<Delivery> d = delivered(kUniversal, fixture("gpt-j-6b"), method);
    ASSERT_FALSE(d) << method;
    EXPECT_NE(d.error().message.find("in its code"), std::string::npos) << d.error().message;
  }
}

TEST(HfDeliver, WrongFormatAndUnknownEngine) {
  const ModelFile model = fixture("llama-2-7b");
  EXPECT_EQ(delivered("llama.cpp", model, "yarn").error().code, ErrorCode::unsupported);
  EXPECT_EQ(delivered("nonsense", model, "yarn").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(effective("nonsense", model).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace mrrope
