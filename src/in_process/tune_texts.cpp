// SPDX-License-Identifier: MIT
//
// What a search reads, and what it must not have read before its verdict.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/text_files.h"
#include "mrrope/tuning.h"
#include "mrrope/units.h"

namespace mrrope::eval {

namespace {

// Beyond this a reading costs minutes on a processor and ranks plans no better (docs/tune.md).
constexpr std::int64_t kReadAtMost = 16384;
constexpr std::size_t kHaystackBytes = std::size_t{4} << 20;

std::int64_t rounded(double tokens) { return static_cast<std::int64_t>(std::llround(tokens / 256)) * 256; }

// Texts of `tokens` tokens, one after the other, each with the model's own beginning.
std::vector<Document> windows_of(const LlamaModel& model, const Document& document, std::int64_t tokens) {
  std::vector<Document> out;
  for (std::int64_t at = 0; at + tokens <= std::ssize(document.tokens); at += tokens) {
    const auto first = document.tokens.begin() + at;
    Document window{.name = fmt::format("{} from token {}", document.name, at),
                    .hash = content_hash(fmt::format("{} {}", document.hash, at)),
                    .tokens = {first, first + tokens}};
    if (model.adds_bos() && model.bos()) window.tokens.front() = *model.bos();
    out.push_back(std::move(window));
  }
  return out;
}

// The first of each list, then the second of each, up to `count`.
std::vector<Document> in_turn(const std::vector<std::vector<Document>>& lists, std::size_t count) {
  std::vector<Document> out;
  std::size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  for (std::size_t i = 0; i < longest; ++i) {
    for (const auto& list : lists) {
      if (i < list.size() && out.size() < count) out.push_back(list[i]);
    }
  }
  return out;
}

Result<std::vector<Document>> story(const LlamaModel& model, std::int64_t tokens) {
  const std::string text = built_in_story(static_cast<std::size_t>(8 * tokens));
  Result<std::vector<Token>> read = model.tokenize(text);
  if (!read) return read.error();
  return std::vector{Document{.name = "built-in prose", .hash = content_hash(text), .tokens = *std::move(read)}};
}

}  // namespace

Result<TuneOptions> tune_defaults(const RopeSpec& spec, std::int64_t context_target) {
  const std::int64_t trained = spec.context_trained;
  if (context_target <= trained) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the model already reaches {} tokens; ask for more, such as {}", trained,
                             format_context(2 * trained)),
                 "", "context"};
  }
  TuneOptions options{.context_target = context_target, .context_trained = trained};
  options.read_tokens = std::min(context_target, std::max(kReadAtMost, 2 * trained));
  const std::int64_t middle =
      rounded(std::sqrt(static_cast<double>(trained) * static_cast<double>(options.read_tokens)));
  const std::int64_t half = options.read_tokens / 2;
  options.prompt_lengths = {middle, half > middle ? half : options.read_tokens};
  for (const char* name : {"passkey", "niah_multikey_1", "number_string"}) options.tasks.push_back(find_task(name));
  options.unseen = find_task("niah_single_2");
  return options;
}

Result<TuneTexts> tune_texts(const LlamaModel& model, std::span<const std::string> patterns,
                             const TuneOptions& options) {
  const auto windows = static_cast<std::int64_t>(options.items + options.held_out_texts);
  const std::int64_t wanted = windows * options.read_tokens;
  TuneTexts out{.tuning = {}, .held_out = {}, .tasks = {}, .built_in = patterns.empty()};
  Result<std::vector<Document>> documents =
      patterns.empty() ? story(model, wanted) : load_documents(model, patterns, wanted);
  if (!documents) return documents.error();
  std::vector<std::vector<Document>> lists;
  for (const Document& document : *documents) {
    lists.push_back(windows_of(model, document, options.read_tokens));
    if (lists.back().empty()) lists.pop_back();
  }
  if (lists.size() == 1 && lists[0].size() > 1) {  // one text: its beginning, and its end
    const std::size_t first =
        std::max<std::size_t>(1, lists[0].size() * options.items / (options.items + options.held_out_texts));
    lists.emplace_back(lists[0].begin() + static_cast<std::ptrdiff_t>(first), lists[0].end());
    lists[0].resize(first);
  }
  const auto half = static_cast<std::ptrdiff_t>(lists.size() / 2);
  out.tuning = in_turn({lists.begin(), lists.begin() + half}, options.items);
  out.held_out = in_turn({lists.begin() + half, lists.end()}, options.held_out_texts);
  if (out.tuning.empty() || out.held_out.empty()) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("expected texts of at least {} tokens, one to tune on and one to judge by", options.read_tokens),
        "", "file"};
  }
  if (patterns.empty()) {
    out.tasks.haystack = built_in_story(static_cast<std::size_t>(8 * options.read_tokens));
    return out;
  }
  const Result<std::vector<std::string>> files = files_of(patterns);
  if (!files) return files.error();
  Result<std::string> haystack = beginning_of(files->front(), kHaystackBytes);
  if (!haystack) return haystack.error();
  out.tasks.haystack = *std::move(haystack);
  return out;
}

}  // namespace mrrope::eval
