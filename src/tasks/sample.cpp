// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tasks/catalogue.h"
#include "tasks/fit.h"

namespace mrrope::eval {

namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 24;

Result<void> check_request(const SampleRequest& request) {
  if (request.length < 1 || request.length > kLongest) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected 1 to {} tokens, found {}", kLongest, request.length), "", "lengths"};
  }
  if (request.depth && !(*request.depth >= 0 && *request.depth <= 1)) {
    return Error{ErrorCode::invalid_argument, fmt::format("expected 0 to 1, found {}", *request.depth), "", "depth"};
  }
  if (request.index < 0 || request.frame_tokens < 0) {
    return Error{ErrorCode::invalid_argument, "expected an index and a frame that are not negative", ""};
  }
  return {};
}

// Multiples of the golden ratio, modulo 1: any number of consecutive indices is spread evenly, from 3 to 3000, and none
// has to know how many there will be.
double spread_depth(drafts::Random random, std::int64_t index) {
  const std::uint64_t turns = random.next() + static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15;
  return static_cast<double>(turns >> 11) * 0x1p-53;
}

// Tokens before each needle. Pieces are cut before the space in front of a needle, where most tokenizers cut too.
Result<void> locate(Sample& sample, const TokenCount& count) {
  std::size_t done = 0;
  std::int64_t tokens = 0;
  for (Needle& needle : sample.needles) {
    const bool after_space = needle.begin > done && sample.prompt[needle.begin - 1] == ' ';
    const std::size_t cut = needle.begin - (after_space ? 1 : 0);
    const Result<std::int64_t> piece = count(std::string_view(sample.prompt).substr(done, cut - done));
    if (!piece) return piece.error();
    tokens += *piece;
    needle.token = tokens;
    done = cut;
  }
  if (!sample.needles.empty()) {
    sample.depth = static_cast<double>(sample.needles.front().token) / static_cast<double>(sample.prompt_tokens);
  }
  return {};
}

// Without the point at the end, which is no part of what is asked for; and without those that begin with another, whose
// probability the shorter one has already.
std::vector<std::string> right_answers(std::vector<std::string> texts) {
  for (std::string& text : texts) {
    if (text.ends_with('.')) text.pop_back();
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto covers = [&](std::size_t j) {
      return texts[i].starts_with(texts[j]) && (texts[j].size() < texts[i].size() || j < i);
    };
    bool covered = false;
    for (std::size_t j = 0; j < texts.size(); ++j) covered = covered || (j != i && covers(j));
    if (!covered) out.push_back(texts[i]);
  }
  return out;
}

}  // namespace

std::size_t drafts::drawn(const Brief& brief, std::size_t entries) {
  std::vector<std::size_t> order(entries);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random = brief.draw;
  random.shuffle(std::span(order));
  return order[static_cast<std::size_t>(brief.index) % entries];
}

std::vector<std::string> drafts::spaced(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    if (!text.empty()) out.push_back(" " + text);
  }
  return out;
}

std::span<const Item> items_of(const TaskTexts& texts, const Task& task) {
  const auto found = texts.items.find(task.name);
  return found == texts.items.end() ? std::span<const Item>() : found->second;
}

Result<Sample> make_sample(const Task& task, const TaskTexts& texts, const SampleRequest& request,
                           const TokenCount& count) {
  if (const auto ok = check_request(request); !ok) return ok.error();
  const std::span<const Item> items = items_of(texts, task);
  const drafts::Forming generator = drafts::generator_of(task, !items.empty());
  if (generator == nullptr) {
    return Error{ErrorCode::unsupported, fmt::format("there is no task \"{}\"", task.name), "", "tasks"};
  }
  const drafts::Random root = drafts::Random(request.seed).fork(task.name);
  const drafts::Brief brief{.texts = texts,
                            .items = items,
                            .length = request.length,
                            .index = request.index,
                            .random = root.fork(static_cast<std::uint64_t>(request.index)),
                            .draw = root.fork("draw"),
                            .depth = request.depth.value_or(spread_depth(root, request.index)),
                            .depth_given = request.depth.has_value()};
  const drafts::Forms forms = generator(brief);
  if (!forms) return forms.error();
  Result<drafts::Fitted> fitted =
      drafts::fit(*forms, request.length - request.frame_tokens, task.max_new_tokens, count);
  if (!fitted) return fitted.error();

  if (fitted->tokens < 1) {  // or depths would be shares of nothing
    return Error{
        ErrorCode::malformed,
        fmt::format("a prompt of {} bytes has {} tokens by this count", fitted->draft.prompt.size(), fitted->tokens),
        ""};
  }

  fitted->draft.other_answers.insert(fitted->draft.other_answers.begin(), fitted->draft.answer);
  Sample sample{.task = std::string(task.name),
                .request = request,
                .prompt = std::move(fitted->draft.prompt),
                .answer_prefix = std::move(fitted->draft.answer_prefix),
                .max_new_tokens = fitted->max_new_tokens,
                .references = std::move(fitted->draft.references),
                .answers = right_answers(std::move(fitted->draft.other_answers)),
                .needles = {},
                .prompt_tokens = fitted->tokens,
                .labels = std::move(fitted->draft.labels)};
  for (const drafts::Range& r : fitted->draft.needles) sample.needles.push_back({.begin = r.begin, .end = r.end});
  std::sort(sample.needles.begin(), sample.needles.end(),
            [](const Needle& a, const Needle& b) { return a.begin < b.begin; });
  if (const auto ok = locate(sample, count); !ok) return ok.error();
  return sample;
}

}  // namespace mrrope::eval
