// SPDX-License-Identifier: MIT
//
// Two shapes of POST /tokenize. llama-server's comes first: asked in the other one it would count nothing, and say so
// with HTTP 200.
//
//   llama-server   {"content": text}                                              {"tokens": [1, 2, …]}
//   vLLM, SGLang   {"model": name, "prompt": text, "add_special_tokens": false}   {"count": 2, …}
#include <fmt/format.h>

#include <memory>
#include <utility>

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

// The count; ErrorCode::unsupported if the server does not understand the question.
Result<std::int64_t> ask(Transfers& transfers, const ServerOptions& options, const ServerUrl& server,
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
  const Result<Json> json = base::parse_json(response.body);
  if (!json || !json->is_object()) return unsupported(server, "POST /tokenize is not answered with a JSON object");
  if (const auto count = json->find("count"); count != json->end() && count->is_number_unsigned()) {
    if (const auto value = count->get<std::uint64_t>(); value <= std::uint64_t{1} << 53) {
      return static_cast<std::int64_t>(value);
    }
  }
  if (const auto tokens = json->find("tokens"); tokens != json->end() && tokens->is_array()) {
    return static_cast<std::int64_t>(tokens->size());
  }
  return unsupported(server, "POST /tokenize is answered with neither a count nor tokens");
}

}  // namespace

Result<std::int64_t> server_token_count(const ServerOptions& options, std::string_view text,
                                        const std::atomic<bool>* cancel) {
  const Result<std::vector<ServerUrl>> urls = servers::check_options(options);
  if (!urls) return urls.error();
  Result<Transfers> transfers = Transfers::create();
  if (!transfers) return transfers.error();
  Json vllm = {{"prompt", text}, {"add_special_tokens", false}};
  if (!options.model.empty()) vllm["model"] = options.model;
  std::vector<std::shared_ptr<const std::string>> questions;
  try {
    for (const Json& question : {Json{{"content", text}}, vllm}) {
      questions.push_back(std::make_shared<const std::string>(question.dump()));
    }
  } catch (const Json::exception&) {
    return Error{ErrorCode::invalid_argument, "the text is not UTF-8", "text"};
  }
  Error last;
  const bool has_words = text.find_first_not_of(" \t\r\n") != std::string_view::npos;
  for (const ServerUrl& server : *urls) {
    for (const auto& question : questions) {
      Result<std::int64_t> count = ask(*transfers, options, server, question, cancel);
      if (count && *count == 0 && has_words) {
        count = unsupported(server, fmt::format("POST /tokenize finds no token in a text of {} bytes; count with the "
                                                "model's own vocabulary: -m model.gguf",
                                                text.size()));
      }
      if (count || count.error().code == ErrorCode::cancelled) return count;
      last = count.error();
      if (last.code != ErrorCode::unsupported) break;  // the other shape would not help
    }
  }
  return last;
}

}  // namespace mrrope
