// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "in_process/log_softmax.h"
#include "in_process/passes.h"

namespace mrrope::eval {

namespace {

// A segment begins in the middle of a sentence; its first tokens are hard for every plan alike.
constexpr std::size_t kUnscored = 8;
constexpr std::size_t kSlice = 512;

// Where windows of a document start, evenly spread; fewer if it is short.
std::vector<std::size_t> windows_of(const Document& document, const GapOptions& options) {
  const auto n = static_cast<std::size_t>(options.tokens);
  std::vector<std::size_t> starts;
  if (document.tokens.size() < n) return starts;
  const std::size_t room = document.tokens.size() - n;
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(options.windows), room / n + 1);
  for (std::size_t w = 0; w < count; ++w) starts.push_back(count > 1 ? room * w / (count - 1) : 0);
  return starts;
}

std::vector<std::int32_t> positions_of(const GapOptions& options, std::int64_t gap) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(options.tokens));
  const std::int64_t segment = options.tokens / options.segments;
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const std::int64_t before = std::min<std::int64_t>(i / segment, options.segments - 1);
    positions[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i + before * gap / (options.segments - 1));
  }
  return positions;
}

// -ln p of the last segment of one window, added to the point.
Result<void> score_window(LlamaContext& context, std::span<const Token> tokens, std::span<const std::int32_t> positions,
                          std::size_t scored_from, Meter& meter, Reading::Point& point) {
  context.clear();
  for (std::size_t at = 0; at < tokens.size(); at += kSlice) {
    const std::size_t count = std::min(kSlice, tokens.size() - at);
    const std::size_t logits_from = scored_from > at ? std::min(scored_from - at, count) : 0;
    const Result<void> decoded = context.decode(
        tokens.subspan(at, count), {.logits_from = logits_from, .positions = positions.subspan(at, count)},
        [&](std::size_t index, std::span<const float> row) {
          if (at + index + 1 >= tokens.size()) return;
          point.nll += token_nll(row, static_cast<std::size_t>(tokens[at + index + 1]));
          ++point.predicted;
        });
    if (!decoded) return decoded.error();
    meter.advance(static_cast<std::int64_t>(count));
  }
  return {};
}

}  // namespace

Result<void> measure_gap(const LlamaModel& model, LlamaContext& context, std::span<const Document> documents,
                         std::span<const Candidate> candidates, const GapOptions& options, RunFolder& run,
                         const Control& control) {
  if (options.segments < 2 || options.tokens / options.segments <= static_cast<std::int64_t>(kUnscored)) {
    return Error{ErrorCode::invalid_argument, "expected at least two segments of more than 8 tokens", "", "segments"};
  }
  if (options.gaps.empty() || options.gaps.back() + options.tokens > kMaxPosition) {
    return Error{ErrorCode::invalid_argument, fmt::format("expected gaps up to {}", kMaxPosition - options.tokens), "",
                 "gaps"};
  }
  for (const Candidate& candidate : candidates) {
    if (!candidate.plan && !candidate.climb) continue;
    const RopeSpec& spec = candidate.plan ? candidate.plan->spec : candidate.climb->rungs.front().plan.spec;
    // One tensor of positions serves all layers: a window that never reaches far would be torn apart as well
    if (has_windows(spec)) {
      return Error{
          ErrorCode::unsupported,
          "some layers of this model see a window only, and the probe would move them, too; measure with eval ppl", "",
          "gaps"};
    }
  }
  const std::size_t scored_from = static_cast<std::size_t>(options.tokens / options.segments * (options.segments - 1)) +
                                  kUnscored - 1;  // the row that predicts the first scored token
  const Pass pass{
      .task = "gap",
      .settings = {{"gaps", fmt::format("{}", fmt::join(options.gaps, ","))},
                   {"tokens", std::to_string(options.tokens)},
                   {"segments", std::to_string(options.segments)},
                   {"windows", std::to_string(options.windows)}},
      .tokens =
          [&](const Document& document, const Candidate& /*candidate*/) {
            return std::ssize(windows_of(document, options)) * options.tokens * std::ssize(options.gaps);
          },
      .run = [&](const Document& document, const Candidate& /*candidate*/, Meter& meter) -> Result<Reading> {
        Reading reading;
        for (const std::int64_t gap : options.gaps) {
          const std::vector<std::int32_t> positions = positions_of(options, gap);
          Reading::Point point{.length = gap};
          for (const std::size_t from : windows_of(document, options)) {
            if (meter.cancelled()) return cancelled_error();
            const auto first = document.tokens.begin() + static_cast<std::ptrdiff_t>(from);
            std::vector<Token> tokens(first, first + options.tokens);
            if (model.adds_bos() && model.bos()) tokens.front() = *model.bos();
            if (const auto ok = score_window(context, tokens, positions, scored_from, meter, point); !ok)
              return ok.error();
          }
          reading.points.push_back(point);
        }
        return reading;
      }};
  return run_passes(context, documents, candidates, pass, run, control);
}

}  // namespace mrrope::eval
