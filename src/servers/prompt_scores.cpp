// SPDX-License-Identifier: MIT
//
// Sources: vLLM 0.32.0, entrypoints/openai/completion ("prompt_logprobs", "logprob_token_ids"; run); SGLang 0.5.23,
// docs/basic_usage/native_api and srt/managers/io_struct.py (GenerateReqInput; read, not run).
//
//   vLLM     choices[0].prompt_logprobs:      [null, {"84": {"logprob": -2.58, "rank": 3, "decoded_token": "T"}}, …]
//            choices[0].logprobs.top_logprobs: [{"token_id:84": -2.58, …}]           of the answer
//   SGLang   meta_info.input_token_logprobs:  [[null, 1, null], [-2.58, 84, null], …]
//            meta_info.output_token_ids_logprobs: [[[-2.58, 84, null]]]              of the answer
#include "servers/prompt_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace mrrope::servers {

namespace {

using base::Json;
using base::ObjectReader;

constexpr std::size_t kOtherBytes = std::size_t{8} << 20, kTokenBytes = 256;
// Of a probability of 1, in float32, after a sum over the vocabulary in another order.
constexpr double kRounding = 1e-3;
// What vLLM writes for a probability of 0.
constexpr double kNever = -9999;

[[noreturn]] void reject(const std::string& place, const std::string& message) {
  throw base::Rejected{{ErrorCode::malformed, message, place}};
}

double score(const Json& value, const std::string& place) {
  if (!value.is_number()) reject(place, fmt::format("expected a log probability, found {}", base::kind_of(value)));
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number > kRounding) {
    reject(place, fmt::format("expected a log probability, found {}", number));
  }
  if (number <= kNever) reject(place, fmt::format("the server writes {}, which is no probability at all", number));
  return std::min(number, 0.0);
}

// The tokens that are sent as the prompt.
std::span<const std::int32_t> prompt_of(const Asked& asked) {
  return std::span(asked.tokens).first(asked.tokens.size() - (asked.fills_context ? 1 : 0));
}

void check_size(const Json& values, std::size_t tokens, const std::string& place) {
  if (values.size() != tokens) reject(place, fmt::format("expected {} values, found {}", tokens, values.size()));
}

// {"84": {"logprob": -2.58, …}}; others may stand beside it.
double of_vllm(const Json& value, std::int32_t token, const std::string& place) {
  const ObjectReader tokens(value, place);
  const std::string name = std::to_string(token);
  if (!tokens.has(name)) {
    reject(place, fmt::format("expected token {}, found {}", token,
                              value.empty() ? "none" : "token " + value.begin().key().substr(0, 16)));
  }
  ObjectReader fields(value.at(name), place);
  return score(fields.any("logprob"), place);
}

// [-2.58, 84, null]
double of_sglang(const Json& value, std::int32_t token, const std::string& place) {
  if (!value.is_array() || value.size() < 2) {
    reject(place, fmt::format("expected a log probability and a token, found {}", base::kind_of(value)));
  }
  if (value[1] != token) reject(place, fmt::format("expected token {}, found another", token));
  return score(value[0], place);
}

double last_of_vllm(const Json& answer, std::int32_t token) {
  ObjectReader choice(answer.at("choices").front(), "choices[0]");
  ObjectReader logprobs = choice.object("logprobs");
  const Json& top = logprobs.array("top_logprobs");
  const std::string where = "choices[0].logprobs.top_logprobs";
  check_size(top, 1, where);
  ObjectReader tokens(top.front(), where + "[0]");
  return score(tokens.any(fmt::format("token_id:{}", token)), where + "[0]");
}

double last_of_sglang(const Json& answer, std::int32_t token) {
  ObjectReader meta(answer.at("meta_info"), "meta_info");
  const Json& places = meta.array("output_token_ids_logprobs");
  const std::string where = "meta_info.output_token_ids_logprobs";
  check_size(places, 1, where);
  if (!places.front().is_array()) reject(where + "[0]", "expected a list");
  check_size(places.front(), 1, where + "[0]");
  return of_sglang(places.front().front(), token, where + "[0][0]");
}

// The list of values; null: the server does not know what it was asked for.
const Json* values_in(PromptScores scores, const Json& answer) {
  ObjectReader body(answer, "");
  const auto list = [](ObjectReader fields, std::string_view key) {
    return fields.has(key) && !fields.any(key).is_null() ? &fields.array(key) : nullptr;
  };
  if (scores == PromptScores::sglang) return list(body.object("meta_info"), "input_token_logprobs");
  const Json& choices = body.array("choices");
  if (choices.empty()) body.reject("choices", ErrorCode::malformed, "expected an answer, found none");
  return list(ObjectReader(choices.front(), "choices[0]"), "prompt_logprobs");
}

}  // namespace

Result<std::string> scores_body(const ServerOptions& options, const ServerRequest& request) {
  if (request.tokens.size() < 2) {
    return Error{ErrorCode::invalid_argument, fmt::format("expected 2 or more, found {}", request.tokens.size()),
                 "tokens"};
  }
  const std::vector<std::int32_t> prompt(request.tokens.begin(),
                                         request.tokens.end() - (request.fills_context ? 1 : 0));
  Json body = Json::object();
  if (options.scores == PromptScores::sglang) {
    body["input_ids"] = prompt;
    body["sampling_params"] = {{"max_new_tokens", 1}, {"temperature", 0}};
    body["return_logprob"] = true;
    body["logprob_start_len"] = 0;
    if (request.fills_context) body["token_ids_logprob"] = Json::array({request.tokens.back()});
  } else {
    if (!options.model.empty()) body["model"] = options.model;
    body["prompt"] = prompt;
    body["max_tokens"] = 1;
    body["temperature"] = 0;
    body["prompt_logprobs"] = 0;
    if (request.fills_context) {
      body["logprobs"] = 0;
      body["logprob_token_ids"] = Json::array({request.tokens.back()});
      body["return_tokens_as_token_ids"] = true;
    }
  }
  body["stream"] = false;
  return body.dump();
}

std::size_t most_bytes(const Asked& asked) {
  return std::min(base::kMaxJsonBytes, kOtherBytes + kTokenBytes * asked.tokens.size());
}

Error no_scores(const ServerUrl& server) {
  return {ErrorCode::unsupported,
          "the server does not say how likely the tokens of a prompt are, which vLLM and SGLang do", server.given};
}

std::optional<ServerAnswer> scores_in(PromptScores scores, const Json& answer, const Asked& asked) {
  const bool vllm = scores == PromptScores::vllm;
  const std::string where = vllm ? "choices[0].prompt_logprobs" : "meta_info.input_token_logprobs";
  const std::span<const std::int32_t> prompt = prompt_of(asked);
  const Json* found = values_in(scores, answer);
  if (found == nullptr) return std::nullopt;
  const Json& values = *found;
  check_size(values, prompt.size(), where);
  ServerAnswer out;
  for (std::size_t i = 1; i < prompt.size(); ++i) {
    out.scores.push_back((vllm ? of_vllm : of_sglang)(values[i], prompt[i], fmt::format("{}[{}]", where, i)));
  }
  if (asked.fills_context) {
    out.scores.push_back((vllm ? last_of_vllm : last_of_sglang)(answer, asked.tokens.back()));
  }
  return out;
}

}  // namespace mrrope::servers
