// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "eval/passes.h"
#include "eval/samples.h"

namespace mrrope {

namespace {

// BOS, and what chat templates put around one message; more than any we know.
constexpr std::int64_t kFrameTokens = 1, kChatFrameTokens = 64;
// An estimate may be this much too low for some texts.
constexpr double kEstimateSlack = 1.03;

// A sample to ask for, and the key of its record.
struct Wanted {
  eval::SampleSlot slot;
  std::string key;
};

// One on its way to a server and back.
struct InFlight {
  Sample sample;
  Record record;
};

}  // namespace

Result<ServedCount> count_on_servers(const ServerOptions& servers) {
  const Result<std::int64_t> counted = server_token_count(servers, "one two three");
  if (counted) {
    return ServedCount{[servers](std::string_view text) { return server_token_count(servers, text); }, true};
  }
  // Only where there is no such thing: one that is just busy or loading would be counted otherwise next time
  if (counted.error().code != ErrorCode::unsupported) return counted.error();
  // Prose of the kind prompts are made of, long enough that BOS does not matter
  std::string text;
  while (text.size() < 8192)
    text += "The grass is green. The number of miles to Kirkwall is 4718203, they say; VAR ABX = 17. ";
  std::int64_t tokens = 0;
  auto error = run_requests(
      servers, 1, [&](std::size_t) -> Result<ServerRequest> { return ServerRequest{.prompt = text, .max_tokens = 1}; },
      [&](std::size_t, const Result<ServerAnswer>& answer) -> std::optional<Error> {
        if (!answer) return answer.error();
        tokens = answer->prompt_tokens;
        return std::nullopt;
      });
  if (error) return *error;
  if (tokens <= 0) {
    return Error{
        ErrorCode::unsupported,
        "the servers neither tokenise nor say how many tokens a prompt had; give -m model.gguf for its vocabulary",
        "--endpoint"};
  }
  const double per_byte = kEstimateSlack * static_cast<double>(tokens) / static_cast<double>(text.size());
  return ServedCount{[per_byte](std::string_view t) -> Result<std::int64_t> {
                       return static_cast<std::int64_t>(std::ceil(per_byte * static_cast<double>(t.size())));
                     },
                     false};
}

Result<ServedCost> measure_served(const ServerOptions& servers, const std::string& label, const TaskTexts& texts,
                                  const TokenCount& count, const BenchmarkOptions& options, RunFolder& run,
                                  const Control& control) {
  eval::Meter meter(control, 0, 0);
  const std::int64_t frame_tokens = servers.chat ? kChatFrameTokens : kFrameTokens;
  std::vector<Wanted> wanted;
  for (const Task* task : options.tasks) {
    const std::string texts_hash = eval::hash_of(*task, texts);
    for (eval::SampleSlot slot : eval::slots_of(options, *task)) {
      std::string key = eval::answer_key(run.info(), label + "\n" + servers.model, texts_hash, options, slot);
      if (run.find(key) != nullptr) continue;
      meter.expect(slot.request.length);
      slot.request.frame_tokens = frame_tokens;
      wanted.push_back({slot, std::move(key)});
    }
  }

  ServedCost cost;
  std::map<std::size_t, InFlight> in_flight;
  const auto make = [&](std::size_t i) -> Result<ServerRequest> {
    const eval::SampleSlot& slot = wanted[i].slot;
    Result<Sample> sample = make_sample(*slot.task, texts, slot.request, count);
    if (!sample) return sample.error();
    ServerRequest request{
        .prompt = sample->prompt, .answer_prefix = sample->answer_prefix, .max_tokens = sample->max_new_tokens};
    if (slot.task->stops_at_newline && !servers.chat) request.stop = {"\n"};
    InFlight item{{}, eval::record_of(*slot.task, *sample)};
    sample->prompt.clear();
    sample->prompt.shrink_to_fit();
    item.sample = *std::move(sample);
    in_flight.insert_or_assign(i, std::move(item));
    return request;
  };
  const auto done = [&](std::size_t i, const Result<ServerAnswer>& answer) -> std::optional<Error> {
    InFlight item;
    if (auto node = in_flight.extract(i)) item = std::move(node.mapped());
    const eval::SampleSlot& slot = wanted[i].slot;
    if (!answer) {
      // An item that does not fit this length is left out, never cut
      if (slot.task->needs == TaskNeeds::items && answer.error().where == "--lengths") {
        ++cost.too_long;
      } else if (cost.failed++ == 0) {
        cost.first_failure = to_string(answer.error());
      }
      return std::nullopt;
    }
    Record& record = item.record;
    record.key = wanted[i].key;
    record.method = label;
    record.answer->prompt_tokens = answer->prompt_tokens;
    record.answer->new_tokens = answer->new_tokens;
    record.answer->finish = answer->finish;
    record.seconds = answer->seconds;
    eval::score_into(*slot.task, item.sample, answer->text, record);
    ++cost.answered;
    if (answer->prompt_tokens + item.sample.max_new_tokens > slot.request.length) ++cost.over_budget;
    meter.start(fmt::format("{} at {}", slot.task->name, slot.request.length));
    meter.advance(slot.request.length);
    return run.append(record);
  };
  if (auto error = run_requests(servers, wanted.size(), make, done, control.cancel)) return *error;
  return cost;
}

}  // namespace mrrope
