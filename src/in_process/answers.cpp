// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "in_process/encoder.h"
#include "in_process/log_softmax.h"
#include "in_process/passes.h"
#include "in_process/reply_text.h"
#include "in_process/shared_prefix.h"
#include "measure/samples.h"
#include "mrrope/scoring.h"

namespace mrrope::eval {

namespace {

// Samples that stand in memory together: 128 MiB of tokens.
constexpr std::int64_t kGroupTokens = std::int64_t{1} << 25;

// What may follow a right answer in a brief reply: a point, a line break.
constexpr int kAfterRight = 2;

// " (" before the letter of an option, at most.
constexpr std::int64_t kBracketTokens = 2;

// A sample as the model reads it.
struct Prompt {
  SampleSlot slot;
  std::vector<std::string> keys;  // of its records, by candidate; empty: that one is there
  Sample sample;                  // its text is gone: tokens and hash are what is needed
  Record record;
  std::vector<Token> tokens;
  std::vector<Continuation> right;  // the right answers after them
};

// -ln of a sum of probabilities, from their -ln. Domain: at least one.
double nll_of_any(std::span<const double> nll) {
  const double least = *std::min_element(nll.begin(), nll.end());
  double sum = 0;
  for (const double n : nll) sum += std::exp(least - n);
  return least - std::log(sum);
}

// Logits of the letters of the options: "A" and " A" are tokens that say the same.
struct OptionLogits {
  std::vector<double> plain, spaced;
};

OptionLogits option_logits(const LlamaModel& model, std::span<const float> logits) {
  OptionLogits out;
  auto& [plain, spaced] = out;
  const auto logit = [&](const std::string& text) {
    const std::optional<Token> token = token_after_bracket(model, text);
    return token ? static_cast<double>(logits[static_cast<std::size_t>(*token)])
                 : -std::numeric_limits<double>::infinity();
  };
  for (const char letter : {'A', 'B', 'C', 'D'}) {
    plain.push_back(logit(std::string(1, letter)));
    spaced.push_back(logit(std::string(" ") + letter));
    if (spaced.back() == plain.back()) spaced.back() = -std::numeric_limits<double>::infinity();
  }
  return out;
}

class Benchmark {
 public:
  Benchmark(const LlamaModel& model, LlamaContext& context, const TaskTexts& texts,
            std::span<const Candidate> candidates, const BenchmarkOptions& options, RunFolder& run,
            const Control& control, Encoder encoder)
      : model_(model),
        context_(context),
        texts_(texts),
        candidates_(candidates),
        options_(options),
        run_(run),
        encoder_(std::move(encoder)),
        count_(token_counter(model)),
        meter_(control, 0, 0) {
    for (const Candidate& candidate : candidates) plans_.push_back(identity_of(candidate));
  }

  Result<void> measure() {
    for (const Task* task : options_.tasks) {
      texts_hash_ = hash_of(*task, texts_);
      const Result<std::vector<SampleSlot>> slots = slots_of(options_, *task, items_of(texts_, *task).size());
      if (!slots) return slots.error();
      for (std::size_t at = 0; at < slots->size();) {
        std::int64_t tokens = 0;
        std::size_t end = at;
        while (end < slots->size() && (end == at || tokens + (*slots)[end].request.length <= kGroupTokens)) {
          tokens += (*slots)[end++].request.length;
        }
        if (const auto ok = measure_group(std::span(*slots).subspan(at, end - at)); !ok) return ok.error();
        at = end;
      }
    }
    return {};
  }

  [[nodiscard]] const BenchmarkCost& cost() const { return cost_; }

 private:
  // What the records of a sample are called, by candidate; empty where the run has it, under this rung or another.
  [[nodiscard]] std::vector<std::string> missing_keys(const SampleSlot& slot) {
    std::vector<std::string> keys;
    for (const std::string& plan : plans_) {
      keys.push_back(answer_key(run_.info(), plan, texts_hash_, options_, slot));
      cost_.asked.push_back(keys.back());
    }
    std::vector<std::string> missing = keys;
    for (std::size_t c = 0; c < keys.size(); ++c) {
      if (run_.find(keys[c]) == nullptr) continue;
      for (std::size_t other = 0; other < keys.size(); ++other) {
        if (candidates_[other].same_row(candidates_[c])) missing[other].clear();
      }
    }
    return missing;
  }

  [[nodiscard]] bool by_letter(const Task& task) const { return options_.letters && task.group == "longbench2"; }

  Result<Prompt> make(const SampleSlot& slot) const {
    Prompt prompt{.slot = slot, .keys = {}, .sample = {}, .record = {}, .tokens = {}, .right = {}};
    prompt.slot.request.frame_tokens = encoder_.frame_tokens() + (by_letter(*slot.task) ? kBracketTokens : 0);
    Result<Sample> sample = make_sample(*slot.task, texts_, prompt.slot.request, count_);
    if (!sample) return sample.error();
    Result<std::vector<Token>> tokens =
        encoder_.encode(*sample, by_letter(*slot.task) ? sample->answer_prefix + " (" : sample->answer_prefix);
    if (!tokens) return tokens.error();
    prompt.tokens = *std::move(tokens);
    for (std::size_t i = 0; i < sample->answers.size() && !by_letter(*slot.task); ++i) {
      Result<Continuation> right = encoder_.continued(*sample, prompt.tokens, sample->answers[i]);
      if (!right) return right.error();
      // The first one fits by the answer's budget, others may be longer; one of a file may be nothing but space
      const bool fits = static_cast<std::int64_t>(right->from) + std::ssize(right->tokens) <= slot.request.length;
      if (fits && right->from > 0 && !right->tokens.empty()) prompt.right.push_back(*std::move(right));
    }
    prompt.record = record_of(*slot.task, *sample);
    prompt.record.answer()->prompt_tokens = std::ssize(prompt.tokens);
    prompt.sample = *std::move(sample);
    prompt.sample.prompt.clear();
    prompt.sample.prompt.shrink_to_fit();
    return prompt;
  }

  Result<void> measure_group(std::span<const SampleSlot> slots) {
    std::vector<Prompt> prompts;
    std::vector<std::vector<Token>> tokens;
    for (const SampleSlot& slot : slots) {
      if (meter_.cancelled()) return cancelled_error();
      std::vector<std::string> keys = missing_keys(slot);
      if (std::all_of(keys.begin(), keys.end(), [](const std::string& key) { return key.empty(); })) continue;
      Result<Prompt> prompt = make(slot);
      if (!prompt) {
        // An item is as long as it is: one that does not fit this length is left out, never cut
        if (items_of(texts_, *slot.task).empty() || prompt.error().code != ErrorCode::too_long) return prompt.error();
        ++cost_.too_long;
        continue;
      }
      const std::int64_t needed = std::ssize(prompt->tokens) + prompt->sample.max_new_tokens;
      for (std::size_t c = 0; c < keys.size(); ++c) {
        if (!candidates_[c].takes(needed)) keys[c].clear();
        if (!keys[c].empty()) meter_.expect(std::ssize(prompt->tokens));
      }
      prompt->keys = std::move(keys);
      tokens.push_back(std::move(prompt->tokens));
      prompts.push_back(*std::move(prompt));
    }
    const std::vector<std::size_t> order = sharing_order(tokens);
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (const auto ok = apply(context_, candidates_[c]); !ok) return ok.error();
      std::vector<std::int64_t> rungs;
      if (candidates_[c].climb) {
        for (const Rung& rung : candidates_[c].climb->rungs) rungs.push_back(rung.length);
      }
      PrefixCache cache(model_, context_, options_.share_prefixes, std::move(rungs));
      for (const std::size_t i : order) {
        if (prompts[i].keys[c].empty()) continue;
        if (meter_.cancelled()) return cancelled_error();
        if (const auto ok = answer(candidates_[c], prompts[i], tokens[i], prompts[i].keys[c], cache); !ok)
          return ok.error();
      }
      cost_.computed_tokens += cache.computed();
    }
    return {};
  }

  Result<void> answer(const Candidate& candidate, const Prompt& prompt, std::span<const Token> tokens,
                      const std::string& record_key, PrefixCache& cache) {
    const Task& task = *prompt.slot.task;
    meter_.start(
        fmt::format("{} x{:g}, {} at {}", candidate.method, candidate.factor, task.name, prompt.slot.request.length));
    const auto start = std::chrono::steady_clock::now();
    const auto step = [&](std::int64_t done) {
      meter_.advance(done);
      return !meter_.cancelled();
    };
    Reply reply;
    std::string text;
    std::optional<RightAnswer> right;
    if (by_letter(task)) {
      const Result<std::vector<float>> logits = cache.logits(tokens, step);
      if (!logits) return logits.error();
      const auto& [plain, spaced] = option_logits(model_, *logits);
      const std::optional<char> best = likeliest_letter(plain, spaced);
      text = best ? fmt::format(" ({})", *best) : "";
      const auto letter = static_cast<std::size_t>(prompt.sample.references[0][0] - 'A');
      // A file may have a fifth option, a vocabulary no token for a letter
      if (letter < plain.size() && std::isfinite(std::max(plain[letter], spaced[letter]))) {
        const double all = log_sum_exp(*logits);
        right = RightAnswer{nll_of_any(std::array{all - plain[letter], all - spaced[letter]}), 1};
      }
    } else {
      FirstLine line;
      const auto goes_on = [&](Token token) {
        const Result<std::string> piece = model_.detokenize({&token, 1});
        return !piece || line.end_in(*piece) == std::string::npos;
      };
      GenerateOptions generate{.max_tokens = prompt.sample.max_new_tokens};
      if (options_.brief) generate.max_tokens = longest_right(prompt) + kAfterRight;
      if (task.stops_at_newline) generate.on_token = goes_on;
      Result<Reply> said = cache.answer(tokens, generate, step);
      if (!said) return said.error();
      reply = *std::move(said);
      Result<std::string> written = text_after(model_, tokens.back(), reply.tokens);
      if (!written) return written.error();
      text = *std::move(written);
      if (!prompt.right.empty()) {
        const Result<RightAnswer> likely = right_answer(prompt, tokens, cache);
        if (!likely) return likely.error();
        right = *likely;
      }
    }
    Record record = prompt.record;
    record.key = record_key;
    record.method = candidate.method;
    record.factor = candidate.factor;
    record.rung = candidate.rung;
    record.answer()->new_tokens = std::ssize(reply.tokens);
    record.answer()->finish = reply.cut ? "length" : "stop";
    if (const auto ok = check_finite(record, right ? right->nll : 0); !ok) return ok.error();
    record.answer()->right = right;
    const Rotation rotation = reaching_rotation(context_);
    record.answer()->rotation = rotation_hash(rotation.inv_freq, rotation.attention_scale);
    score_into(task, prompt.sample, std::move(text), record);
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    cost_.prompt_tokens += std::ssize(tokens);
    return run_.append(record);
  }

  static int longest_right(const Prompt& prompt) {
    std::size_t longest = 0;
    for (const Continuation& spelling : prompt.right) longest = std::max(longest, spelling.tokens.size());
    return static_cast<int>(longest);
  }

  // Domain: prompt.right is not empty.
  static Result<RightAnswer> right_answer(const Prompt& prompt, std::span<const Token> tokens, PrefixCache& cache) {
    std::vector<double> nll;
    for (const Continuation& spelling : prompt.right) {
      const Result<double> one = cache.nll(tokens, spelling);
      if (!one) return one.error();
      nll.push_back(*one);
    }
    const auto likeliest = std::min_element(nll.begin(), nll.end()) - nll.begin();
    return RightAnswer{nll_of_any(nll), std::ssize(prompt.right[static_cast<std::size_t>(likeliest)].tokens)};
  }

  const LlamaModel& model_;
  LlamaContext& context_;
  const TaskTexts& texts_;
  std::span<const Candidate> candidates_;
  const BenchmarkOptions& options_;
  RunFolder& run_;
  Encoder encoder_;
  TokenCount count_;
  std::vector<std::string> plans_;  // what the candidates are, for keys
  std::string texts_hash_;          // of the task at hand
  Meter meter_;
  BenchmarkCost cost_;
};

}  // namespace

Result<BenchmarkCost> measure_answers(const LlamaModel& model, LlamaContext& context, const TaskTexts& texts,
                                      std::span<const Candidate> candidates, const BenchmarkOptions& options,
                                      RunFolder& run, const Control& control) {
  Result<Encoder> encoder = Encoder::create(model, options.frame);
  if (!encoder) return encoder.error();
  if (const auto ok = check_climbs(context, candidates); !ok) return ok.error();
  Benchmark benchmark(model, context, texts, candidates, options, run, control, *std::move(encoder));
  if (const auto ok = benchmark.measure(); !ok) return ok.error();
  return benchmark.cost();
}

}  // namespace mrrope::eval
