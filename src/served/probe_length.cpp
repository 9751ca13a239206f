// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mrrope/probing.h"
#include "served/probe_prompt.h"

namespace mrrope {

namespace {

using probe::Cut;
using probe::Length;
using probe::Seen;
using served::Asker;
using served::Prompt;

constexpr std::int64_t kUnknownLength = 8192;  // asked for where nothing is advertised
// A server may advertise any number; more tokens than this are sent only to one for which --max-tokens says so.
constexpr std::int64_t kMostUnasked = std::int64_t{1} << 22;
constexpr int kPrompts = 15;              // of the longest: two that are answered, one again, and all looks
constexpr std::int64_t kResolution = 64;  // a limit is found to within this part of it
constexpr int kTop = 5;
constexpr int kTextTokens = 16;  // of an answer, where texts have to tell prompts apart

// Of log probabilities. Below the first two prompts are the same to a server that repeats itself; above the second they
// are not, as soon as that is several times what the server's answers to the same prompt differ by.
constexpr double kSame = 1e-6, kDifferent = 1e-4;
constexpr double kTimesNoise = 4;
// An answer that depends on the prompt at all differs by more than this if the last words before it change.
constexpr double kControl = 1e-2;

std::int64_t longest_of(const ServerInfo& info, const ProbeBudget& budget) {
  if (budget.max_tokens > 0) return budget.max_tokens;
  return info.advertised ? std::min(*info.advertised + *info.advertised / 8, kMostUnasked) : kUnknownLength;
}

struct Answered {
  Prompt prompt;
  ServerReply reply;
};

class LengthProbe {
 public:
  LengthProbe(const ServerInfo& info, const ProbeBudget& budget, Asker asker)
      : longest_(longest_of(info, budget)), asker_(std::move(asker)) {
    length_.advertised = info.advertised;
    length_.advertised_by = info.advertised_by;
    for (const LengthClaim& claim : info.claims) {
      if (claim.of_model || claim.tokens <= length_.also_advertised.value_or(info.advertised.value_or(0))) continue;
      length_.also_advertised = claim.tokens;
      length_.also_advertised_by = claim.by;
    }
  }

  Result<Length> run() {
    length_.counted = asker_.counted;
    length_.usage_believed = asker_.usage_believed;
    length_.accepted = asker_.short_length;
    Result<void> done = find_accepted();
    if (done && answered_) done = find_read();
    // What is known when the budget is spent is known
    if (!done && done.error().code != ErrorCode::too_long) return done.error();
    length_.requests = asker_.ledger.asked();
    length_.prompt_tokens = asker_.ledger.spent();
    return std::move(length_);
  }

 private:
  // Tokens of the answer: one where log probabilities tell.
  [[nodiscard]] int answer_tokens() const { return asker_.gives_top ? 1 : kTextTokens; }

  // Whether a request of so many tokens, prompt and answer, is answered.
  Result<bool> try_length(std::int64_t tokens) {
    Result<Prompt> prompt = asker_.prompt_of(tokens - asker_.frame - answer_tokens(), ++seed_);
    if (!prompt) return prompt.error();
    Result<ServerReply> reply = asker_.ask_anew(*prompt, {.max_tokens = answer_tokens(), .top = kTop});
    if (!reply) return reply.error();
    const std::int64_t had = prompt->length + asker_.frame + answer_tokens();
    if (!reply->answered()) {
      if (!length_.refused || had < *length_.refused) {
        length_.refused = had;
        length_.refused_status = reply->status;
        length_.refusal = reply->said;
        hints_ = reply->numbers;
      }
      return false;
    }
    if (!answered_ || had > *length_.accepted) {
      length_.accepted = had;
      answered_ = Answered{*std::move(prompt), *std::move(reply)};
    }
    return true;
  }

  Result<void> find_accepted() {
    const std::int64_t first = std::min(longest_, length_.advertised.value_or(longest_));
    const Result<bool> whole = try_length(first);
    if (!whole) return whole.error();
    if (*whole) {
      // Beyond what is advertised: refused, read or cut?
      if (longest_ <= first) return {};
      const Result<bool> more = try_length(longest_);
      if (!more) return more.error();
      if (*more) return {};
      // A refusal computes nothing, and tells where the length ends
      const Result<bool> next = try_length(first + asker_.step());
      return next ? Result<void>() : next.error();
    }
    return bisect();
  }

  // Between what a server answered and what it refused; where its words name a number, there first.
  Result<void> bisect() {
    const auto low = [&] { return *length_.accepted; };
    const auto high = [&] { return *length_.refused; };
    const auto found = [&] { return high() - low() <= std::max<std::int64_t>(1, high() / kResolution); };
    std::vector<std::int64_t> places = hints_;
    places.push_back(high() - std::max<std::int64_t>(1, high() / kResolution));  // a few tokens that it keeps back
    std::sort(places.begin(), places.end());
    for (const std::int64_t place : places) {
      if (place <= low() || place >= high()) continue;
      const Result<bool> answered = try_length(place);
      if (!answered) return answered.error();
      if (!*answered) break;
      // A limit that is named is exact
      if (place + 1 < high()) {
        const Result<bool> one_more = try_length(place + 1);
        if (!one_more) return one_more.error();
        if (!*one_more) break;
      }
    }
    while (!found()) {
      const std::int64_t before = high() - low();
      const Result<bool> answered = try_length((low() + high()) / 2);
      if (!answered) return answered.error();
      if (high() - low() >= before) break;  // texts do not come in every length
    }
    return {};
  }

  // Does the server's answer to the same prompt differ, and by how much?
  Result<void> measure_noise() {
    const Result<ServerReply> again = ask(answered_->prompt);
    if (!again) return again.error();
    repeats_ = again->text == answered_->reply.text;
    noise_ = served::difference(answered_->reply, *again);
    return {};
  }

  Result<ServerReply> ask(const Prompt& prompt) {
    Result<ServerReply> reply = asker_.ask_anew(prompt, {.max_tokens = answer_tokens(), .top = kTop});
    if (reply && !reply->answered()) return Error{ErrorCode::too_long, reply->said, ""};
    return reply;
  }

  Result<Seen> look(double from, double to) {
    const Result<Prompt> other = asker_.changed(answered_->prompt, from, to);
    if (!other) return other.error();
    if (other->words.words == answered_->prompt.words.words) return Seen::unknown;
    const Result<ServerReply> reply = ask(*other);
    if (!reply) return reply.error();
    const std::optional<double> apart = served::difference(answered_->reply, *reply);
    if (!apart || !noise_) {
      return repeats_ && reply->text != answered_->reply.text ? Seen::yes : Seen::unknown;
    }
    most_apart_ = std::max(most_apart_, *apart);
    if (*apart > std::max(kDifferent, kTimesNoise * *noise_)) return Seen::yes;
    return *apart <= std::max(kSame, *noise_) ? Seen::no : Seen::unknown;
  }

  Result<void> find_read() {
    length_.sent = answered_->prompt.length;
    length_.seconds = answered_->reply.seconds;
    if (answered_->reply.prompt_tokens) length_.usage = *answered_->reply.prompt_tokens - asker_.frame;
    std::optional<double> share;
    if (length_.usage && length_.usage_believed) {
      share = static_cast<double>(*length_.usage) / static_cast<double>(length_.sent);
    }
    if (const Result<void> measured = measure_noise(); !measured) return measured.error();
    const Result<probe::Reading> reading =
        probe::judge_reading([&](double from, double to) { return look(from, to); }, share);
    if (!reading) return reading.error();
    // A server that says the same to everything has been asked nothing
    if (reading->cut == Cut::unknown || (reading->cut != Cut::none && most_apart_ < kControl)) return {};
    length_.cut = reading->cut;
    const auto tokens = [&](double part) { return std::llround(part * static_cast<double>(length_.sent)); };
    length_.read = reading->cut == Cut::none ? length_.sent : tokens(reading->first + reading->last);
    length_.read_within = tokens(reading->within);
    if (reading->cut == Cut::middle) length_.first = tokens(reading->first);
    return {};
  }

  std::int64_t longest_;
  Asker asker_;
  Length length_;
  std::optional<Answered> answered_;  // the longest
  std::vector<std::int64_t> hints_;
  std::uint64_t seed_ = 0;
  bool repeats_ = false;
  std::optional<double> noise_;
  double most_apart_ = 0;
};

}  // namespace

ProbePlan plan_length(const ServerInfo& info, const ProbeBudget& budget) {
  const std::int64_t longest = longest_of(info, budget);
  return {longest, budget.requests, budget.total_tokens > 0 ? budget.total_tokens : kPrompts * longest};
}

Result<probe::Length> probe_length(const ServerOptions& options, const ServerInfo& info, const ProbeBudget& budget,
                                   const ProbePrompts& prompts, const std::atomic<bool>* cancel) {
  const ProbePlan plan = plan_length(info, budget);
  Result<Asker> asker =
      Asker::create(options, info, prompts, served::Ledger(plan.requests, plan.prompt_tokens), cancel);
  if (!asker) return asker.error();
  return LengthProbe(info, budget, *std::move(asker)).run();
}

}  // namespace mrrope
