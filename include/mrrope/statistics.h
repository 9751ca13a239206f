// SPDX-License-Identifier: MIT
//
// From records to statements: perplexities with their uncertainty, and paired differences between plans.
//
//   std::vector<PplRow> table = ppl_table(run.records());                 // method x factor x length
//   Comparison c = compare_ppl(run.records(), "mrrope-pro", "yarn", 32768);  // on the same documents
//   c.verdict();                                                          // "1.8 ± 0.6 % lower"
//
// PPL(L) = exp of the mean over documents of a document's mean -ln p over its first L tokens: the protocol of YaRN and
// MrRoPE (docs/evaluation.md). Texts differ far more than methods do, so differences are taken per document first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/records.h"

namespace mrrope {

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
  // Of the last stretch of 2048 tokens before `length` (all of it if shorter): the mean hides what happens at the end.
  double last_ppl = 0;
  // KL(unextended || this) per token over the short prefix; negative: not measured.
  double kl = -1;
};
// Rows in the order of the records: by method, factor, length. Records of gap runs give rows too; length is the gap.
std::vector<PplRow> ppl_table(std::span<const Record> records);

// Paired over documents: d = mean NLL of a minus mean NLL of b, document by document.
struct Comparison {
  std::int64_t length = 0;
  std::size_t documents = 0;
  double ratio = 1;                      // PPL of a / PPL of b = exp(mean d)
  double ratio_low = 1, ratio_high = 1;  // 95 %
  bool differs = false;                  // 1 lies outside the interval, and there are at least 3 documents or stretches
  [[nodiscard]] std::string verdict() const;  // "1.8 ± 0.6 % lower", "no difference (-0.2 ± 0.5 %)"
};

// The interval: bootstrap over documents (10 000 resamples, fixed seed) from 6 documents on; below that Student's t
// over documents, and for one document over its stretches, whose neighbours are not independent: such a verdict is
// about this text only. `last`: over the last 2048 tokens before `length` instead of all.
Comparison compare_ppl(std::span<const Record> records, std::string_view method_a, double factor_a,
                       std::string_view method_b, double factor_b, std::int64_t length, bool last = false);

// Quantile of |t| with `freedom` degrees for a two-sided 95 % interval.
double student_t95(std::size_t freedom);

// Spearman's rank correlation; ties get their mean rank. At least two values each.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace mrrope
