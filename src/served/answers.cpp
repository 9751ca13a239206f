// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "measure/meter.h"
#include "measure/samples.h"
#include "mrrope/served.h"

namespace mrrope::eval {

namespace {

// BOS, and what chat templates put around one message; more than any we know.
constexpr std::int64_t kFrameTokens = 1, kChatFrameTokens = 64;
// An estimate may be this much too low for some texts.
constexpr double kEstimateSlack = 1.03;
constexpr double kCountDeadline = 30;            // seconds; counting takes milliseconds
constexpr std::size_t kCalibrationBytes = 8192;  // long enough that BOS does not matter

// A sample to ask for, and the key of its record.
struct Wanted {
  SampleSlot slot;
  std::string key;
};

// One on its way to a server and back.
struct InFlight {
  Sample sample;
  Record record;
};

// Prompts are made one after the other, so a server that does not answer would hold up all of them again and again: who
// counted last is asked first.
TokenCount count_by_whoever_answers(const ServerOptions& servers, const std::atomic<bool>* cancel) {
  return [servers, cancel, first = std::make_shared<std::size_t>(0)](std::string_view text) -> Result<std::int64_t> {
    for (std::size_t tried = 1;; ++tried) {
      ServerOptions one = servers;
      one.urls = {servers.urls[*first]};
      one.deadline_s = std::min(servers.deadline_s, kCountDeadline);
      Result<std::int64_t> count = server_token_count(one, text, cancel);
      if (count || count.error().code == ErrorCode::cancelled || tried == servers.urls.size()) return count;
      *first = (*first + 1) % servers.urls.size();
    }
  };
}

std::string repeated(std::string_view text) {
  std::string out;
  while (out.size() < kCalibrationBytes) out += text;
  return out;
}

double digits_of(std::string_view text) {
  return static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

// What the servers say a prompt has; 0: they do not say.
Result<std::int64_t> usage_of(const ServerOptions& servers, const std::string& text, const std::atomic<bool>* cancel) {
  std::int64_t tokens = 0;
  const Result<void> asked = run_requests(
      servers, 1, [&](std::size_t) -> Result<ServerRequest> { return ServerRequest{.prompt = text, .max_tokens = 1}; },
      [&](std::size_t, const Result<ServerAnswer>& answer) -> Result<void> {
        if (!answer) return answer.error();
        tokens = answer->prompt_tokens;
        return {};
      },
      cancel);
  if (!asked) return asked.error();
  return tokens;
}

// Tokens of a text from its bytes and its digits, for a digit costs several times what a letter does: two prompts that
// differ in their share of digits give both prices.
Result<TokenCount> estimate_from_usage(const ServerOptions& servers, const std::atomic<bool>* cancel) {
  const std::string prose = repeated("The grass is green. It is 4718203 miles to Kirkwall, they say; VAR ABX = 17. ");
  const std::string digits = repeated("\"3f2a8c01-96d4-4be7-8a15-07c9d2e4b6f8\": 83, 12, 5718203, ");
  const Result<std::int64_t> of_prose = usage_of(servers, prose, cancel);
  if (!of_prose) return of_prose.error();
  const Result<std::int64_t> of_digits = usage_of(servers, digits, cancel);
  if (!of_digits) return of_digits.error();
  if (*of_prose <= 0 || *of_digits <= 0) {
    return Error{
        ErrorCode::unsupported,
        "the servers neither tokenise nor say how many tokens a prompt had; a GGUF of the model has its vocabulary", "",
        "vocabulary"};
  }
  // tokens / bytes = byte_price + digit_price * share
  const auto per_byte = [](std::int64_t tokens, const std::string& text) {
    return static_cast<double>(tokens) / static_cast<double>(text.size());
  };
  const auto share = [](const std::string& text) { return digits_of(text) / static_cast<double>(text.size()); };
  const double slope = (per_byte(*of_digits, digits) - per_byte(*of_prose, prose)) / (share(digits) - share(prose));
  const double digit_price = std::max(slope, 0.0);
  const double byte_price = std::max(per_byte(*of_prose, prose) - digit_price * share(prose), 0.0);
  return TokenCount([byte_price, digit_price](std::string_view text) -> Result<std::int64_t> {
    const double tokens = byte_price * static_cast<double>(text.size()) + digit_price * digits_of(text);
    return static_cast<std::int64_t>(std::ceil(kEstimateSlack * tokens));
  });
}

}  // namespace

Result<ServedCount> count_on_servers(const ServerOptions& servers, const std::atomic<bool>* cancel) {
  const std::string text = "one two three";
  Result<std::int64_t> counted = server_token_count(servers, text, cancel);
  if (!counted && counted.error().code == ErrorCode::io) {
    // A request waits for servers that still load, and knows when to give up
    if (const Result<std::int64_t> usage = usage_of(servers, text, cancel); !usage) return usage.error();
    counted = server_token_count(servers, text, cancel);
  }
  if (counted) return ServedCount{count_by_whoever_answers(servers, cancel), true};
  // Only where there is no such thing: one that is just busy or loading would be counted otherwise next time
  if (counted.error().code != ErrorCode::unsupported) return counted.error();
  Result<TokenCount> estimate = estimate_from_usage(servers, cancel);
  if (!estimate) return estimate.error();
  return ServedCount{*std::move(estimate), false};
}

Result<ServedCost> measure_served(const ServerOptions& servers, const std::string& label, const TaskTexts& texts,
                                  const TokenCount& count, const BenchmarkOptions& options, RunFolder& run,
                                  const Control& control) {
  Meter meter(control, 0, 0);
  const std::int64_t frame_tokens = servers.chat ? kChatFrameTokens : kFrameTokens;
  ServedCost cost;
  std::vector<Wanted> wanted;
  for (const Task* task : options.tasks) {
    const std::string texts_hash = hash_of(*task, texts);
    const Result<std::vector<SampleSlot>> slots = slots_of(options, *task, items_of(texts, *task).size());
    if (!slots) return slots.error();
    for (SampleSlot slot : *slots) {
      std::string key = answer_key(run.info(), label + "\n" + servers.model, texts_hash, options, slot);
      cost.asked.push_back(key);
      if (run.find(key) != nullptr) continue;
      meter.expect(slot.request.length);
      slot.request.frame_tokens = frame_tokens;
      wanted.push_back({slot, std::move(key)});
    }
  }

  std::map<std::size_t, InFlight> in_flight;
  const auto make = [&](std::size_t i) -> Result<ServerRequest> {
    const SampleSlot& slot = wanted[i].slot;
    Result<Sample> sample = make_sample(*slot.task, texts, slot.request, count);
    if (!sample) return sample.error();
    ServerRequest request{
        .prompt = sample->prompt, .answer_prefix = sample->answer_prefix, .max_tokens = sample->max_new_tokens};
    InFlight item{{}, record_of(*slot.task, *sample)};
    sample->prompt.clear();
    sample->prompt.shrink_to_fit();
    item.sample = *std::move(sample);
    in_flight.insert_or_assign(i, std::move(item));
    return request;
  };
  const auto done = [&](std::size_t i, const Result<ServerAnswer>& answer) -> Result<void> {
    InFlight item;
    if (auto node = in_flight.extract(i)) item = std::move(node.mapped());
    const SampleSlot& slot = wanted[i].slot;
    if (!answer) {
      // An item that does not fit this length is left out, never cut
      if (!items_of(texts, *slot.task).empty() && answer.error().code == ErrorCode::too_long) {
        ++cost.too_long;
      } else if (cost.failed++ == 0) {
        cost.first_failure = answer.error();
      }
      return {};
    }
    Record& record = item.record;
    record.key = wanted[i].key;
    record.method = label;
    record.answer()->prompt_tokens = answer->prompt_tokens;
    record.answer()->new_tokens = answer->new_tokens;
    record.answer()->finish = answer->finish;
    std::string text = answer->text;
    // A stop at "\n" would end answers that begin with one; people's first words in a chat may be no answer
    if (slot.task->stops_at_newline && !servers.chat) {
      if (const std::size_t end = FirstLine().end_in(text); end != std::string::npos) {
        text.resize(end + 1);
        record.answer()->finish = "stop";
      }
    }
    record.seconds = answer->seconds;
    score_into(*slot.task, item.sample, std::move(text), record);
    ++cost.answered;
    if (answer->prompt_tokens + item.sample.max_new_tokens > slot.request.length) ++cost.over_budget;
    meter.start(fmt::format("{} at {}", slot.task->name, slot.request.length));
    meter.advance(slot.request.length);
    return run.append(record);
  };
  if (const auto ok = run_requests(servers, wanted.size(), make, done, control.cancel); !ok) return ok.error();
  return cost;
}

}  // namespace mrrope::eval
