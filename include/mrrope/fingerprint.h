// SPDX-License-Identifier: MIT
//
// Which table does a server rotate by? Nothing in its protocol says so, but the probabilities of the next token do: the
// same weights run here under candidate plans give other ones, and the plan that gives the server's is the server's.
//
//   Fingerprint search(suspects(spec, {.advertised = 32768}), statements);  // statements: what the server said
//   while (const auto question = search.ask()) search.tell(run(question->plan, statements, question->which));
//   search.verdict();                                                       // "mrrope-pro x4", tied, none of these, …
//
// A search asks and never runs anything: llama.cpp here (mrrope/fingerprinting.h) and transformers in Python answer.
//
// The distance between two rows of probabilities is Hellinger's, on the tokens that the server lists and the rest: it
// is 0 … 1, and weighs a token as rounding and quantisation disturb it. A plan is ruled out when the server's
// probabilities, projected onto the line from those of the best plan to its own, certainly stop short of it (Student's
// t over statements, p < 0.0005).
// What is left is then moved a little: the attention scale, and the speeds of pairs by their wavelengths. If the
// server's rows lie systematically in one of these directions, its table is another one, however well this one fits:
// the best methods are followed along their factors, and the best of all along its scale. Noise has no such direction.
// docs/probe.md says more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mrrope/plan.h"

namespace mrrope::probe {

// Log probabilities of some next tokens after tokens[0 … at) of a statement; the likeliest of the whole vocabulary.
struct Row {
  std::size_t at = 0;
  std::vector<std::int32_t> tokens = {};
  std::vector<double> log_p = {};  // natural; <= 0
};

// A sequence and what the server said within it. Rows of one statement share their noise and count as one observation.
struct Statement {
  std::vector<std::int32_t> tokens = {};
  std::vector<Row> rows = {};
};

// What a plan makes of the same tokens: log_p of each row, statement by statement.
using Echo = std::vector<std::vector<std::vector<double>>>;

// Hellinger's squared distance, mean over rows and statements. Domain: rows as in the statements.
double mean_distance(const std::vector<Statement>& statements, const Echo& echo);

// A table that the server may run.
struct Suspect {
  std::string name;  // "mrrope-pro x4"
  Plan plan;
};
// As suspects are named.
std::string name_of(const Plan& plan);

struct SuspectOptions {
  std::optional<std::int64_t> advertised = {};  // tokens: its share of the trained length is a factor people set
  std::vector<Suspect> also = {};               // plan files, and what the file itself is believed to do
};
// The trained table, and every published method at 2, 4, 8 and 16 times and at what `advertised` suggests. Factors in
// between are found by the search.
std::vector<Suspect> suspects(const RopeSpec& spec, const SuspectOptions& options = {});

struct Rival {
  Suspect suspect;
  double distance = 0;  // mean over statements
  double times = 1;     // its distances are so many times the best one's (geometric mean)
  bool out = false;     // certainly worse than the best
};

struct TableVerdict {
  enum class Kind {
    named,    // this plan, and no other that was tried
    tied,     // the best of several that explain the server equally well
    none,     // something else than all that were tried; the nearest is named
    unclear,  // the weights are others than here, or too little was said
  };
  Kind kind = Kind::unclear;
  std::string name = {};          // of the best or nearest: "mrrope-pro x4"
  std::optional<Plan> plan = {};  // with the scale and factor as found
  // Factors of this law that explain the server as well as the plan's own, table_factor(*plan).
  double factor_low = 1, factor_high = 1;
  // The scale that the server multiplies cos and sin by is (1 + scale_off) times the plan's, ± two standard errors; 0
  // where it agrees.
  double scale_off = 0;
  double scale_error = 0;
  double distance = 0;                 // of the best, mean over statements
  double noise = 0;                    // of single tokens, which no table reaches: what weights and engines differ by
  std::vector<Rival> rivals = {};      // every table that was tried, the nearest first
  std::vector<std::string> tied = {};  // names, without the best
  std::string why = {};                // for `none` and `unclear`: a sentence
  std::size_t statements = 0;
};
const char* to_string(TableVerdict::Kind kind) noexcept;

class Fingerprint {
 public:
  // Statements of a single token carry no table: they tell how far weights and engines are apart. Domain: suspects is
  // not empty, plans are of `spec`.
  Fingerprint(std::vector<Suspect> suspects, std::vector<Statement> statements);
  Fingerprint(Fingerprint&&) noexcept;
  Fingerprint& operator=(Fingerprint&&) noexcept;
  Fingerprint(const Fingerprint&) = delete;
  Fingerprint& operator=(const Fingerprint&) = delete;
  ~Fingerprint();

  struct Question {
    const Plan* plan = nullptr;
    std::vector<std::size_t> which;  // statements
  };
  // What to run next; nothing: the verdict stands. At most some hundred questions, most of them on a part of the
  // statements.
  [[nodiscard]] std::optional<Question> ask() const;
  // The answer to the last question, statements in the order of Question::which. Domain: rows as in the statements.
  void tell(const Echo& echo);
  [[nodiscard]] TableVerdict verdict() const;
  [[nodiscard]] std::size_t alive() const;  // suspects that are left, for a progress line

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrrope::probe
