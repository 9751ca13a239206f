// SPDX-License-Identifier: MIT
#include "mrrope/deploy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "mrrope/extend.h"
#include "mrrope/units.h"
#include "tests/support/temporary_folder.h"

namespace mrrope {
namespace {

namespace fs = std::filesystem;

ModelFile tiny() { return *read_model(std::string(MRROPE_VECTORS) + "/../models/tiny-512.gguf"); }

Ladder ladder_for(const ModelFile& model, std::int64_t target) {
  const RopeSpec spec = *rope_spec(model);
  return *make_ladder(spec, *choose_rungs(spec, target));
}

std::string text_of(const Deployment& deployment, const std::string& path) {
  for (const DeployedFile& file : deployment.files) {
    if (file.path == path) return file.text;
  }
  return "no " + path;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A Hugging Face folder with nothing but its config.json.
ModelFile llama_folder(const fs::path& folder, const std::string& type = "llama") {
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << R"({"model_type": ")" << type
                                        << R"(", "hidden_size": 576, "num_attention_heads": 9,
             "num_key_value_heads": 3, "num_hidden_layers": 30, "max_position_embeddings": 8192, "rope_theta": 100000.0,
             "vocab_size": 49152})";
  return *read_model(folder.string());
}

TEST(DeployGguf, FirstRungIsTheFileAndTheOthersAreSidecars) {
  const ModelFile model = tiny();
  const Deployment files = *deployment(ladder_for(model, 2048), model, {.folder = "/srv/x"});
  ASSERT_EQ(files.rungs.size(), 3U);
  EXPECT_EQ(files.name, "tiny-512");
  EXPECT_EQ(files.rungs[0].serving, Serving::as_it_is);
  EXPECT_EQ(files.rungs[0].model, "tiny-512");
  EXPECT_TRUE(files.rungs[0].flags.empty());
  EXPECT_EQ(files.rungs[1].serving, Serving::sidecar);
  EXPECT_EQ(files.rungs[2].model, "tiny-512-2k");
  EXPECT_TRUE(has(files.rungs[2].flags, "llama.context_length=int:2048")) << files.rungs[2].flags;
  const std::string presets = text_of(files, "llama.cpp/presets.ini");
  EXPECT_TRUE(has(presets, "[tiny-512]\nm = llama.cpp/model.gguf\nc = 512\n")) << presets;
  EXPECT_TRUE(has(presets, "[tiny-512-2k]\nm = llama.cpp/2k/model-00001-of-00002.gguf\nc = 2048\noverride-kv = "));
}

TEST(DeployGguf, EveryRungFallsBackToAllAboveItInOrder) {
  const ModelFile model = tiny();
  const Deployment files = *deployment(ladder_for(model, 2048), model, {.folder = "/srv/x", .port = 9000});
  const std::string yaml = text_of(files, "gateway/litellm.yaml");
  EXPECT_TRUE(
      has(yaml, "- {\"tiny-512\": [\"tiny-512-1k\", \"tiny-512-2k\"]}\n    - {\"tiny-512-1k\": [\"tiny-512-2k\"]}\n"));
  EXPECT_TRUE(has(yaml, "length: 512, reserve: 64, engine: llama.cpp")) << yaml;
  EXPECT_TRUE(has(yaml, "http://127.0.0.1:9001/v1"));
  EXPECT_FALSE(has(yaml, "9002"));  // the router has all rungs behind one port
  EXPECT_TRUE(has(text_of(files, "gateway/mrrope_ladder.py"), "route = Route()\n"));
}

TEST(DeployGguf, OneRungNeedsNoGateway) {
  const ModelFile model = tiny();
  const Deployment files = *deployment(ladder_for(model, 512), model, {.folder = "/srv/x"});
  EXPECT_TRUE(has(text_of(files, "gateway/litellm.yaml"), "no gateway"));
  EXPECT_TRUE(has(text_of(files, "README.md"), "nothing to route"));
}

TEST(DeployGguf, IsWrittenAndReadsBackAsThePlans) {
  const test::TemporaryFolder folder;
  const ModelFile model = tiny();
  const Ladder ladder = ladder_for(model, 2048);
  const fs::path where = fs::path(folder.path()) / "deploy";
  const Deployment files = *deployment(ladder, model, {.folder = where.string()});
  for (int times = 0; times < 2; ++times) {  // the second time renews it
    const auto written = write_deployment(files, ladder, model, where.string());
    ASSERT_TRUE(written) << to_string(written.error());
  }
  EXPECT_EQ(*ladder_from_json(read(where / "ladder.json")), ladder);
  EXPECT_EQ(*plan_from_json(read(where / "plans/2k.json")), ladder.rungs[2].plan);
  EXPECT_TRUE(fs::equivalent(where / "llama.cpp/model.gguf", model.path));
  for (std::size_t i = 1; i < 3; ++i) {
    const Result<ModelFile> sidecar = read_model((where / "llama.cpp" / ladder.rungs[i].name).string());
    ASSERT_TRUE(sidecar) << to_string(sidecar.error());
    const Result<Effective> now = effective("llama.cpp", *sidecar, ladder.rungs[i].length);
    ASSERT_TRUE(now);
    EXPECT_LT(table_difference(now->groups[0].inv_freq, ladder.rungs[i].plan.groups[0].inv_freq), 1e-6);
  }
}

TEST(WriteDeployment, NamesWhatAnEarlierLadderLeft) {
  const test::TemporaryFolder folder;
  const fs::path where = fs::path(folder.path()) / "deploy";
  const ModelFile model = tiny();
  for (const std::int64_t longest : {2048, 1024}) {
    const Ladder ladder = ladder_for(model, longest);
    const auto written =
        write_deployment(*deployment(ladder, model, {.folder = where.string()}), ladder, model, where.string());
    ASSERT_TRUE(written) << to_string(written.error());
    const std::vector<std::string> left = {"plans/2k.json", "llama.cpp/2k"};
    EXPECT_EQ(written->left, longest == 1024 ? left : std::vector<std::string>());
    EXPECT_TRUE(fs::exists(where / "plans/2k.json"));  // it stays
  }
}

TEST(WriteDeployment, TouchesNothingInAFolderOfOthers) {
  const test::TemporaryFolder folder;
  std::ofstream(fs::path(folder.path()) / "mine.txt") << "mine";
  const ModelFile model = tiny();
  const Ladder ladder = ladder_for(model, 1024);
  const Deployment files = *deployment(ladder, model, {.folder = folder.path()});
  const auto written = write_deployment(files, ladder, model, folder.path());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().option, "output");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(WriteDeployment, ReplacesNoFileThatMrropeDidNotWrite) {
  const test::TemporaryFolder folder;
  const ModelFile model = tiny();
  const Ladder ladder = ladder_for(model, 1024);
  const Deployment files = *deployment(ladder, model, {.folder = folder.path()});
  ASSERT_TRUE(write_deployment(files, ladder, model, folder.path()));
  std::ofstream(fs::path(folder.path()) / "README.md") << "my own words";
  ASSERT_FALSE(write_deployment(files, ladder, model, folder.path()));
  EXPECT_EQ(read(fs::path(folder.path()) / "README.md"), "my own words");
}

TEST(DeployHuggingFace, HasACommandAUnitAndContainersPerRung) {
  const test::TemporaryFolder folder;
  const ModelFile model = llama_folder(fs::path(folder.path()) / "it's a $model");
  const Deployment files = *deployment(ladder_for(model, 32768), model, {.folder = "/srv/100% new"});
  EXPECT_EQ(files.name, "it-s-a-model");
  const std::string script = text_of(files, "vllm/start.sh");
  EXPECT_TRUE(has(script, "'\\''s a $model'")) << script;
  EXPECT_TRUE(has(script, "--max-model-len 8192 --host 127.0.0.1 --port 8081 \"$@\""));
  EXPECT_TRUE(has(script, "--max-model-len 32768 --host 127.0.0.1 --port 8083 --hf-overrides '{"));
  EXPECT_TRUE(
      has(text_of(files, "vllm/it-s-a-model-16k.service"), "ExecStart=/bin/sh \"/srv/100%% new/vllm/start.sh\" 16k\n"));
  const std::string compose = text_of(files, "vllm/compose.yaml");
  EXPECT_TRUE(has(compose, "/it's a $$model\"")) << compose;
  const std::string kubernetes = text_of(files, "vllm/kubernetes.yaml");
  EXPECT_TRUE(has(kubernetes, "mrrope/holds: \"0-7168\"\n        llm-d.ai/context-length-range: \"0-7168\""));
  EXPECT_TRUE(has(kubernetes, "llm-d.ai/context-length-range: \"7169-15360\""));
  EXPECT_TRUE(has(kubernetes, "llm-d.ai/context-length-range: \"15361-2147483647\""));
  EXPECT_TRUE(has(text_of(files, "gateway/vllm-sr.yaml"), "max_tokens: \"7168\""));
  EXPECT_TRUE(has(text_of(files, "gateway/litellm.yaml"), "http://127.0.0.1:8083/v1"));
}

// As extend's commands have it (tests/targets/hf_models_test.cpp); tests/engines/test_vllm_server.py starts such a
// model.
TEST(DeployHuggingFace, GivesVllmTheFlagWithoutWhichItDoesNotStart) {
  const test::TemporaryFolder folder;
  const ModelFile model = llama_folder(fs::path(folder.path()) / "m", "smollm3");
  const Deployment files = *deployment(ladder_for(model, 16384), model, {.folder = "/srv"});
  EXPECT_TRUE(has(text_of(files, "vllm/start.sh"), "}' --enforce-eager \"$@\"")) << text_of(files, "vllm/start.sh");
  EXPECT_TRUE(has(text_of(files, "vllm/start.sh"), "--port 8081 \"$@\""));  // the first rung is the model as it is
  EXPECT_TRUE(has(text_of(files, "vllm/compose.yaml"), "--enforce-eager"));
  EXPECT_TRUE(has(text_of(files, "vllm/kubernetes.yaml"), "--enforce-eager"));
}

TEST(Deploy, RefusesNamesThatNoUnitCanSayAndPortsThatAreNone) {
  const ModelFile model = tiny();
  const Ladder ladder = ladder_for(model, 1024);
  EXPECT_FALSE(deployment(ladder, model, {.folder = "/srv/a\nb"}));
  EXPECT_EQ(deployment(ladder, model, {.folder = "/srv", .port = 0}).error().option, "port");
  EXPECT_EQ(deployment(ladder, model, {.folder = "/srv", .port = 65535}).error().option, "port");
}

TEST(Deploy, RefusesALadderOfAnotherModel) {
  const Ladder ladder = *make_ladder(*parse_spec("dim=128,base=10000,ctx=4096"), {4096, 8192});
  EXPECT_EQ(deployment(ladder, tiny(), {.folder = "/srv"}).error().code, ErrorCode::inconsistent);
}

}  // namespace
}  // namespace mrrope
