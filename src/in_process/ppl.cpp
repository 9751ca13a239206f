// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "in_process/log_softmax.h"
#include "in_process/passes.h"

namespace mrrope::eval {

namespace {

// Between two looks at the cancel flag, and rows of the unextended model that are kept at a time.
constexpr std::size_t kSlice = 512;
constexpr std::size_t kKlSlice = 64;

// What is asked of a candidate: a rung reads the lengths that are its own.
PplOptions asked_of(const Candidate& candidate, PplOptions options) {
  std::erase_if(options.lengths, [&](std::int64_t length) { return !candidate.takes(length); });
  return options;
}

// The longest length a document reaches; 0 if it reaches none at which there is something to predict.
std::int64_t reach(const Document& document, const PplOptions& options) {
  if (options.lengths.empty()) return 0;
  const auto size = std::ssize(document.tokens);
  if (options.chunks) return size / options.lengths.front() * options.lengths.front();
  std::int64_t longest = 0;
  for (const std::int64_t length : options.lengths) {
    if (length <= size) longest = std::max(longest, length);
  }
  return longest < 2 ? 0 : longest;
}

// Sums -ln p of every token after the first.
class Sums {
 public:
  Sums(std::span<const Token> tokens, const PplOptions& options) : tokens_(tokens), options_(options) {}

  void row(std::size_t index, std::span<const float> logits) {
    if (index + 1 >= tokens_.size()) return;
    const double nll = token_nll(logits, static_cast<std::size_t>(tokens_[index + 1]));
    const std::size_t bucket = (index + 1) / static_cast<std::size_t>(kBucket);
    if (buckets_.size() <= bucket) buckets_.resize(bucket + 1);
    buckets_[bucket] += nll;
    total_ += nll;
    const auto seen = static_cast<std::int64_t>(index + 2);  // tokens of the prefix that ends with the predicted one
    if (std::find(options_.lengths.begin(), options_.lengths.end(), seen) != options_.lengths.end()) {
      points_.push_back({seen, seen - 1, total_});
    }
  }

  void into(Reading& reading) const {
    reading.points = points_;
    reading.bucket = kBucket;
    reading.bucket_nll = buckets_;
  }

 private:
  std::span<const Token> tokens_;
  const PplOptions& options_;
  double total_ = 0;
  std::vector<double> buckets_;
  std::vector<Reading::Point> points_;
};

// The unextended model over the same tokens, a few rows at a time beside the pass that is compared with it.
class Unextended {
 public:
  // `options`: those of the passes that are compared with it, so that the plan is all that differs.
  static Result<Unextended> create(const LlamaModel& model, ContextOptions options, std::int64_t tokens) {
    options.ctx_size = tokens;
    options.ubatch_size = static_cast<int>(kKlSlice);
    Result<LlamaContext> context = LlamaContext::create(model, options);
    if (!context) return context.error();
    return Unextended(*std::move(context), static_cast<std::size_t>(model.n_vocab()));
  }

  void restart() { context_.clear(); }

  Result<void> decode(std::span<const Token> tokens) {
    rows_.clear();
    return context_.decode(tokens, {.logits_from = 0}, [&](std::size_t /*index*/, std::span<const float> row) {
      rows_.insert(rows_.end(), row.begin(), row.end());
    });
  }
  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return std::span(rows_).subspan(i * n_vocab_, n_vocab_);
  }

 private:
  Unextended(LlamaContext context, std::size_t n_vocab) : context_(std::move(context)), n_vocab_(n_vocab) {}
  LlamaContext context_;
  std::size_t n_vocab_;
  std::vector<float> rows_;
};

Result<Reading> pass(LlamaContext& context, std::span<const Token> tokens, const PplOptions& options,
                     Unextended* unextended, Meter& meter) {
  Reading reading;
  Sums sums(tokens, options);
  const auto kl_tokens = static_cast<std::size_t>(std::min<std::int64_t>(options.kl_tokens, std::ssize(tokens)));
  for (std::size_t at = 0; at < tokens.size();) {
    if (meter.cancelled()) return cancelled_error();
    // Slices are those of a pass that is compared, whether this one is or not: batches of other sizes round otherwise
    const bool compared = unextended != nullptr && at < kl_tokens;
    const std::size_t count =
        at < kl_tokens ? std::min(kKlSlice, kl_tokens - at) : std::min(kSlice, tokens.size() - at);
    const std::span<const Token> slice = tokens.subspan(at, count);
    if (compared) {
      if (const auto ok = unextended->decode(slice); !ok) return ok.error();
    }
    const Result<void> decoded =
        context.decode(slice, {.logits_from = 0}, [&](std::size_t index, std::span<const float> row) {
          sums.row(at + index, row);
          if (compared) reading.kl += kl_divergence(unextended->row(index), row);
        });
    if (!decoded) return decoded.error();
    at += count;
    meter.advance(static_cast<std::int64_t>(count));
  }
  if (unextended != nullptr) reading.kl_tokens = static_cast<std::int64_t>(kl_tokens);
  sums.into(reading);
  return reading;
}

// tools/perplexity of llama.cpp: pieces of n tokens, BOS in the place of the first, rows n/2 … n-2 scored.
Result<Reading> chunk_pass(const LlamaModel& model, LlamaContext& context, std::span<const Token> tokens,
                           const PplOptions& options, Meter& meter) {
  const auto n = static_cast<std::size_t>(options.lengths.front());
  Reading::Point point{.length = options.lengths.front()};
  for (std::size_t at = 0; at + n <= tokens.size(); at += n) {
    if (meter.cancelled()) return cancelled_error();
    std::vector<Token> piece(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                             tokens.begin() + static_cast<std::ptrdiff_t>(at + n));
    if (model.adds_bos() && model.bos()) piece.front() = *model.bos();
    context.clear();
    const Result<void> decoded =
        context.decode(piece, {.logits_from = n / 2}, [&](std::size_t index, std::span<const float> row) {
          if (index + 1 >= n) return;
          point.nll += token_nll(row, static_cast<std::size_t>(piece[index + 1]));
          ++point.predicted;
        });
    if (!decoded) return decoded.error();
    meter.advance(static_cast<std::int64_t>(n));
  }
  return Reading{.points = {point}};
}

}  // namespace

Result<void> measure_ppl(const LlamaModel& model, LlamaContext& context, std::span<const Document> documents,
                         std::span<const Candidate> candidates, const PplOptions& options, RunFolder& run,
                         const Control& control) {
  std::optional<Unextended> unextended;
  if (options.kl_tokens > 0) {
    Result<Unextended> made = Unextended::create(model, context.options(), options.kl_tokens);
    if (!made) return made.error();
    unextended = *std::move(made);
  }
  const Pass pass_over{
      .task = "ppl",
      .settings = {{"protocol", options.chunks ? "chunks" : "prefix"},
                   {"lengths", fmt::format("{}", fmt::join(options.lengths, ","))},
                   {"kl", std::to_string(options.kl_tokens)}},
      .tokens = [&](const Document& document, const Candidate& c) { return reach(document, asked_of(c, options)); },
      .run =
          [&](const Document& document, const Candidate& candidate, Meter& meter) {
            const PplOptions asked = asked_of(candidate, options);
            const auto length = static_cast<std::size_t>(reach(document, asked));
            const std::span<const Token> tokens = std::span(document.tokens).first(length);
            if (asked.chunks) return chunk_pass(model, context, tokens, asked, meter);
            if (unextended) unextended->restart();
            // How short texts change is said by the rung that takes them
            Unextended* short_texts = unextended && candidate.takes(asked.kl_tokens) ? &*unextended : nullptr;
            return pass(context, tokens, asked, short_texts, meter);
          }};
  return run_passes(context, documents, candidates, pass_over, run, control);
}

}  // namespace mrrope::eval
