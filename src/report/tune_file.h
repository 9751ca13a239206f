// SPDX-License-Identifier: MIT
//
// What `mrrope tune` leaves beside its records, FOLDER/tune.json (schema mrrope.tune/1): the search, table by table,
// and the verdict on what the search has not seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::report {

struct TuneFile {
  // One that was measured on every tuning text and prompt.
  struct Table {
    std::string method;
    bool fixed = false;             // published; else found
    std::int64_t tokens = 0;        // that the search had read when this one was complete
    double beyond = 0, within = 0;  // the trained length, nats per token
    double objective = 0;           // their weighted sum, which the search lowers
    bool front = false;             // no other is lower on one side without being higher on the other
  };

  enum class Metric { ppl_long, ppl_short, answer_nll, score };

  // Tuned minus another: relative (perplexities), nats per token (answers), 0 … 1 (scores).
  struct Difference {
    std::string against;
    Metric metric = Metric::ppl_long;
    double difference = 0;
    double low = 0, high = 0;  // 95 %
    std::int64_t items = 0;
    bool better = false, worse = false;
  };

  std::string model_hash;
  std::int64_t context_trained = 0, context = 0;  // from, to
  std::int64_t read_tokens = 0;                   // of a text
  std::string prefer;                             // "long", "balanced" or "short"
  bool built_in_texts = false;
  std::int64_t held_out_texts = 0, held_out_prompts = 0;
  std::string label;             // of the tuned table, in records
  std::int64_t evaluations = 0;  // tables of which anything was measured
  std::int64_t tokens = 0;
  std::vector<Table> search;              // in the order of measuring
  std::size_t tuned = 0, best_fixed = 0;  // in `search`; the same if nothing better was found
  std::vector<Difference> verdict;        // of `tuned` against each of the others
  bool tuned_is_recommended = false;      // else best_fixed is

  [[nodiscard]] const Table& tuned_table() const { return search[tuned]; }
  [[nodiscard]] const Table& best_fixed_table() const { return search[best_fixed]; }
  [[nodiscard]] const Difference* find(std::string_view against, Metric metric) const;  // null: not measured
};

// Names are printable() already. Fields that nobody knows are left alone. Errors name the field: missing, of another
// type or out of range; tables out of order; names that are not among the tables.
Result<TuneFile> tune_from_json(std::string_view text);

// FOLDER/tune.json; nothing if there is none. Errors name the file, too; a file of more than 16 MB is one.
Result<std::optional<TuneFile>> read_tune(const std::string& folder);

}  // namespace mrrope::report
