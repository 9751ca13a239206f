// SPDX-License-Identifier: MIT
//
// What a server says, of any status: an answer or an error, fit for a record, without the key.
//
//   fuzz_server tests/fuzz/corpus/server      the first byte of an input chooses the status and the kind of question
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/unicode.h"
#include "servers/api.h"

namespace {

using namespace mrrope;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::string_view kKey = "sk-Abcdefgh12345678";

// No eight characters of the key in a row.
bool tells_the_key(const std::string& text) {
  const std::string lower = base::lower_case(text), key = base::lower_case(kKey);
  for (std::size_t i = 0; i + 8 <= key.size(); ++i) {
    if (lower.find(key.substr(i, 8)) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array<int, 10> statuses = {200, 200, 200, 204, 301, 400, 401, 404, 429, 503};
  if (size == 0) return 0;
  servers::HttpResponse response{.status = statuses[data[0] % statuses.size()],
                                 .content_type = (data[0] & 64U) != 0 ? "application/json" : "",
                                 .redirect = "http://elsewhere",
                                 .retry_after_s = 0,
                                 .body = std::string(reinterpret_cast<const char*>(data) + 1, size - 1)};
  ServerOptions options;
  options.urls = {"http://localhost:1"};
  options.model = "m";
  options.api_key = kKey;
  options.chat = (data[0] & 128U) != 0;
  const Result<servers::ServerUrl> url = servers::parse_server_url(options.urls[0]);
  for (const char* prefix : {"", "The answer is"}) {
    const servers::Reading reading = servers::read_answer(options, *url, response, {.answer_prefix = prefix});
    if (reading.verdict == servers::Verdict::answer) {
      require(!tells_the_key(reading.answer.text) && !tells_the_key(reading.answer.finish));
      require(reading.answer.prompt_tokens >= 0 && reading.answer.new_tokens >= 0);
    } else {
      require(!reading.error.message.empty() && !tells_the_key(reading.error.message));
    }
  }
  for (const PromptScores scores : {PromptScores::vllm, PromptScores::sglang}) {
    options.scores = scores;
    for (const bool fills_context : {false, true}) {
      const servers::Asked asked{.tokens = {1, 84, 97}, .fills_context = fills_context};
      const servers::Reading reading = servers::read_answer(options, *url, response, asked);
      require(reading.verdict != servers::Verdict::answer || reading.answer.scores.size() == 2);
      for (const double score : reading.answer.scores) require(score <= 0 && score > -9999);
      require(!tells_the_key(reading.error.message));
    }
  }
  const servers::Reading probe = servers::read_probe(options, *url, response);
  require(!tells_the_key(probe.error.message));
  const std::string said = servers::status_text(response, kKey);
  require(!tells_the_key(said));
  require(std::none_of(said.begin(), said.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  return 0;
}
