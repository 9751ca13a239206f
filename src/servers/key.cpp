// SPDX-License-Identifier: MIT
#include "servers/key.h"

#include <algorithm>
#include <unordered_set>

namespace mrrope::servers {

namespace {

constexpr std::string_view kHidden = "[key]";

// A key is ASCII (server_check.cpp); so is all of it that can change its case.
std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::string without_key(std::string_view text, std::string_view api_key) {
  const std::size_t part = std::min(kTellingPart, api_key.size());
  if (part == 0 || text.size() < part) return std::string(text);
  // A short key is a word ("EMPTY"), and answers may have it in lower case.
  const bool any_case = api_key.size() >= kTellingPart;
  const std::string key = any_case ? folded(api_key) : std::string(api_key);
  const std::string lower = any_case ? folded(text) : std::string(text);
  std::unordered_set<std::string_view> parts;
  for (std::size_t i = 0; i + part <= key.size(); ++i) parts.insert(std::string_view(key).substr(i, part));

  std::string out;
  std::size_t done = 0;  // up to here the text is in `out`, or hidden
  bool hidden = false;   // what ends at `done`
  for (std::size_t i = 0; i + part <= text.size(); ++i) {
    if (!parts.contains(std::string_view(lower).substr(i, part))) continue;
    if (i > done || !hidden) out.append(text.substr(done, i > done ? i - done : 0)).append(kHidden);
    hidden = true;  // parts that overlap or touch are hidden as one
    done = i + part;
  }
  return out.append(text.substr(done));
}

bool repeats_key(std::string_view text, std::string_view api_key) {
  return api_key.size() >= kTellingPart && folded(text).find(folded(api_key)) != std::string::npos;
}

}  // namespace mrrope::servers
