// SPDX-License-Identifier: MIT
//
// From records to statements: perplexities and scores with their uncertainty, and paired differences between plans.
//
//   std::vector<PplRow> table = ppl_table(run.records());                         // method x factor x length
//   Comparison c = compare_ppl(run.records(), "mrrope-pro", 4, "yarn", 4, 32768);  // on the same documents
//   c.verdict("yarn x4");                                           // "1.8 ± 0.6 % lower", "tied with yarn x4 (…)"
//
//   std::vector<ScoreRow> scores = score_table(run.records());                    // task x method x factor x length
//   ScoreComparison s = compare_scores(run.records(), "mrrope-pro", 4, "yarn", 4, "niah_single_2", 32768);
//   s.verdict("yarn x4");                                                         // "+12.0 ± 4.1 points"
//
// PPL(L) = exp of the mean over documents of a document's mean -ln p over its first L tokens: the protocol of YaRN and
// MrRoPE (docs/evaluation.md). Texts differ far more than methods do, so differences are taken per document first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/records.h"

namespace mrrope::eval {

// A plan as records name it.
struct PlanName {
  std::string method;
  double factor = 1;
  bool operator==(const PlanName&) const = default;
  [[nodiscard]] std::string text() const;  // "mrrope-pro x4"; "none", and what servers call theirs
};

// What the others are compared with. Without a wish ("" or a method, with or without its factor): the deployed YaRN,
// which most people have; else the file as it is; else the first. Domain: plans is not empty. Error: no such plan.
Result<PlanName> choose_baseline(std::span<const PlanName> plans, std::string_view wanted = {});

struct Interval {
  double low = 0;
  double high = 0;
};
// Wilson's 95 % interval of a share of n answers that are right, 0 … 1. Unlike ± standard errors it is never empty
// (five of five may be 57 %) and never leaves 0 … 1. Of a mean of scores between 0 and 1, which spread less than right
// and wrong do, it holds at least as often. Domain: n > 0.
Interval wilson95(double share, std::size_t n);

struct Estimate {
  double mean = 0;
  double stderr_mean = 0;  // 0 for a single value
  std::size_t n = 0;
};
Estimate estimate(std::span<const double> values);

struct PplRow {
  std::string method;
  double factor = 1;
  std::int64_t length = 0;
  double ppl = 0;
  // Of ppl, by the spread over documents; of a single document by the spread over its stretches of Record::bucket
  // tokens.
  double stderr_ppl = 0;
  std::size_t documents = 0;
  std::int64_t predicted = 0;
  // Of the last 2048 tokens before `length` (up to a stretch more where no stretch ends there): the mean hides what
  // happens at the end. None: the text is no longer than that, or not every document says it.
  std::optional<double> last_ppl = {};
  // KL(unextended || this) per token over the short prefix; negative: not measured.
  double kl = -1;
  std::int64_t kl_tokens = 0;  // of all documents
};
// Rows in the order of the records: by method, factor, length. A document that was measured twice counts once. Records
// of gap runs give rows too; length is the gap.
std::vector<PplRow> ppl_table(std::span<const Record> records);

// Paired over documents: d = mean NLL of a minus mean NLL of b, document by document.
struct Comparison {
  std::int64_t length = 0;
  std::size_t documents = 0;
  double ratio = 1;                      // PPL of a / PPL of b = exp(mean d)
  double ratio_low = 1, ratio_high = 1;  // 95 %
  bool differs = false;                  // 1 lies outside the interval, and there are at least 3 documents or stretches
  // Whatever they say may be chance: two documents, whose t is 12.7, or a text of two stretches.
  [[nodiscard]] bool too_few() const;
  // "1.8 ± 0.6 % lower", "tied (-0.2 ± 0.5 %)", "too few documents (2) to tell (+1.0 ± 9.5 %)"; wider than 50 % or
  // beyond twice: "3.9 times as high (1.3 to 12.1)"
  [[nodiscard]] std::string verdict(std::string_view with = {}) const;
  // Of a table: "-1.8 ± 0.6 % *" where it differs, "-0.2 ± 0.5 %", "3.9x (1.3 to 12.1) *", "-"
  [[nodiscard]] std::string cell() const;
};

// The interval: bootstrap over documents (10 000 resamples, fixed seed, expanded for small numbers) from 6 documents
// on; below that Student's t over documents, and for one document over its stretches, whose neighbours are not
// independent: such a verdict is about this text only. `last`: over the last 2048 tokens before `length` instead of
// all.
Comparison compare_ppl(std::span<const Record> records, std::string_view method_a, double factor_a,
                       std::string_view method_b, double factor_b, std::int64_t length, bool last = false);

// ---- Tasks with answers --------------------------------------------------------------------------------------------

struct ScoreRow {
  std::string task;
  std::string method;
  double factor = 1;
  std::int64_t length = 0;
  double score = 0;          // mean, 0 … 1
  double stderr_score = 0;   // of the mean, by the spread over samples; 0 for a single one
  double low = 0, high = 1;  // wilson95()
  std::size_t samples = 0;
  double cut = 0;    // share of answers that the budget of tokens ended
  double empty = 0;  // share of answers without a visible character
  // Mean of -ln p of the right answer, nats per token; none: not measured.
  std::optional<double> nll = {};
  double stderr_nll = 0;
  [[nodiscard]] std::string cell() const;  // of a table, in percent with its interval: "62.5 (39–82)"
};
// Rows by task, method and factor in the order of the records, then by length. A sample that was answered twice counts
// once, as it was first.
std::vector<ScoreRow> score_table(std::span<const Record> records);
// For runs too large to be kept: mrrope/answers.h.

// Answers are long and short, and a token of a long one is no less hard: nats of a whole answer would measure its
// length.
std::optional<double> nll_per_token(const Answer& answer);
// Nothing visible in it.
bool is_empty(const Answer& answer);

// The plain mean of the task scores at a length: RULER's headline.
struct MeanScoreRow {
  std::string method;
  double factor = 1;
  std::int64_t length = 0;
  std::size_t tasks = 0;
  double score = 0;
  double stderr_score = 0;
  // 95 %: of one task wilson95(), of several those of the tasks by square and add (Newcombe 1998; Zou and Donner 2008).
  double low = 0, high = 1;
  // Mean over the tasks of -ln p of the right answer, nats per token; none: a task does not have it.
  std::optional<double> nll = {};
  double stderr_nll = 0;
  [[nodiscard]] std::string cell() const;  // as ScoreRow::cell()
};
std::vector<MeanScoreRow> mean_scores(std::span<const ScoreRow> table);

// RULER's effective length: the longest one whose mean score exceeds the threshold (85.6 %: Llama-2-7B-chat at 4k).
// Where a task is missing that another length or plan has, a mean is of something else and does not count. 0: none.
// `rows`: those of all plans.
struct EffectiveLength {
  std::int64_t length = 0;
  std::int64_t sure = 0;  // the longest one whose lower bound exceeds it
};
EffectiveLength effective_length(std::span<const MeanScoreRow> rows, std::string_view method, double factor,
                                 double threshold = 0.856);

// Of fewer samples every outcome comes by chance once in twenty times or more: 2 * 2^-5 > 0.05 > 2 * 2^-6.
inline constexpr std::size_t kFewestSamples = 6;

// Paired over samples: score of a minus score of b, sample by sample, in points of 100.
struct ScoreComparison {
  std::string task;  // empty: all
  std::int64_t length = 0;
  std::size_t samples = 0;   // that both have
  double difference = 0;     // mean
  double low = 0, high = 0;  // 95 %, not always even; of a single sample -100 and 100
  std::size_t a_better = 0, b_better = 0;
  // Of the paired permutation test of the mean; where scores are 0 and 1 that is McNemar's exact test. Exact up to 16
  // samples that differ and wherever all differ by as much, else by 10 000 draws with a fixed seed, above 1000 by the
  // normal curve.
  double p_value = 1;
  bool differs = false;  // p < 0.05: the test decides. Fewer than six samples cannot differ, whatever they say
  [[nodiscard]] bool too_few() const { return samples > 0 && samples < kFewestSamples; }
  // The interval says the other thing. It is rarely so, and verdict() says it.
  [[nodiscard]] bool disputed() const { return differs != (low > 0 || high < 0); }
  // "+12.0 ± 4.1 points", "+50.0 points (28.1 to 60.4)" where the sides are uneven, "tied (+0.3 ± 2.0 points)",
  // "too few samples (5) to tell (+100.0 points)"
  [[nodiscard]] std::string verdict(std::string_view with = {}) const;
  // Of a table: "+12.0 ± 4.1 *" where it differs, "+50.0 (28.1 to 60.4) *", "+0.3 ± 2.0", "+100.0 (n = 5)", "-"
  [[nodiscard]] std::string cell() const;
};

// A sample is known by task, length and the hash of its prompt. Over all tasks every sample counts alike; with as many
// samples of each task that is the difference of mean_scores(). The interval: bootstrap over samples (10 000 resamples,
// fixed seed) from 6 to 1000 of them; Student's t below, and above, where both agree.
ScoreComparison compare_scores(std::span<const Record> records, std::string_view method_a, double factor_a,
                               std::string_view method_b, double factor_b, std::string_view task, std::int64_t length);

// The same for scores that were paired already; task and length are left as they are.
struct ScorePair {
  double a = 0;
  double b = 0;
};
ScoreComparison compare_scores(std::span<const ScorePair> pairs);

// Paired over samples: -ln p per token of the right answer under a minus that under b. It tells plans apart from a
// fraction of the samples that scores need (docs/evaluation.md), and says nothing of what a model would say instead.
struct NllComparison {
  std::string task = {};  // empty: all
  std::int64_t length = 0;
  std::size_t samples = 0;   // whose right answer both have
  double difference = 0;     // mean, nats per token; negative: a finds it likelier
  double low = 0, high = 0;  // at least 95 %, and even to both sides
  bool differs = false;      // 0 lies outside, and there are at least six samples
  // "-0.290 ± 0.081 nats", "tied (-0.020 ± 0.052 nats)"
  [[nodiscard]] std::string verdict(std::string_view with = {}) const;
  [[nodiscard]] std::string cell() const;  // of a table: "-0.290 ± 0.081 *", "-0.020 ± 0.052", "-0.3 (n = 5)", "-"
};
NllComparison compare_nll(std::span<const Record> records, std::string_view method_a, double factor_a,
                          std::string_view method_b, double factor_b, std::string_view task, std::int64_t length);
NllComparison compare_nll(std::span<const ScorePair> pairs);

// ---- Shared --------------------------------------------------------------------------------------------------------

// Quantile of |t| with `freedom` degrees for a two-sided 95 % interval.
double student_t95(std::size_t freedom);

// Spearman's rank correlation; ties get their mean rank. At least two values each.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace mrrope::eval
