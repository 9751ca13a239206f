// SPDX-License-Identifier: MIT
//
// What servers say of themselves: real answers of llama-server 0.5.0, vLLM 0.32.0 and the documents of others, and
// lies.
#include "mrrope/server_info.h"

#include "tests/servers/lies.h"
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

using Pages = std::map<std::string, std::string>;

Result<ServerInfo> described(const Pages& pages, const std::string& post = "", const std::string& model = "") {
  StubServer server(says(post.empty() ? http(404, "") : post), 0, "", pages);
  return describe_server({.urls = {server.url()}, .model = model, .api_key = kKey});
}

const std::string kLlamaModels =
    ok(R"({"models":[{"name":"m.gguf"}],"object":"list","data":[{"id":"m.gguf","owned_by":"llamacpp",)"
       R"("meta":{"n_ctx":2048,"n_ctx_train":8192}}]})");

TEST(ServerInfo, OfLlamaServerIsItsSlots) {
  const auto info = described(
      {{"/v1/models", kLlamaModels},
       {"/props", ok(R"({"default_generation_settings":{"n_ctx":2048},"total_slots":2,"build_info":"b1-de3ff81",)"
                     R"("model_path":"/models/m.gguf"})")},
       {"/slots", ok(R"([{"id":0,"n_ctx":2048},{"id":1,"n_ctx":2048}])")}});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->software, "llama.cpp");
  EXPECT_EQ(info->version, "b1-de3ff81");
  EXPECT_EQ(info->model, "m.gguf");
  EXPECT_EQ(info->advertised, 2048);
  EXPECT_EQ(info->advertised_by, "GET /v1/models: n_ctx");
  EXPECT_EQ(info->slots, 2);
  EXPECT_TRUE(info->takes_token_ids);
  EXPECT_EQ(info->requests, 3);
}

TEST(ServerInfo, ThatContradictsItselfIsTheSmallerLengthAndBothAreKept) {
  const auto info = described({{"/v1/models", kLlamaModels}, {"/slots", ok(R"([{"n_ctx":2048},{"n_ctx":512}])")}});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->advertised, 512);
  EXPECT_EQ(info->advertised_by, "GET /slots: n_ctx");
  EXPECT_EQ(info->claims.size(), 3U);
}

TEST(ServerInfo, OfVllmAndSglangIsMaxModelLen) {
  const auto vllm =
      described({{"/v1/models", ok(R"({"data":[{"id":"Qwen/Qwen3-8B","owned_by":"vllm","max_model_len":32768}]})")},
                 {"/version", ok(R"({"version":"0.32.0"})")}});
  EXPECT_EQ(vllm->software + " " + vllm->version + " " + vllm->model, "vLLM 0.32.0 Qwen/Qwen3-8B");
  EXPECT_EQ(vllm->advertised, 32768);
  EXPECT_EQ(vllm->requests, 2);
  const auto sglang =
      described({{"/v1/models", ok(R"({"data":[{"id":"m","owned_by":"sglang","max_model_len":4096}]})")},
                 {"/get_server_info", ok(R"({"version":"0.4.1","model_path":"/m","context_length":null})")}});
  EXPECT_EQ(sglang->software + " " + sglang->version, "SGLang 0.4.1");
  EXPECT_EQ(sglang->advertised, 4096);
}

TEST(ServerInfo, OfOllamaIsWhatIsLoadedRatherThanWhatTheModelCouldDo) {
  const Pages idle = {{"/v1/models", ok(R"({"data":[{"id":"qwen3:8b","owned_by":"library"}]})")},
                      {"/api/version", ok(R"({"version":"0.40.12"})")},
                      {"/api/ps", ok(R"({"models":[]})")}};
  const std::string shown = ok(R"({"parameters":"stop \"x\"\nnum_ctx                        8192",)"
                               R"("model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}})");
  EXPECT_EQ(described(idle, shown)->advertised, 8192);
  EXPECT_EQ(described(idle, shown)->software, "Ollama");
  const std::string plain = ok(R"({"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}})");
  EXPECT_EQ(described(idle, plain)->advertised, 40960);
  Pages loaded = idle;
  loaded["/api/ps"] =
      ok(R"({"models":[{"name":"other","context_length":1},{"name":"qwen3:8b","context_length":4096}]})");
  const auto info = described(loaded, plain);
  EXPECT_EQ(info->advertised, 4096);
  EXPECT_EQ(info->advertised_by, "GET /api/ps: context_length");
}

TEST(ServerInfo, OfTgiIsItsInfo) {
  const auto info = described({{"/v1/models", http(404, "")},
                               {"/info", ok(R"({"model_id":"m","max_input_tokens":4095,"max_total_tokens":4096,)"
                                            R"("router":"text-generation-router","version":"3.3.6"})")}});
  EXPECT_EQ(info->software + " " + info->version, "TGI 3.3.6");
  EXPECT_EQ(info->advertised, 4096);
}

TEST(ServerInfo, IsOfTheModelThatIsAskedFor) {
  const Pages pages = {{"/v1/models", ok(R"({"data":[{"id":"a","owned_by":"vllm","max_model_len":1000},)"
                                         R"({"id":"b","owned_by":"vllm","max_model_len":2000}]})")}};
  EXPECT_EQ(described(pages)->model, "a");
  EXPECT_EQ(described(pages, "", "b")->advertised, 2000);
}

TEST(ServerInfo, DoesNotBelieveNonsense) {
  for (const char* length : {"-1", "0", "1e300", "4096.5", "\"4096\"", "null", "[]", "18446744073709551615"}) {
    const auto info = described(
        {{"/v1/models", ok(std::string(R"({"data":[{"id":"m","owned_by":"vllm","max_model_len":)") + length + "}]}")}});
    ASSERT_TRUE(info) << length;
    EXPECT_FALSE(info->advertised) << length;
  }
  // A name with control characters, or the key in it, is not sent back
  EXPECT_EQ(described({{"/v1/models", ok(R"({"data":[{"id":"a\u0007b"}]})")}})->model, "");
  EXPECT_EQ(described({{"/v1/models", ok(R"({"data":[{"id":")" + kKey + "\"}]}")}})->model, "");
}

TEST(ServerInfo, OfAServerThatLiesEverywhereIsEmptyOrAnError) {
  for (const Lie& lie : lies()) {
    StubServer server(says(lie.bytes), 0, lie.bytes);
    const auto info = describe_server({.urls = {server.url()}, .api_key = kKey, .deadline_s = 1});
    if (!info) {
      EXPECT_EQ(to_string(info.error()).find(kKey), std::string::npos) << lie.name;
      continue;
    }
    EXPECT_FALSE(info->advertised) << lie.name;
    EXPECT_EQ(info->software, "") << lie.name;
    EXPECT_LE(info->requests, 8);
  }
}

TEST(ServerInfo, EndsWithWhatEndsEverything) {
  EXPECT_EQ(described({{"/v1/models", http(503, R"({"error":{"message":"Loading model"}})")}}).error().code,
            ErrorCode::io);
  EXPECT_EQ(described({{"/v1/models", http(401, "")}}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(describe_server({.urls = {"http://127.0.0.1:" + std::to_string(closed_port())}}).error().code,
            ErrorCode::io);
}

}  // namespace
}  // namespace mrrope::test
