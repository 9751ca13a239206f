// SPDX-License-Identifier: MIT
//
// What was found out about a running server, and what to think of it. Asks nobody: mrrope/probing.h does.
//
//   probe::length_line(length);                // "advertised 131072, accepts 131072, reads the last 32768"
//   probe::length_findings(length);            // P101: prompts are cut
//   probe::table_findings(verdict, expected);  // P200: the server does not run the table that it should
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/findings.h"
#include "mrrope/fingerprint.h"
#include "mrrope/result.h"

namespace mrrope::probe {

// ---- Length ---------------------------------------------------------------------------------------------------------

// Which part of a prompt never reaches the model although the server answers.
enum class Cut {
  none,     // all of it is read
  front,    // the last tokens are read
  middle,   // the first and the last ones
  back,     // the first ones
  unknown,  // cannot be told, or not where
};
const char* to_string(Cut cut) noexcept;

// Tokens of requests count the prompt, what the server adds to it and the answer that is asked for.
struct Length {
  std::optional<std::int64_t> advertised = {};
  std::string advertised_by = {};                    // "GET /props: n_ctx"
  std::optional<std::int64_t> also_advertised = {};  // a larger length that it states elsewhere
  std::string also_advertised_by = {};

  std::optional<std::int64_t> accepted = {};  // the longest request that was answered
  std::optional<std::int64_t> refused = {};   // the shortest that was refused; empty: none was
  int refused_status = 0;                     // "HTTP 413"
  std::string refusal = {};                   // in the server's words

  std::int64_t sent = 0;                   // tokens of the longest prompt that was answered
  bool counted = true;                     // else estimated from what the server says of short prompts
  std::optional<std::int64_t> read = {};   // tokens of it that reached the model
  std::int64_t read_within = 0;            // how far off `read` may be; 0: the server's own count agrees
  std::optional<std::int64_t> first = {};  // Cut::middle: of these, tokens of the beginning, to within read_within
  Cut cut = Cut::unknown;
  std::optional<std::int64_t> usage = {};  // tokens of it by the server's count, without what it adds
  bool usage_believed = false;             // its count of short prompts is right
  double seconds = 0;                      // from the question to the first token of the answer, at `sent`

  int requests = 0;                // that this took
  std::int64_t prompt_tokens = 0;  // of those that were answered
};

// "advertised 131072, accepts 131072, reads the last 32768"; what is not known is said so.
std::string length_line(const Length& length);

// Whether a change of a stretch of the prompt, in shares of its length, changed what the server computes.
enum class Seen { yes, no, unknown };
using Look = std::function<Result<Seen>(double from, double to)>;

// What of a prompt is read, in shares of its length.
struct Reading {
  Cut cut = Cut::unknown;
  double first = 0, last = 0;  // read from its beginning, from its end; of Cut::none, last is 1
  double within = 0;           // how far off they may be
};
// Looks three times where all is read, else up to kMostLooks times: every look costs a prompt. `share`: what the server
// says it has read, if it is to be believed in small things; it saves looks, and is never enough. An unknown look at a
// place that matters makes the cut unknown. Errors: those of `look`.
inline constexpr int kMostLooks = 12;
Result<Reading> judge_reading(const Look& look, std::optional<double> share);

// ---- Health ---------------------------------------------------------------------------------------------------------

struct FirstToken {
  std::int64_t tokens = 0;  // of the prompt
  double seconds = 0;
};

// Empty: not asked, or no answer that tells.
struct Health {
  std::optional<bool> same_twice = {};       // the same prompt, the same text
  std::optional<double> twice_differs = {};  // by so much in log probability, at most
  std::optional<bool> same_cached = {};      // with the prefix cache as without
  std::optional<double> cached_differs = {};
  std::optional<bool> context_shift = {};      // answers go on where prompt and answer fill the length
  std::optional<FirstToken> first_short = {};  // at about 1000 tokens, nothing of it cached
  std::optional<FirstToken> first_long = {};   // at the longest prompt

  int requests = 0;
  std::int64_t prompt_tokens = 0;
};

// ---- Table ----------------------------------------------------------------------------------------------------------

// What a verdict of mrrope/fingerprint.h is compared with.
struct TableExpected {
  std::optional<Suspect> table = {};        // that the server should run
  std::string by = {};                      // who says so: "plan.json"
  std::int64_t trained = 0;                 // tokens the model was trained for
  std::optional<std::int64_t> served = {};  // tokens of one request, accepted or advertised
};

// "mrrope-pro x4", "yarn x4 or mrrope-pro x4": the verdict in a few words.
std::string table_words(const TableVerdict& verdict);

// Whether the verdict names this plan: the same speeds and the same attention scale, within 0.5 %, or the same law at a
// factor within the verdict's range.
bool is_named(const TableVerdict& verdict, const Plan& plan);

// ---- Findings -------------------------------------------------------------------------------------------------------

// P1xx: length, P2xx: table, P3xx: health.
const std::vector<FindingInfo>& probe_catalogue();
std::vector<Finding> length_findings(const Length& length);
std::vector<Finding> table_findings(const TableVerdict& verdict, const TableExpected& expected);
std::vector<Finding> health_findings(const Health& health);

}  // namespace mrrope::probe
