// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "measure/meter.h"
#include "mrrope/served.h"
#include "mrrope/server_info.h"
#include "mrrope/version.h"

namespace mrrope::eval {

namespace {

constexpr std::int64_t kBucket = 256;  // as in mrrope/perplexity.h: records of both are compared by stretches

// One that answers nothing yet is waited for as run_requests() waits.
Result<void> wait_for(const ServerOptions& servers, const std::atomic<bool>* cancel) {
  ServerOptions plain = servers;
  plain.scores = PromptScores::none;
  plain.chat = false;
  return run_requests(
      plain, 1, [](std::size_t) -> Result<ServerRequest> { return ServerRequest{.prompt = "one", .max_tokens = 1}; },
      [](std::size_t, const Result<ServerAnswer>& answer) -> Result<void> {
        if (!answer) return answer.error();
        return {};
      },
      cancel);
}

// The longest of the lengths that a text reaches; 0: none.
std::int64_t reach(const ServedText& text, const std::vector<std::int64_t>& lengths) {
  std::int64_t longest = 0;
  for (const std::int64_t length : lengths) {
    if (length <= std::ssize(text.tokens)) longest = std::max(longest, length);
  }
  return longest;
}

// `scores[i]` is of token i + 1.
Reading sums_of(const std::vector<double>& scores, const std::vector<std::int64_t>& lengths) {
  Reading reading{.bucket = kBucket};
  double total = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double nll = -scores[i];
    const std::size_t bucket = (i + 1) / static_cast<std::size_t>(kBucket);
    if (reading.bucket_nll.size() <= bucket) reading.bucket_nll.resize(bucket + 1);
    reading.bucket_nll[bucket] += nll;
    total += nll;
    const auto seen = static_cast<std::int64_t>(i + 2);  // tokens of the prefix that ends with the scored one
    if (std::find(lengths.begin(), lengths.end(), seen) != lengths.end()) {
      reading.points.push_back({seen, seen - 1, total});
    }
  }
  return reading;
}

// Two records are the same measurement if these agree.
std::string record_key(const RunInfo& info, const std::string& candidate, const ServedText& text,
                       const std::vector<std::int64_t>& lengths) {
  std::string all = fmt::format("{}\n{}\n{}\n{}\n{}\nlengths={}\n", MRROPE_VERSION, info.task, info.model_hash,
                                text.hash, candidate, fmt::join(lengths, ","));
  for (const auto& [flag, value] : info.settings) all += fmt::format("{}={}\n", flag, value);
  return content_hash(all);
}

}  // namespace

Result<ScoringServers> scoring_servers(const ServerOptions& servers, const std::atomic<bool>* cancel) {
  Result<ServerInfo> info = describe_server(servers, cancel);
  if (!info && info.error().code == ErrorCode::io) {
    if (const auto ok = wait_for(servers, cancel); !ok) return ok.error();
    info = describe_server(servers, cancel);
  }
  if (!info) return info.error();
  ScoringServers scoring{.servers = servers, .length = info->advertised};
  if (info->software == "SGLang") {
    scoring.servers.scores = PromptScores::sglang;
  } else if (info->software == "vLLM" || info->software.empty()) {
    scoring.servers.scores = PromptScores::vllm;
  } else {
    return Error{
        ErrorCode::unsupported,
        fmt::format(
            "{} does not say how likely the tokens of a prompt are, which vLLM and SGLang do; llama.cpp measures "
            "perplexity here, and niah and ruler ask any server",
            info->software),
        servers.urls.front()};
  }
  return scoring;
}

Result<ServedCost> measure_served_ppl(const ScoringServers& scoring, const std::string& label,
                                      std::span<const ServedText> texts, const std::vector<std::int64_t>& lengths,
                                      RunFolder& run, const Control& control) {
  struct Wanted {
    const ServedText* text;
    std::string key;
  };
  Meter meter(control, 0, 0);
  ServedCost cost;
  std::vector<Wanted> wanted;
  for (const ServedText& text : texts) {
    const std::int64_t length = reach(text, lengths);
    if (length == 0) continue;
    std::string key = record_key(run.info(), label + "\n" + scoring.servers.model, text, lengths);
    cost.asked.push_back(key);
    if (run.find(key) != nullptr) continue;
    meter.expect(length);
    wanted.push_back({&text, std::move(key)});
  }
  const auto make = [&](std::size_t i) -> Result<ServerRequest> {
    const ServedText& text = *wanted[i].text;
    const std::int64_t length = reach(text, lengths);
    return ServerRequest{.tokens = {text.tokens.begin(), text.tokens.begin() + length},
                         .fills_context = scoring.length && *scoring.length == length};
  };
  const auto done = [&](std::size_t i, const Result<ServerAnswer>& answer) -> Result<void> {
    const ServedText& text = *wanted[i].text;
    if (!answer) {
      if (cost.failed++ == 0) {
        cost.first_failure =
            Error{answer.error().code, text.name + ": " + answer.error().message, answer.error().where};
      }
      return {};
    }
    Record record;
    record.key = wanted[i].key;
    record.task = "ppl";
    record.method = label;
    record.document = text.name;
    record.document_hash = text.hash;
    record.seconds = answer->seconds;
    record.result = sums_of(answer->scores, lengths);
    ++cost.answered;
    meter.start(fmt::format("{}, {}", label, text.name));
    meter.advance(reach(text, lengths));
    return run.append(record);
  };
  if (const auto ok = run_requests(scoring.servers, wanted.size(), make, done, control.cancel); !ok) return ok.error();
  return cost;
}

}  // namespace mrrope::eval
