// SPDX-License-Identifier: MIT
#include "served/probe_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace mrrope::served {

namespace {

// One token each in most vocabularies. Some begin a code, so that a model that repeats codes has something to repeat.
constexpr std::array<std::string_view, 48> kWords = {
    "river", "stone", "green", "house", "light", "water", "paper", "north", "table", "music", "horse", "field",
    "cloud", "glass", "bread", "chair", "ocean", "plant", "black", "white", "metal", "queen", "night", "young",
    "earth", "fruit", "sugar", "train", "voice", "world", "smile", "dream", "heart", "knife", "money", "power",
    "sound", "story", "sweet", "truck", "uncle", "visit", "watch", "apple", "brown", "clock", "dance", "eight"};
constexpr std::size_t kStretch = 20;       // a code in each
constexpr std::size_t kShort = 16;         // words of the question that finds out how to ask
constexpr std::size_t kCalibration = 160;  // words, where a short one has to tell what a word costs
constexpr std::int64_t kMostFrame = 4, kMostChatFrame = 256;
constexpr int kFits = 6;            // counts until a text has its length
constexpr std::size_t kFewest = 3;  // words that change places
constexpr int kTop = 5;
// Tokens of a word, in any vocabulary: a count outside would make prompts of any size.
constexpr double kFewestTokens = 0.5, kMostTokens = 16;
bool is_count(double per_word) { return per_word >= kFewestTokens && per_word <= kMostTokens; }

// SplitMix64 (Steele, Lea, Flood 2014): the same words on every machine.
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// The words around a code stay where they are. So does the first of all, which some vocabularies write otherwise.
bool is_fixed(std::string_view word) { return word == "The" || word == "code" || word == "is"; }

}  // namespace

Words Words::draw(std::size_t n, std::uint64_t seed) {
  Words drawn;
  drawn.words.reserve(n);
  std::uint64_t state = seed;
  const std::size_t every = std::max<std::size_t>(8, n / kStretch);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t place = i % every;
    const bool last = i + 3 >= n && n >= 3;
    const std::size_t in_code = last ? i + 3 - n : place >= 4 ? place - 4 : 3;
    drawn.words.emplace_back(in_code == 0   ? "The"
                             : in_code == 1 ? "code"
                             : in_code == 2 ? "is"
                                            : kWords[next(state) % kWords.size()]);
  }
  return drawn;
}

std::string Words::text() const {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

Words Words::changed(double from, double to) const {
  const auto n = static_cast<double>(words.size());
  std::size_t begin = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(from * n)));
  std::size_t end = std::min(words.size(), static_cast<std::size_t>(std::floor(to * n)));
  const auto places_now = [&] {
    std::vector<std::size_t> places;
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_fixed(words[i])) places.push_back(i);
    }
    return places;
  };
  // A short prompt has stretches of a word or two, and at its end the question
  while (places_now().size() < kFewest && (to < 1 ? end < words.size() : begin > 1)) to < 1 ? ++end : --begin;
  const std::vector<std::size_t> places = places_now();
  // By one, for a code to become another one; words that are equal would change nothing
  Words other = *this;
  for (std::size_t i = 0; i < places.size(); ++i) {
    other.words[places[i]] = words[places[(i + 1) % places.size()]];
  }
  return other;
}

Result<Prompt> Asker::make(Words words) const {
  Prompt prompt{.words = std::move(words), .text = {}, .tokens = {}, .length = 0};
  std::string text = prompt.words.text();
  if (prompts_.tokens) {
    Result<std::vector<std::int32_t>> tokens = prompts_.tokens(text);
    if (!tokens) return tokens.error();
    prompt.length = static_cast<std::int64_t>(tokens->size());
    if (ids_) prompt.tokens = *std::move(tokens);
  } else if (per_word_ > 0) {
    prompt.length = std::llround(per_word_ * static_cast<double>(prompt.words.words.size()));
  } else {
    const Result<std::int64_t> count = server_token_count(options_, text, cancel_);
    if (!count) return count.error();
    prompt.length = *count;
  }
  if (!ids_) prompt.text = std::move(text);
  return prompt;
}

Result<Prompt> Asker::prompt_of(std::int64_t length, std::uint64_t seed) {
  auto n = static_cast<std::size_t>(std::max<std::int64_t>(length, 4));
  const auto most = static_cast<std::size_t>(static_cast<double>(n) / kFewestTokens);
  std::optional<Prompt> best;  // at most as long; of token ids at least, for they can be cut
  std::size_t longest = 0, too_many = SIZE_MAX;
  for (int i = 0; i < kFits; ++i) {
    Result<Prompt> prompt = make(Words::draw(n, prompts_.seed * 1000003 + seed));
    if (!prompt) return prompt.error();
    const std::int64_t had = prompt->length;
    const double per_word = static_cast<double>(had) / static_cast<double>(n);
    if (!is_count(per_word)) {
      return Error{ErrorCode::unsupported,
                   fmt::format("{} tokens are counted in {} words, as with no vocabulary", had, n),
                   options_.urls.front(), prompts_.tokens ? "" : "vocabulary"};
    }
    const auto off = static_cast<double>(length - had) / per_word;
    if (ids_ ? had >= length : had <= length) {
      if (!best || (ids_ ? n < best->words.words.size() : n > longest)) best = *std::move(prompt);
      (ids_ ? too_many : longest) = ids_ ? std::min(too_many, n) : std::max(longest, n);
      if (std::abs(off) < 1) break;
    } else {
      (ids_ ? longest : too_many) = ids_ ? std::max(longest, n) : std::min(too_many, n);
    }
    if (too_many - longest <= 1) break;
    const double wanted = static_cast<double>(n) + (ids_ ? std::ceil(off) : std::floor(off));
    const auto low = static_cast<double>(longest + 1);
    const auto high = static_cast<double>(too_many == SIZE_MAX ? most : too_many - 1);
    n = static_cast<std::size_t>(std::clamp(wanted, std::max(low, 4.0), std::max(high, 4.0)));
  }
  if (!best) return Error{ErrorCode::too_long, fmt::format("no text has {} tokens", length), ""};
  if (ids_) {
    // What is too much is taken out behind the beginning, of what is changed as well
    const auto surplus = best->length - length;
    const auto at = best->tokens.begin() + best->length / 64 + 1;
    best->tokens.erase(at, at + std::min<std::ptrdiff_t>(surplus, best->tokens.end() - at));
    best->length = static_cast<std::int64_t>(best->tokens.size());
  }
  return *std::move(best);
}

Result<Prompt> Asker::changed(const Prompt& prompt, double from, double to) {
  Result<Prompt> other = make(prompt.words.changed(from, to));
  if (!other || !ids_) return other;
  const auto at = static_cast<std::ptrdiff_t>(other->tokens.size() / 64 + 1);
  while (other->length > prompt.length && at < static_cast<std::ptrdiff_t>(other->tokens.size())) {
    other->tokens.erase(other->tokens.begin() + at);
    --other->length;
  }
  return other;
}

Result<ServerReply> Asker::ask(const Prompt& prompt, ServerQuestion question) {
  question.prompt = prompt.text;
  question.tokens = prompt.tokens;
  if (!gives_top) question.top = 0;
  question.top_of_chat = top_of_chat_;
  for (int attempt = 0;; ++attempt) {
    if (!ledger.allows(prompt.length)) return Error{ErrorCode::too_long, "the budget of the probe is spent", ""};
    ledger.ask();
    Result<ServerReply> reply = ask_server(options_, question, cancel_);
    if (reply && reply->answered()) ledger.answered(prompt.length);
    if (!reply || reply->status < 500 || attempt == 1) return reply;
  }
}

Result<ServerReply> Asker::ask_anew(const Prompt& prompt, ServerQuestion question) {
  if (software_ == "llama.cpp") question.cache_prompt = false;
  if (software_ == "vLLM") question.cache_salt = fmt::format("mrrope {} {}", prompts_.seed, ++salts_);
  return ask(prompt, std::move(question));
}

// Tokens, log probabilities and both of them may be refused by a server that knows neither.
Result<void> Asker::settle(const ServerInfo& info) {
  const bool could_ids = info.takes_token_ids && prompts_.tokens && !options_.chat;
  if (!prompts_.tokens) {
    const Result<std::int64_t> count = server_token_count(options_, "one two three", cancel_);
    counted = count.has_value();
    if (!count && count.error().code != ErrorCode::unsupported) return count.error();
    if (!counted) per_word_ = 1;
  }
  struct Way {
    bool ids;
    int top;
    bool top_of_chat;
  };
  for (const auto& [ids, top, of_chat] : {Way{true, kTop, false}, {false, kTop, false}, {false, kTop, true}, {}}) {
    if ((ids && !could_ids) || (of_chat && options_.chat)) continue;
    ids_ = ids;
    top_of_chat_ = of_chat;
    gives_top = top > 0;
    const Result<Prompt> prompt = make(Words::draw(kShort, prompts_.seed));
    if (!prompt) return prompt.error();
    const Result<ServerReply> reply = ask(*prompt, {.max_tokens = 1, .top = top});
    if (!reply) return reply.error();
    if (!reply->answered()) {
      if (top == 0)
        return Error{ErrorCode::io, "the server refuses a short prompt: " + reply->said, options_.urls.front()};
      continue;
    }
    gives_top = !reply->top.empty();
    short_length = prompt->length + 1;
    if (!counted) return estimate(*reply, kShort);
    if (reply->prompt_tokens) {
      frame = *reply->prompt_tokens - prompt->length;
      usage_believed = frame >= 0 && frame <= (options_.chat ? kMostChatFrame : kMostFrame);
    }
    if (!usage_believed) frame = ids_ ? 0 : options_.chat ? kMostChatFrame / 4 : 1;
    short_length += frame;
    return {};
  }
  return {};
}

// Two prompts tell what a word costs and what is added to all of them.
Result<void> Asker::estimate(const ServerReply& reply, std::size_t words) {
  const Error uncounted{ErrorCode::unsupported,
                        "the server neither tokenises nor says how many tokens a prompt had; give the model's file "
                        "for its vocabulary",
                        options_.urls.front()};
  const Result<Prompt> prompt = make(Words::draw(kCalibration, prompts_.seed));
  if (!prompt) return prompt.error();
  const Result<ServerReply> longer = ask(*prompt, {.max_tokens = 1});
  if (!longer) return longer.error();
  if (!reply.prompt_tokens || !longer->prompt_tokens) return uncounted;
  const auto more = static_cast<double>(*longer->prompt_tokens - *reply.prompt_tokens);
  per_word_ = more / static_cast<double>(kCalibration - words);
  frame = std::llround(static_cast<double>(*reply.prompt_tokens) - per_word_ * static_cast<double>(words));
  if (!is_count(per_word_) || std::abs(frame) > kMostChatFrame) return uncounted;
  frame = std::max<std::int64_t>(frame, 0);
  usage_believed = true;
  short_length = *longer->prompt_tokens + 1;
  return {};
}

Result<Asker> Asker::create(const ServerOptions& options, const ServerInfo& info, const ProbePrompts& prompts,
                            Ledger ledger, const std::atomic<bool>* cancel) {
  Asker asker(options, prompts, ledger, cancel);
  asker.options_.model = info.model;
  asker.software_ = info.software;
  if (Result<void> settled = asker.settle(info); !settled) return settled.error();
  return asker;
}

std::optional<double> difference(const ServerReply& a, const ServerReply& b) {
  if (a.top.empty() || b.top.empty()) return std::nullopt;
  double largest = 0;
  const auto compare = [&](const std::vector<TokenChance>& one, const std::vector<TokenChance>& other) {
    for (const TokenChance& chance : one) {
      const auto found = std::find_if(other.begin(), other.end(),
                                      [&](const TokenChance& candidate) { return candidate.token == chance.token; });
      const double against = found != other.end() ? found->log_probability : other.back().log_probability;
      const double apart = chance.log_probability - against;
      largest = std::max(largest, found != other.end() ? std::abs(apart) : apart);
    }
  };
  // Behind a token that differs everything does
  compare(a.top.front(), b.top.front());
  compare(b.top.front(), a.top.front());
  return largest;
}

}  // namespace mrrope::served
