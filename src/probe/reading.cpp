// SPDX-License-Identifier: MIT
//
// Servers that cut prompts leave the front out (proxies that keep the last tokens), the front but for a few tokens
// (Ollama: runner/ollamarunner/runner.go keeps num_keep, 4, and the last num_ctx - 4), blocks after the beginning, or
// the back (tokenizers told to truncate). So three places tell: near the beginning, the middle, near the end; then the
// border is searched for by halves.
#include <algorithm>

#include "mrrope/probe.h"

namespace mrrope::probe {

namespace {

constexpr double kHead = 0.02;   // what a server keeps of a beginning it cuts off: Ollama 4 tokens
constexpr double kStart = 0.07;  // the end of what is looked at near the beginning
constexpr double kLook = 0.05;   // the width of a look, except when searching
constexpr double kSearch = 0.025;
constexpr double kClose = 0.05;  // between the sides of a border that is found well enough

struct Border {
  double at = 0;
  double within = 0;
  bool known = true;
};

// Between `low` and `high` reading stops or, if `begins`, begins.
Result<Border> border(const Look& look, double low, double high, bool begins) {
  while (high - low > kClose) {
    const double from = std::max(low, (low + high - kSearch) / 2);
    const double to = from + kSearch;
    const Result<Seen> seen = look(from, to);
    if (!seen) return seen.error();
    if (*seen == Seen::unknown) return Border{.known = false};
    // One token of the stretch is enough to be seen
    if (begins) {
      (*seen == Seen::yes ? high : low) = to;
    } else {
      (*seen == Seen::yes ? low : high) = from;
    }
  }
  return Border{(low + high) / 2, (high - low) / 2};
}

}  // namespace

Result<Reading> judge_reading(const Look& look, std::optional<double> share) {
  const Result<Seen> start = look(kHead, kStart);
  if (!start) return start.error();
  const Result<Seen> middle = look(0.5 - kLook / 2, 0.5 + kLook / 2);
  if (!middle) return middle.error();
  const Result<Seen> end = look(1 - kLook, 1);
  if (!end) return end.error();

  const auto is = [&](Seen a, Seen b, Seen c) { return *start == a && *middle == b && *end == c; };
  using enum Seen;
  if (is(yes, yes, yes)) {
    // Something is missing by the server's count, and not where we looked
    if (share && *share < 1 - kClose) return Reading{};
    return Reading{.cut = Cut::none, .first = 0, .last = 1, .within = 0};
  }
  const bool counted = share && *share > 0 && *share < 1;
  const auto last_of = [&](double low, double high) -> Result<Border> {
    if (counted) return Border{1 - *share, 0};
    return border(look, low, high, true);
  };

  if (*start == no && *end == yes && *middle != unknown) {
    const Result<Border> begins =
        *middle == yes ? last_of(kStart, 0.5 + kLook / 2) : last_of(0.5 + kLook / 2, 1 - kLook);
    if (!begins) return begins.error();
    if (!begins->known) return Reading{};
    const Result<Seen> head = look(0, kHead);
    if (!head) return head.error();
    const double kept = *head == yes ? kHead / 2 : 0;
    return Reading{.cut = *head == yes ? Cut::middle : Cut::front,
                   .first = kept,
                   .last = 1 - begins->at - (counted ? kept : 0),
                   .within = std::max(begins->within, kept)};
  }
  if (is(yes, no, yes)) {
    const Result<Border> stops = border(look, kStart, 0.5 - kLook / 2, false);
    if (!stops) return stops.error();
    if (!stops->known) return Reading{};
    const Result<Border> begins =
        counted ? Result<Border>(Border{1 - (*share - stops->at), stops->within}) : last_of(0.5 + kLook / 2, 1 - kLook);
    if (!begins) return begins.error();
    if (!begins->known) return Reading{};
    return Reading{.cut = Cut::middle,
                   .first = stops->at,
                   .last = 1 - begins->at,
                   .within = std::max(stops->within, begins->within)};
  }
  if (*start == yes && *end == no && *middle != unknown) {
    if (counted) return Reading{.cut = Cut::back, .first = *share, .last = 0, .within = 0};
    const Result<Border> stops =
        *middle == yes ? border(look, 0.5 - kLook / 2, 1 - kLook, false) : border(look, kStart, 0.5 - kLook / 2, false);
    if (!stops) return stops.error();
    if (!stops->known) return Reading{};
    return Reading{.cut = Cut::back, .first = stops->at, .last = 0, .within = stops->within};
  }
  return Reading{};
}

}  // namespace mrrope::probe
