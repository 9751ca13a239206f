// SPDX-License-Identifier: MIT
//
// Sources of what is read: OpenAI API reference (completions: {"tokens", "token_logprobs", "top_logprobs": [{token:
// number}]}; chat: {"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}]}]}); vLLM 0.32.0 and SGLang
// 0.5.23 follow it, llama-server 0.5.0 has the chat's shape in both places.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "base/json.h"
#include "mrrope/ask_server.h"
#include "servers/api.h"
#include "servers/check.h"
#include "servers/question.h"

namespace mrrope {

namespace {

using base::Json;
using base::ObjectReader;
using servers::HttpResponse;

constexpr int kMostTop = 20;             // OpenAI's own limit of a chat, and vLLM's default
constexpr std::size_t kMostToken = 64;   // bytes of a token's text that are kept
constexpr std::size_t kMostNumbers = 8;  // in a server's words
constexpr int kWaits = 3;
constexpr double kLongestWait = 10;  // seconds

Result<std::string> body_of(const ServerOptions& options, const ServerQuestion& question) {
  Result<std::string> text =
      servers::request_body(options, {.prompt = question.prompt, .max_tokens = question.max_tokens});
  if (!text) return text.error();
  Json body = *base::parse_json(*text);
  if (!question.tokens.empty()) body["prompt"] = question.tokens;
  if (question.whole_prompt) {
    body["prompt_logprobs"] = question.top;
  } else if (question.top > 0) {
    const bool of_chat = options.chat || question.top_of_chat;
    body["logprobs"] = of_chat ? Json(true) : Json(question.top);
    if (of_chat) body["top_logprobs"] = question.top;
    else body["return_tokens_as_token_ids"] = true;  // vLLM: numbers instead of texts, which others do not read
  }
  if (question.temperature > 0) {
    body["temperature"] = question.temperature;
    body["seed"] = question.seed;
    body["top_p"] = 1;
  }
  if (question.past_end) body["ignore_eos"] = true;
  if (question.cache_prompt) body["cache_prompt"] = *question.cache_prompt;
  if (!question.cache_salt.empty()) body["cache_salt"] = question.cache_salt;
  return body.dump();
}

constexpr std::string_view kTokenId = "token_id:";

std::optional<std::int32_t> number_of(std::string_view digits) {
  std::int32_t id = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (problem != std::errc() || end != digits.data() + digits.size() || id < 0) return std::nullopt;
  return id;
}

// "token_id:84", as vLLM names tokens when it is asked to.
std::optional<std::int32_t> id_in(std::string_view token) {
  return token.starts_with(kTokenId) ? number_of(token.substr(kTokenId.size())) : std::nullopt;
}

// Throws base::Rejected. A log probability is at most 0 but for rounding; some servers write -9999 for "none".
TokenChance chance(std::string token, std::optional<std::int32_t> id, const Json& value) {
  const double number = value.is_number() ? value.get<double>() : 1;
  if (!std::isfinite(number) || number > 1e-3) {
    throw base::Rejected{{ErrorCode::malformed, "expected a log probability", "logprobs"}};
  }
  if (token.size() > kMostToken) token.resize(kMostToken);
  return {std::move(token), id, std::min(number, 0.0)};
}

TokenChance chance(std::string token, const Json& value) {
  const std::optional<std::int32_t> id = id_in(token);
  return chance(std::move(token), id, value);
}

// {"id": 84, "token": "T", "logprob": -2.58, …}; llama-server and mlx-lm tell the number.
TokenChance chance_of_chat(const Json& json) {
  ObjectReader fields(json, "top_logprobs");
  std::optional<std::int32_t> id;
  if (fields.has("id") && !fields.any("id").is_null()) {
    id = static_cast<std::int32_t>(fields.integer("id", 0, std::numeric_limits<std::int32_t>::max()));
  }
  return chance(fields.text("token"), id, fields.any("logprob"));
}

std::vector<TokenChance> sorted(std::vector<TokenChance> chances) {
  std::stable_sort(chances.begin(), chances.end(),
                   [](const TokenChance& a, const TokenChance& b) { return a.log_probability > b.log_probability; });
  if (chances.size() > kMostTop) chances.resize(kMostTop);
  return chances;
}

// Throws base::Rejected; also where there is nothing.
std::vector<std::vector<TokenChance>> top_in(const Json& logprobs, int max_tokens) {
  std::vector<std::vector<TokenChance>> top;
  ObjectReader reader(logprobs, "logprobs");
  const bool as_chat = reader.has("content");
  const Json& places = reader.array(as_chat ? "content" : "top_logprobs");
  for (const Json& place : places) {
    if (top.size() == static_cast<std::size_t>(max_tokens)) break;
    std::vector<TokenChance> chances;
    if (as_chat) {
      ObjectReader fields(place, "logprobs.content");
      for (const Json& one : fields.array("top_logprobs")) chances.push_back(chance_of_chat(one));
    } else if (place.is_object()) {
      for (const auto& [token, value] : place.items()) chances.push_back(chance(token, value));
    }
    if (chances.empty()) break;
    top.push_back(sorted(std::move(chances)));
  }
  return top;
}

// Throws base::Rejected. The tokens of the answer; of a server that does not say, none.
std::vector<TokenChance> chosen_in(const Json& logprobs, int max_tokens) {
  std::vector<TokenChance> chosen;
  ObjectReader reader(logprobs, "logprobs");
  const auto room = [&] { return chosen.size() < static_cast<std::size_t>(max_tokens); };
  if (reader.has("content")) {
    for (const Json& place : reader.array("content")) {
      if (room()) chosen.push_back(chance_of_chat(place));
    }
  } else if (reader.has("tokens") && reader.has("token_logprobs")) {
    const Json& tokens = reader.array("tokens");
    const Json& values = reader.array("token_logprobs");
    for (std::size_t i = 0; i < tokens.size() && i < values.size() && room(); ++i) {
      if (!tokens[i].is_string()) reader.reject("tokens", ErrorCode::malformed, "expected a text");
      chosen.push_back(chance(tokens[i].get<std::string>(), values[i]));
    }
  }
  return chosen;
}

// Throws base::Rejected. vLLM: [null, {"84": {"logprob": -2.58, "rank": 3, "decoded_token": "T"}, …}, …]
std::vector<std::vector<TokenChance>> prompt_top_in(const Json& places, std::size_t most) {
  std::vector<std::vector<TokenChance>> top;
  if (!places.is_array()) return top;
  for (const Json& place : places) {
    if (top.size() == most) break;
    std::vector<TokenChance> chances;
    if (place.is_object()) {
      for (const auto& [number, value] : place.items()) {
        ObjectReader fields(value, "prompt_logprobs");
        chances.push_back(chance(number, number_of(number), fields.any("logprob")));
      }
    }
    top.push_back(sorted(std::move(chances)));
  }
  return top;
}

std::vector<std::int64_t> numbers_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < text.size() && numbers.size() < kMostNumbers; ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    std::int64_t number = 0;
    std::size_t digits = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      if (++digits <= 12) number = number * 10 + (text[i] - '0');
    }
    if (digits <= 12) numbers.push_back(number);
  }
  return numbers;
}

Result<ServerReply> read(const ServerOptions& options, const servers::ServerUrl& server, const ServerQuestion& question,
                         const HttpResponse& response) {
  servers::Reading reading = servers::read_answer(options, server, response, {});
  ServerReply reply{.status = response.status};
  if (!reply.answered()) {
    if (reading.verdict == servers::Verdict::stop || !reply.refused()) return reading.error;
    reply.said = servers::status_text(response, options.api_key);
    reply.numbers = numbers_in(std::string_view(reply.said).substr(std::min(reply.said.size(), std::size_t{8})));
    return reply;
  }
  if (reading.verdict != servers::Verdict::answer) return reading.error;
  reply.text = std::move(reading.answer.text);
  reply.finish = std::move(reading.answer.finish);
  if (reading.answer.prompt_tokens > 0) reply.prompt_tokens = reading.answer.prompt_tokens;
  if (reading.answer.new_tokens > 0) reply.new_tokens = reading.answer.new_tokens;
  if (question.top == 0) return reply;
  const Json json = *base::parse_json(response.body);  // read_answer has seen that it is one with choices
  try {
    const Json& choice = json.at("choices").front();
    if (const auto found = choice.find("logprobs"); found != choice.end()) {
      if (!found->is_null()) {
        reply.top = top_in(*found, question.max_tokens);
        reply.chosen = chosen_in(*found, question.max_tokens);
      }
    }
    if (const auto found = choice.find("prompt_logprobs"); found != choice.end() && question.whole_prompt) {
      reply.prompt_top = prompt_top_in(*found, question.tokens.size());
    }
  } catch (const base::Rejected&) {
    reply.top.clear();
    reply.chosen.clear();
    reply.prompt_top.clear();
  }
  return reply;
}

}  // namespace

bool ServerReply::refused() const {
  if (status < 400 || status == 401 || status == 403 || status == 404 || status == 408 || status == 429) return false;
  return status < 502 || status > 504;
}

Result<ServerReply> ask_server(const ServerOptions& options, const ServerQuestion& question,
                               const std::atomic<bool>* cancel) {
  const Result<std::vector<servers::ServerUrl>> urls = servers::check_options(options);
  if (!urls) return urls.error();
  if (question.top < 0 || question.top > kMostTop) {
    return Error{ErrorCode::invalid_argument, "expected 0 to 20", "top"};
  }
  Result<std::string> body = body_of(options, question);
  if (!body) return body.error();
  const auto shared = std::make_shared<const std::string>(*std::move(body));
  Result<servers::Transfers> transfers = servers::Transfers::create();
  if (!transfers) return transfers.error();
  const servers::ServerUrl& server = urls->front();
  for (int waits = 0;; ++waits) {
    Result<servers::Exchanged> exchanged = servers::exchange(*transfers, options, server,
                                                             {.url = server.at(servers::completions_path(options)),
                                                              .body = shared,
                                                              .api_key = options.api_key,
                                                              .deadline_s = options.deadline_s},
                                                             cancel);
    if (!exchanged) return exchanged.error();
    const int status = exchanged->response.status;
    if ((status == 429 || status == 503) && waits < kWaits) {
      const double wait = std::clamp(exchanged->response.retry_after_s, 0.5, kLongestWait);
      const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait);
      while (std::chrono::steady_clock::now() < end) {
        if (cancel != nullptr && *cancel) return Error{ErrorCode::cancelled, "cancelled", ""};
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      continue;
    }
    Result<ServerReply> reply = read(options, server, question, exchanged->response);
    if (reply) reply->seconds = exchanged->seconds;
    return reply;
  }
}

}  // namespace mrrope
