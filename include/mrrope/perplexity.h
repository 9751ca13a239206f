// SPDX-License-Identifier: MIT
//
// Perplexity at every length in one pass per document and plan, and at every distance without long texts.
//
//   std::vector<Document> texts = *load_documents(model, {"texts/*"}, 32768);
//   PplOptions options{.lengths = {8192, 16384, 32768}};
//   measure_ppl(model, context, texts, plans, options, run);          // into a RunFolder
//   ppl_table(run.records());                                         // mrrope/statistics.h
//
// Attention is causal and a plan's table does not depend on the length, so -ln p of token i is the same in every text
// that begins alike: one pass over the longest prefix gives the whole curve (docs/evaluation.md; methods whose table
// follows the length, dynamic-*, are measured with the table of the plan's target).
// Memory: what the context takes, and one row of logits per token of a ubatch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mrrope/measure.h"
#include "mrrope/records.h"
#include "mrrope/result.h"
#include "mrrope/runtime.h"

namespace mrrope::eval {

struct Document {
  std::string name;           // for people: the file's name, with a number if it holds several
  std::string hash;           // of the file, or of the text where it holds several
  std::vector<Token> tokens;  // BOS first where the model wants one
};

// `patterns`: files, or patterns with * and ?, in the order given, names within a pattern sorted. At most `tokens` of
// each are kept. A .jsonl holds documents, one per line, as read_texts() reads them; any other file is one. Errors: a
// pattern that names no file; no file that has any text.
Result<std::vector<Document>> load_documents(const LlamaModel& model, std::span<const std::string> patterns,
                                             std::int64_t tokens);

struct PplOptions {
  std::vector<std::int64_t> lengths;  // ascending; a text shorter than a length has no point there
  std::int64_t kl_tokens = 0;         // compare the first tokens with the unextended model; 0: do not
  // As llama-perplexity counts: the text in pieces of lengths[0], each with its own BOS, second halves scored. Not
  // comparable with anything else here; for checking.
  bool chunks = false;
};
// Stretches of which a record keeps the sum; lengths that are multiples have an exact end.
inline constexpr std::int64_t kBucket = 256;

Result<void> measure_ppl(const LlamaModel& model, LlamaContext& context, std::span<const Document> documents,
                         std::span<const Candidate> candidates, const PplOptions& options, RunFolder& run,
                         const Control& control = {});

struct GapOptions {
  std::vector<std::int64_t> gaps;  // how much further the last segment seems to be; ascending
  std::int64_t tokens = 2048;      // of one window
  int segments = 2;                // the gap is spread evenly between them
  int windows = 4;                 // per document, evenly spread
};
// -ln p of the last segment against the distance its rotation sees. Only distance matters to a rotary embedding, so
// tokens * windows tokens meet the angles of a text of `gap` tokens, at a cost that does not grow with it. What it does
// not see: that a long text has more to attend to. The first 8 tokens of the segment are not scored.
Result<void> measure_gap(const LlamaModel& model, LlamaContext& context, std::span<const Document> documents,
                         std::span<const Candidate> candidates, const GapOptions& options, RunFolder& run,
                         const Control& control = {});

}  // namespace mrrope::eval
