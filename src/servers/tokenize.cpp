// SPDX-License-Identifier: MIT
//
// Two shapes of POST /tokenize. llama-server's comes first: asked in the other one it would count nothing, and say so
// with HTTP 200.
//
//   llama-server   {"content": text}                                              {"tokens": [1, 2, …]}
//   vLLM, SGLang   {"model": name, "prompt": text, "add_special_tokens": false}   {"count": 2, …}
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/json.h"
#include "mrrope/servers.h"
#include "servers/api.h"
#include "servers/check.h"
#include "servers/question.h"
#include "servers/transfer.h"

namespace mrrope {

namespace {

using base::Json;
using servers::HttpResponse;
using servers::ServerUrl;
using servers::Transfers;

Error unsupported(const ServerUrl& server, std::string message) {
  return {ErrorCode::unsupported, std::move(message), server.given};
}

// A JSON object; ErrorCode::unsupported if the server does not understand the question.
Result<Json> ask(Transfers& transfers, const ServerOptions& options, const ServerUrl& server,
                 std::shared_ptr<const std::string> question, const std::atomic<bool>* cancel) {
  servers::HttpRequest request{.url = server.at("/tokenize"),
                               .body = std::move(question),
                               .api_key = options.api_key,
                               .deadline_s = options.deadline_s};
  const Result<servers::Exchanged> exchanged =
      servers::exchange(transfers, options, server, std::move(request), cancel);
  if (!exchanged) return exchanged.error();
  const HttpResponse& response = exchanged->response;
  if (const int status = response.status; status < 200 || status >= 300) {
    std::string said = servers::status_text(response, options.api_key);
    if (status == 401 || status == 403) return Error{ErrorCode::invalid_argument, std::move(said), server.given};
    if (status == 408 || status == 429 || status >= 500) return Error{ErrorCode::io, std::move(said), server.given};
    return unsupported(server, "the server does not count tokens: " + said);
  }
  Result<Json> json = base::parse_json(response.body);
  if (!json || !json->is_object()) return unsupported(server, "POST /tokenize is not answered with a JSON object");
  return json;
}

Result<std::int64_t> count_in(const Json& answer, const ServerUrl& server) {
  if (const auto count = answer.find("count"); count != answer.end() && count->is_number_unsigned()) {
    if (const auto value = count->get<std::uint64_t>(); value <= std::uint64_t{1} << 53) {
      return static_cast<std::int64_t>(value);
    }
  }
  if (const auto tokens = answer.find("tokens"); tokens != answer.end() && tokens->is_array()) {
    return static_cast<std::int64_t>(tokens->size());
  }
  return unsupported(server, "POST /tokenize is answered with neither a count nor tokens");
}

Result<std::vector<std::int32_t>> tokens_in(const Json& answer, const ServerUrl& server) {
  const auto found = answer.find("tokens");
  if (found == answer.end() || !found->is_array()) {
    return unsupported(server, "POST /tokenize is answered without tokens");
  }
  std::vector<std::int32_t> tokens;
  for (const Json& token : *found) {
    if (!token.is_number_unsigned() || token.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      return Error{ErrorCode::malformed,
                   fmt::format("POST /tokenize: tokens[{}]: expected the number of a token", tokens.size()),
                   server.given};
    }
    tokens.push_back(token.get<std::int32_t>());
  }
  return tokens;
}

// As vLLM and SGLang are asked.
Json vllm_question(const ServerOptions& options, std::string_view text, bool special) {
  Json question = {{"prompt", text}, {"add_special_tokens", special}};
  if (!options.model.empty()) question["model"] = options.model;
  return question;
}

}  // namespace

Result<std::int64_t> server_token_count(const ServerOptions& options, std::string_view text,
                                        const std::atomic<bool>* cancel) {
  const Result<std::vector<ServerUrl>> urls = servers::check_options(options);
  if (!urls) return urls.error();
  Result<Transfers> transfers = Transfers::create();
  if (!transfers) return transfers.error();
  std::vector<std::shared_ptr<const std::string>> questions;
  try {
    for (const Json& question : {Json{{"content", text}}, vllm_question(options, text, false)}) {
      questions.push_back(std::make_shared<const std::string>(question.dump()));
    }
  } catch (const Json::exception&) {
    return Error{ErrorCode::invalid_argument, "the text is not UTF-8", "text"};
  }
  Error last;
  const bool has_words = text.find_first_not_of(" \t\r\n") != std::string_view::npos;
  for (const ServerUrl& server : *urls) {
    for (const auto& question : questions) {
      const Result<Json> answer = ask(*transfers, options, server, question, cancel);
      Result<std::int64_t> count = answer ? count_in(*answer, server) : Result<std::int64_t>(answer.error());
      if (count && *count == 0 && has_words) {
        count = Error{ErrorCode::unsupported,
                      fmt::format("POST /tokenize finds no token in a text of {} bytes; a GGUF of the model has its "
                                  "vocabulary",
                                  text.size()),
                      server.given, "vocabulary"};
      }
      if (count || count.error().code == ErrorCode::cancelled) return count;
      last = count.error();
      if (last.code != ErrorCode::unsupported) break;  // the other shape would not help
    }
  }
  return last;
}

Result<std::vector<std::int32_t>> server_tokens(const ServerOptions& options, std::string_view text, bool special,
                                                const std::atomic<bool>* cancel) {
  const Result<std::vector<ServerUrl>> urls = servers::check_options(options);
  if (!urls) return urls.error();
  Result<Transfers> transfers = Transfers::create();
  if (!transfers) return transfers.error();
  std::shared_ptr<const std::string> question;
  try {
    question = std::make_shared<const std::string>(vllm_question(options, text, special).dump());
  } catch (const Json::exception&) {
    return Error{ErrorCode::invalid_argument, "the text is not UTF-8", "text"};
  }
  Result<std::vector<std::int32_t>> tokens = Error{};
  for (const ServerUrl& server : *urls) {
    const Result<Json> answer = ask(*transfers, options, server, question, cancel);
    tokens = answer ? tokens_in(*answer, server) : Result<std::vector<std::int32_t>>(answer.error());
    if (tokens || tokens.error().code == ErrorCode::cancelled) return tokens;
  }
  return tokens;
}

}  // namespace mrrope
