// SPDX-License-Identifier: MIT
//
// Prompts of a length that is known, parts of which can be changed without changing any length; and the way a server
// takes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/ask_server.h"
#include "mrrope/probing.h"

namespace mrrope::served {

// Words whose order is drawn from a seed. Every twentieth of them, and at the end, "The code is".
struct Words {
  std::vector<std::string_view> words;  // of the program: a prompt may have millions

  static Words draw(std::size_t n, std::uint64_t seed);
  [[nodiscard]] std::string text() const;
  // The words of this stretch, in shares of all, in another order: the same tokens elsewhere.
  [[nodiscard]] Words changed(double from, double to) const;
};

// What is left of what was promised.
class Ledger {
 public:
  Ledger(int requests, std::int64_t tokens) : requests_(requests), tokens_(tokens) {}
  [[nodiscard]] bool allows(std::int64_t tokens) const { return asked_ < requests_ && spent_ + tokens <= tokens_; }
  void ask() { ++asked_; }
  void answered(std::int64_t tokens) { spent_ += tokens; }
  [[nodiscard]] int asked() const { return asked_; }
  [[nodiscard]] std::int64_t spent() const { return spent_; }

 private:
  int requests_, asked_ = 0;
  std::int64_t tokens_, spent_ = 0;
};

struct Prompt {
  Words words;
  std::string text;                  // or
  std::vector<std::int32_t> tokens;  // if there are any
  std::int64_t length = 0;           // tokens of it, without what the server adds
};

// How this server is asked: found out with a short question.
class Asker {
 public:
  // Errors: nothing is answered; tokens cannot be counted.
  static Result<Asker> create(const ServerOptions& options, const ServerInfo& info, const ProbePrompts& prompts,
                              Ledger ledger, const std::atomic<bool>* cancel);

  // The longest prompt of at most `length` tokens that words make; with token ids, of exactly as many.
  Result<Prompt> prompt_of(std::int64_t length, std::uint64_t seed);
  Result<Prompt> changed(const Prompt& prompt, double from, double to);

  // Counted in the ledger; HTTP 500 is asked again once.
  Result<ServerReply> ask(const Prompt& prompt, ServerQuestion question);
  // The same without what the server remembers of earlier prompts, where that can be said (llama-server, vLLM): a token
  // that is computed alone is rounded otherwise than in a batch.
  Result<ServerReply> ask_anew(const Prompt& prompt, ServerQuestion question);

  // By how much a longer prompt is longer: texts do not come in every length.
  [[nodiscard]] std::int64_t step() const { return ids_ ? 1 : kStep; }

  Ledger ledger;
  bool gives_top = false;         // log probabilities
  bool counted = true;            // else estimated
  std::int64_t frame = 0;         // tokens that the server adds to a prompt
  bool usage_believed = false;    // of the short question
  std::int64_t short_length = 0;  // tokens of the short question and its answer

 private:
  Asker(const ServerOptions& options, const ProbePrompts& prompts, Ledger book, const std::atomic<bool>* cancel)
      : ledger(book), options_(options), prompts_(prompts), cancel_(cancel) {}
  Result<Prompt> make(Words words) const;
  Result<void> settle(const ServerInfo& info);
  Result<void> estimate(const ServerReply& reply, std::size_t words);

  static constexpr std::int64_t kStep = 16;

  ServerOptions options_;
  std::string software_;
  ProbePrompts prompts_;
  const std::atomic<bool>* cancel_;
  bool ids_ = false;
  bool top_of_chat_ = false;  // log probabilities are asked for as a chat does
  int salts_ = 0;
  double per_word_ = 0;  // tokens, where they are estimated
};

// The largest difference of log probability between two replies; of tokens that only one of them names, to the least
// likely that the other one does. Empty: one of them has none.
std::optional<double> difference(const ServerReply& a, const ServerReply& b);

}  // namespace mrrope::served
