// SPDX-License-Identifier: MIT
//
// Who says what, and where it was seen:
//
//   llama-server 0.5.0   /v1/models: owned_by "llamacpp", meta.n_ctx, meta.n_ctx_train; /props:
//                        default_generation_settings.n_ctx (per slot), total_slots, build_info, model_path; /slots:
//                        [{n_ctx}]  (run)
//   vLLM 0.32.0          /v1/models: owned_by "vllm", max_model_len; /version  (entrypoints/serve)
//   SGLang 0.5.23        /v1/models: owned_by "sglang", max_model_len; /server_info: context_length, version,
//                        model_path; older ones /get_server_info  (srt/entrypoints/http_server.py)
//   Ollama               /api/version; /api/ps: models[].context_length, of what is loaded; /api/show: parameters
//                        "num_ctx 4096", model_info "llama.context_length"  (docs/api.md)
//   TGI                  /info: max_total_tokens, router "text-generation-router", version  (router/src/lib.rs)
//   llama-cpp-python     /v1/models: owned_by "me"  (llama_cpp/server/app.py)
#include "mrrope/server_info.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/json.h"
#include "servers/api.h"
#include "servers/check.h"
#include "servers/question.h"

namespace mrrope {

namespace {

using base::Json;

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
constexpr double kDeadline = 10;                          // seconds; these answers are at hand
constexpr std::size_t kMostBytes = std::size_t{4} << 20;  // chat templates and lists of tensors are in some of them
constexpr std::size_t kMostName = 1024;                   // bytes of a model's name

// The member, or null: of anything that is no object, too.
const Json& at(const Json& json, const char* key) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

std::optional<std::int64_t> length_in(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{kMostTokens}) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  return number >= 1 && number <= kMostTokens ? std::optional(number) : std::nullopt;
}

// "num_ctx                        4096\nstop …": Ollama's parameters are a text.
std::optional<std::int64_t> num_ctx_in(const Json& parameters) {
  if (!parameters.is_string()) return std::nullopt;
  const auto& text = parameters.get_ref<const std::string&>();
  const std::size_t key = text.starts_with("num_ctx") ? 0 : text.find("\nnum_ctx");
  if (key == std::string::npos) return std::nullopt;
  const std::size_t begin = text.find_first_of("0123456789\n", key + 1);
  if (begin == std::string::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return problem == std::errc() && number >= 1 && number <= kMostTokens ? std::optional(number) : std::nullopt;
}

class Description {
 public:
  Description(const ServerOptions& options, servers::ServerUrl server, servers::Transfers transfers,
              const std::atomic<bool>* cancel)
      : options_(options), server_(std::move(server)), transfers_(std::move(transfers)), cancel_(cancel) {
    info_.model = options.model;
  }

  Result<ServerInfo> describe() {
    if (const Result<void> models = ask_models(); !models) return models.error();
    if (info_.software == "llama.cpp") {
      look([&] { read_props(get("/props")); });
      look([&] { read_slots(get("/slots")); });
    } else if (info_.software == "vLLM") {
      look([&] { info_.version = text(at(get("/version"), "version")); });
    } else if (info_.software == "SGLang") {
      look_at_sglang();
    } else if (info_.software.empty()) {
      look([&] { info_.version = text(at(get("/api/version"), "version")); });
      if (!info_.version.empty()) {
        info_.software = "Ollama";
        look_at_ollama();
      }
      if (info_.software.empty()) look([&] { read_props(get("/props")); });
      if (info_.software.empty()) look([&] { read_tgi(get("/info")); });
    }
    if (cancelled_) return Error{ErrorCode::cancelled, "cancelled", ""};
    info_.takes_token_ids = info_.software == "llama.cpp" || info_.software == "vLLM" || info_.software == "SGLang";
    choose_length();
    return std::move(info_);
  }

 private:
  template <typename Step>
  void look(const Step& step) {
    if (!cancelled_) step();
  }

  // What is there; null if nothing is, or nothing to believe.
  Json get(const char* path, const Json& body = nullptr) {
    const Result<servers::Exchanged> exchanged = question(path, body);
    if (!exchanged) {
      cancelled_ = exchanged.error().code == ErrorCode::cancelled;
      return nullptr;
    }
    status_ = exchanged->response.status;
    if (status_ != 200) return nullptr;
    Result<Json> json = base::parse_json(exchanged->response.body);
    return json ? *std::move(json) : Json(nullptr);
  }

  Result<servers::Exchanged> question(const char* path, const Json& body) {
    ++info_.requests;
    servers::HttpRequest request{.url = server_.at(path),
                                 .api_key = options_.api_key,
                                 .deadline_s = std::min(options_.deadline_s, kDeadline),
                                 .most = kMostBytes};
    if (!body.is_null()) request.body = std::make_shared<const std::string>(body.dump());
    return servers::exchange(transfers_, options_, server_, std::move(request), cancel_);
  }

  // Fit to be printed.
  [[nodiscard]] std::string text(const Json& value) const {
    return value.is_string() ? servers::excerpt(value.get_ref<const std::string&>(), options_.api_key) : std::string();
  }

  void claim(const Json& value, const char* by, bool of_model = false) {
    if (const auto tokens = length_in(value)) info_.claims.push_back({*tokens, by, of_model});
  }

  Result<void> ask_models() {
    const Result<servers::Exchanged> exchanged = question("/v1/models", nullptr);
    if (!exchanged) return exchanged.error();
    const servers::HttpResponse& response = exchanged->response;
    if (servers::Reading dead = servers::read_probe(options_, server_, response);
        dead.verdict != servers::Verdict::answer) {
      return dead.error;
    }
    if (response.status == 401 || response.status == 403) {
      return servers::read_answer(options_, server_, response, {}).error;
    }
    const Result<Json> json = base::parse_json(response.body);
    if (response.status == 200 && json) read_models(at(*json, "data"));
    return {};
  }

  void read_models(const Json& models) {
    if (!models.is_array()) return;
    for (const Json& model : models) {
      const Json& id = at(model, "id");
      if (!id.is_string()) continue;
      const auto& name = id.get_ref<const std::string&>();
      if (!options_.model.empty() && name != options_.model) continue;
      // A name goes back to the server as it is, or not at all
      const bool exact = name.size() <= kMostName && servers::excerpt(name, options_.api_key) == name;
      if (info_.model.empty() && exact) info_.model = name;
      const Json& owner = at(model, "owned_by");
      info_.software = owner == "llamacpp" ? "llama.cpp"
                       : owner == "vllm"   ? "vLLM"
                       : owner == "sglang" ? "SGLang"
                       : owner == "me"     ? "llama-cpp-python"
                                           : "";
      claim(at(model, "max_model_len"), "GET /v1/models: max_model_len");
      claim(at(at(model, "meta"), "n_ctx"), "GET /v1/models: n_ctx");
      claim(at(at(model, "meta"), "n_ctx_train"), "GET /v1/models: n_ctx_train", true);
      return;
    }
  }

  void read_props(const Json& props) {
    const Json& n_ctx = at(at(props, "default_generation_settings"), "n_ctx");
    if (n_ctx.is_null()) return;
    info_.software = "llama.cpp";
    info_.version = text(at(props, "build_info"));
    info_.model_path = text(at(props, "model_path"));
    claim(n_ctx, "GET /props: n_ctx");
    if (const auto slots = length_in(at(props, "total_slots")); slots && *slots <= 65536) {
      info_.slots = static_cast<int>(*slots);
    }
  }

  void read_slots(const Json& slots) {
    if (!slots.is_array() || slots.empty()) return;
    const Json* least = nullptr;
    for (const Json& slot : slots) {
      const auto length = length_in(at(slot, "n_ctx"));
      if (length && (least == nullptr || *length < *length_in(*least))) least = &at(slot, "n_ctx");
    }
    if (least != nullptr) claim(*least, "GET /slots: n_ctx");
  }

  void look_at_sglang() {
    Json server = get("/server_info");
    if (status_ == 404 && !cancelled_) server = get("/get_server_info");
    info_.version = text(at(server, "version"));
    info_.model_path = text(at(server, "model_path"));
    claim(at(server, "context_length"), "GET /server_info: context_length");
  }

  void look_at_ollama() {
    look([&] {
      const Json running = get("/api/ps");
      for (const Json& model : at(running, "models")) {
        if (at(model, "name") != info_.model && at(model, "model") != info_.model) continue;
        claim(at(model, "context_length"), "GET /api/ps: context_length");
      }
    });
    look([&] {
      const Json shown = get("/api/show", {{"model", info_.model}});
      if (const auto tokens = num_ctx_in(at(shown, "parameters"))) {
        info_.claims.push_back({*tokens, "POST /api/show: num_ctx", false});
      }
      const Json& facts = at(shown, "model_info");
      const std::string architecture = text(at(facts, "general.architecture"));
      if (!architecture.empty()) {
        claim(at(facts, (architecture + ".context_length").c_str()), "POST /api/show: context_length", true);
      }
    });
  }

  void read_tgi(const Json& facts) {
    if (at(facts, "max_total_tokens").is_null()) return;
    info_.software = "TGI";
    info_.version = text(at(facts, "version"));
    info_.model_path = text(at(facts, "model_id"));
    claim(at(facts, "max_total_tokens"), "GET /info: max_total_tokens");
  }

  void choose_length() {
    const bool served =
        std::any_of(info_.claims.begin(), info_.claims.end(), [](const LengthClaim& claim) { return !claim.of_model; });
    for (const LengthClaim& claim : info_.claims) {
      if (claim.of_model == served || (info_.advertised && claim.tokens >= *info_.advertised)) continue;
      info_.advertised = claim.tokens;
      info_.advertised_by = claim.by;
    }
  }

  const ServerOptions& options_;
  servers::ServerUrl server_;
  servers::Transfers transfers_;
  const std::atomic<bool>* cancel_;
  ServerInfo info_;
  int status_ = 0;
  bool cancelled_ = false;
};

}  // namespace

Result<ServerInfo> describe_server(const ServerOptions& options, const std::atomic<bool>* cancel) {
  Result<std::vector<servers::ServerUrl>> urls = servers::check_options(options);
  if (!urls) return urls.error();
  Result<servers::Transfers> transfers = servers::Transfers::create();
  if (!transfers) return transfers.error();
  return Description(options, std::move(urls->front()), *std::move(transfers), cancel).describe();
}

}  // namespace mrrope
