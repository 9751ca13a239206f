// SPDX-License-Identifier: MIT
//
// Sources: OpenAI API reference (completions, chat completions); vLLM and SGLang, protocol of their OpenAI servers, for
// continue_final_message; llama.cpp, tools/server/README.md. Fields that not all of them know are sent only when
// needed.
#include "servers/api.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/unicode.h"
#include "servers/key.h"
#include "servers/prompt_scores.h"

namespace mrrope::servers {

namespace {

using base::Json;
using base::ObjectReader;

// No budget of tokens comes near; as JSON, with every character escaped, it still fits a record (kMaxRecordBytes).
constexpr std::size_t kMaxText = std::size_t{2} << 20;

// Errors are about texts that were not what they should be; `where` says which server.
Error about(const ServerUrl& server, ErrorCode code, std::string message) {
  return {code, std::move(message), server.given};
}

// "completely/odd; charset=x": what the server calls it, or empty if it is JSON (or not called anything).
std::string not_json(std::string_view content_type) {
  std::string kind = base::lower_case(content_type.substr(0, content_type.find(';')));
  while (kind.ends_with(' ')) kind.pop_back();
  return kind.empty() || kind == "application/json" || kind.ends_with("+json") ? std::string()
                                                                               : std::string(content_type);
}

// The server's words in the shapes they come in: OpenAI and llama.cpp {"error": {"message": …}}, TGI {"error": …},
// older vLLM {"message": …}, FastAPI {"detail": …}.
std::optional<std::string> message_in(const HttpResponse& response) {
  const Result<Json> json = base::parse_json(response.body);
  if (!json || !json->is_object()) return std::nullopt;
  const Json* object = &*json;
  if (const auto error = object->find("error"); error != object->end() && error->is_object()) object = &*error;
  for (const char* key : {"message", "error", "detail"}) {
    const auto found = object->find(key);
    if (found != object->end() && found->is_string()) return found->get<std::string>();
  }
  return std::nullopt;
}

std::int64_t count(ObjectReader& usage, std::string_view key) {
  if (!usage.has(key) || usage.any(key).is_null()) return 0;
  return usage.integer(key, 0, std::int64_t{1} << 53);
}

// Throws base::Rejected. Fields we have no use for may be anything.
ServerAnswer answer_in(const Json& json, bool chat, std::string_view answer_prefix) {
  ObjectReader body(json, "");
  const Json& choices = body.array("choices");
  if (choices.empty()) body.reject("choices", ErrorCode::malformed, "expected an answer, found none");
  ObjectReader choice(choices.front(), "choices[0]");
  ServerAnswer answer;
  if (chat) {
    ObjectReader message = choice.object("message");
    // null: nothing but thoughts, or nothing at all.
    if (!message.any("content").is_null()) answer.text = message.text("content");
    // llama-server, known by its timings, repeats the message it continued (0.5.0); the others do not.
    if (body.has("timings") && answer.text.starts_with(answer_prefix)) answer.text.erase(0, answer_prefix.size());
  } else {
    answer.text = choice.text("text");
  }
  if (choice.has("finish_reason") && !choice.any("finish_reason").is_null()) {
    answer.finish = choice.text("finish_reason");
    if (answer.finish.size() > 32 ||
        answer.finish.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos) {
      choice.reject("finish_reason", ErrorCode::malformed, "expected a word like stop or length");
    }
  }
  if (body.has("usage") && !body.any("usage").is_null()) {
    ObjectReader usage = body.object("usage");
    answer.prompt_tokens = count(usage, "prompt_tokens");
    answer.new_tokens = count(usage, "completion_tokens");
  }
  return answer;
}

Reading read_success(const ServerOptions& options, const ServerUrl& server, const HttpResponse& response,
                     const Asked& asked) {
  const auto again = [&](const std::string& problem) {
    std::string message = problem;
    if (const std::string said = excerpt(response.body, options.api_key); !said.empty()) message += ": " + said;
    return Reading{Verdict::again, {}, about(server, ErrorCode::malformed, std::move(message))};
  };
  if (const std::string kind = not_json(response.content_type); !kind.empty()) {
    return again(fmt::format("expected JSON, found {}", excerpt(kind, options.api_key)));
  }
  const Result<Json> json = base::parse_json(response.body);
  if (!json) return again(excerpt("the answer is no JSON to rely on: " + to_string(json.error()), options.api_key));
  try {
    if (options.scores != PromptScores::none) {
      std::optional<ServerAnswer> scored = scores_in(options.scores, *json, asked);
      if (!scored) return {Verdict::stop, {}, no_scores(server)};
      return {Verdict::answer, *std::move(scored), {}};
    }
    ServerAnswer answer = answer_in(*json, options.chat, asked.answer_prefix);
    if (answer.text.size() > kMaxText) {
      return again(fmt::format("the answer's text has {} bytes, more than {}", answer.text.size(), kMaxText));
    }
    if (repeats_key(answer.text, options.api_key)) {
      return Reading{Verdict::again, {}, about(server, ErrorCode::malformed, "the answer repeats the API key")};
    }
    answer.text = without_key(answer.text, options.api_key);
    answer.finish = without_key(answer.finish, options.api_key);
    return Reading{Verdict::answer, std::move(answer), {}};
  } catch (const base::Rejected& rejected) {
    return again(excerpt(to_string(rejected.error), options.api_key));
  }
}

}  // namespace

std::string_view completions_path(const ServerOptions& options) {
  if (options.scores == PromptScores::sglang) return "/generate";
  return options.chat ? "/v1/chat/completions" : "/v1/completions";
}

Result<std::string> request_body(const ServerOptions& options, const ServerRequest& request) {
  if (options.scores != PromptScores::none) return scores_body(options, request);
  if (request.max_tokens < 1) {
    return Error{ErrorCode::invalid_argument, fmt::format("expected 1 or more, found {}", request.max_tokens),
                 "max_tokens"};
  }
  Json body = Json::object();
  if (!options.model.empty()) body["model"] = options.model;
  if (options.chat) {
    Json messages = Json::array({{{"role", "user"}, {"content", request.prompt}}});
    if (!request.answer_prefix.empty()) {
      messages.push_back({{"role", "assistant"}, {"content", request.answer_prefix}});
      body["continue_final_message"] = true;
      body["add_generation_prompt"] = false;
    }
    body["messages"] = std::move(messages);
  } else {
    body["prompt"] = request.prompt + request.answer_prefix;
  }
  body["max_tokens"] = request.max_tokens;
  body["temperature"] = 0;
  body["stream"] = false;
  if (!request.stop.empty()) body["stop"] = request.stop;
  try {
    return body.dump();
  } catch (const Json::exception&) {
    return Error{ErrorCode::invalid_argument, "the text of the request is not UTF-8", "prompt"};
  }
}

std::string status_text(const HttpResponse& response, std::string_view api_key) {
  const std::optional<std::string> message = message_in(response);
  const std::string said = excerpt(message ? *message : response.body, api_key);
  return fmt::format("HTTP {}{}{}", response.status, said.empty() ? "" : ": ", said);
}

Reading no_answer(const ServerOptions& options, const ServerUrl& server, const Error& error) {
  return {Verdict::again, {}, about(server, error.code, excerpt(error.message, options.api_key))};
}

Reading read_probe(const ServerOptions& options, const ServerUrl& server, const HttpResponse& response) {
  if (response.status >= 300 && response.status < 400) {
    return {Verdict::again,
            {},
            about(server, ErrorCode::io,
                  fmt::format("HTTP {}: redirects to {} are not followed; give that address instead", response.status,
                              response.redirect.empty() ? "elsewhere" : excerpt(response.redirect, options.api_key)))};
  }
  if (response.status < 200 || (response.status >= 502 && response.status <= 504)) {
    return {response.status == 503 ? Verdict::busy : Verdict::again,
            {},
            about(server, ErrorCode::io, status_text(response, options.api_key))};
  }
  return {Verdict::answer, {}, {}};
}

Reading read_answer(const ServerOptions& options, const ServerUrl& server, const HttpResponse& response,
                    const Asked& asked) {
  const int status = response.status;
  if (status >= 200 && status < 300) return read_success(options, server, response, asked);
  if (Reading dead = read_probe(options, server, response); dead.verdict != Verdict::answer) return dead;
  std::string said = status_text(response, options.api_key);
  if (status == 408 || status >= 500) return {Verdict::again, {}, about(server, ErrorCode::io, std::move(said))};
  if (status == 429) return {Verdict::busy, {}, about(server, ErrorCode::io, std::move(said))};
  const std::string advice =
      status == 401 || status == 403
          ? (options.api_key.empty() ? "the server asks for an API key; mrrope eval takes it from MRROPE_API_KEY"
                                     : "the server does not accept the API key")
      : status == 404 ? fmt::format(
                            "is this an OpenAI-compatible server, does it have {}, and does it call "
                            "its model \"{}\"? GET /v1/models tells",
                            completions_path(options), options.model)
                      : "";
  if (advice.empty()) return {Verdict::refused, {}, about(server, ErrorCode::invalid_argument, std::move(said))};
  return {Verdict::stop, {}, about(server, ErrorCode::invalid_argument, fmt::format("{} ({})", said, advice))};
}

}  // namespace mrrope::servers
