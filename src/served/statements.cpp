// SPDX-License-Identifier: MIT
#include "mrrope/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "mrrope/ask_server.h"
#include "mrrope/tasks.h"

namespace mrrope {

namespace {

constexpr int kCuts = 8;     // lengths of a text that are asked about
constexpr int kSingles = 6;  // prompts of one token
constexpr int kAnswer = 16;  // tokens of an answer, each a row
constexpr int kTop = 10;     // tokens of a row; mlx-lm gives at most 11
constexpr int kPlaces = 24;  // of a stretch of a whole prompt that are used
constexpr double kShortest = 1.0 / 16;
constexpr std::size_t kStory = 1 << 20;  // bytes

// Prose with repetitions, as many sentences ago as a power of two, up to 128.
std::string text_of(const std::string& story, std::size_t begin, std::size_t bytes, std::mt19937_64& random) {
  std::vector<std::string_view> sentences;
  std::string text;
  std::size_t at = begin;
  while (text.size() < bytes) {
    const std::size_t end = story.find(". ", at);
    if (end == std::string::npos) break;
    sentences.push_back(std::string_view(story).substr(at, end + 2 - at));
    at = end + 2;
    text += sentences.back();
    if (sentences.size() % 2 == 0) {
      const std::size_t back = std::size_t{1} << (random() % 8);
      text += sentences[sentences.size() - 1 - std::min(back, sentences.size() - 1)];
    }
  }
  return text;
}

// Tokens of a prompt of length k of kCuts.
std::size_t cut_of(std::int64_t longest, int k) {
  const double share = std::pow(kShortest, 1 - (k + 1.0) / kCuts);
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::llround(static_cast<double>(longest) * share)));
}

Error unsupported(std::string message, const ServerOptions& options) {
  return {ErrorCode::unsupported, std::move(message), options.urls.front()};
}

class Collector {
 public:
  Collector(ServerOptions options, const ServerInfo& info, const Vocabulary& vocabulary, const StatementOptions& wanted,
            const std::atomic<bool>* cancel)
      : options_(std::move(options)), vocabulary_(vocabulary), wanted_(wanted), cancel_(cancel) {
    if (options_.model.empty()) options_.model = info.model;
    options_.chat = false;
    by_ids_ = info.takes_token_ids;
    out_.whole_prompts = info.software == "vLLM";
    // The tokens of an answer are known where the server names them by number; mlx-lm names others than it chose
    answer_ = info.software == "llama.cpp" || info.software == "vLLM" ? kAnswer : 1;
  }

  Result<Statements> collect() {
    const std::string story = eval::built_in_story(kStory);
    std::mt19937_64 random(wanted_.seed);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same prompts every time
    for (int t = 0; t < wanted_.texts; ++t) {
      const std::size_t begin =
          story.find(". ", (wanted_.seed * 977 + static_cast<std::size_t>(t) * 131) % 800 * 1024) + 2;
      const std::string text = text_of(story, begin, static_cast<std::size_t>(8 * wanted_.longest), random);
      Result<std::vector<std::int32_t>> tokens = vocabulary_.tokens(text);
      if (!tokens) return tokens.error();
      if (std::ssize(*tokens) < wanted_.longest) {
        return unsupported(fmt::format("a text of {} bytes has only {} tokens", text.size(), tokens->size()), options_);
      }
      tokens->resize(static_cast<std::size_t>(wanted_.longest));
      if (t == 0) {
        if (const auto ok = singles(*tokens); !ok) return ok.error();
      }
      const auto ok = out_.whole_prompts ? whole(*tokens) : at_every_cut(*tokens);
      if (!ok) return ok.error();
    }
    return std::move(out_);
  }

 private:
  Result<ServerReply> ask(ServerQuestion question) {
    question.top = kTop;
    question.top_of_chat = top_of_chat_;
    Result<ServerReply> reply = ask_server(options_, question, cancel_);
    ++out_.requests;
    if (reply && reply->refused() && !top_of_chat_ && out_.requests == 1) {
      top_of_chat_ = true;  // another spelling of the same wish
      return ask(std::move(question));
    }
    if (!reply) return reply;
    if (!reply->answered()) {
      const bool first = top_of_chat_ && out_.requests == 2;
      return unsupported((first ? "the server gives no log probabilities: " : "") + reply->said, options_);
    }
    out_.prompt_tokens += reply->prompt_tokens.value_or(0);
    return reply;
  }

  // A row of what the server said, by the model's own numbers. Tokens of no number of theirs are left out.
  Result<probe::Row> row(std::size_t at, const std::vector<TokenChance>& chances) const {
    probe::Row out{.at = at};
    for (const TokenChance& chance : chances) {
      const std::optional<std::int32_t> id = chance.id ? chance.id : vocabulary_.named(chance.token);
      if (!id) continue;
      if (*id >= vocabulary_.size) {
        return unsupported(fmt::format("the server names token {}, and this model has {}", *id, vocabulary_.size),
                           options_);
      }
      if (std::find(out.tokens.begin(), out.tokens.end(), *id) != out.tokens.end()) continue;
      out.tokens.push_back(*id);
      out.log_p.push_back(chance.log_probability);
    }
    return out;
  }

  // A prompt as the server takes it, and its tokens as it will read them.
  Result<ServerQuestion> question(std::vector<std::int32_t>& prompt) const {
    if (by_ids_) return ServerQuestion{.tokens = prompt};
    Result<std::string> text = vocabulary_.text(prompt);
    if (!text) return text.error();
    Result<std::vector<std::int32_t>> read = vocabulary_.tokens(*text);
    if (!read) return read.error();
    prompt = *std::move(read);
    return ServerQuestion{.prompt = *std::move(text)};
  }

  Result<probe::Statement> ask_answer(std::vector<std::int32_t> prompt, int answer) {
    Result<ServerQuestion> asked = question(prompt);
    if (!asked) return asked.error();
    asked->max_tokens = answer;
    asked->past_end = answer > 1;
    asked->temperature = answer > 1 ? 1 : 0;
    asked->seed = wanted_.seed;
    const Result<ServerReply> reply = ask(*std::move(asked));
    if (!reply) return reply.error();
    if (reply->top.empty()) return unsupported("the server gives no log probabilities", options_);
    if (reply->prompt_tokens && *reply->prompt_tokens != std::ssize(prompt)) {
      return unsupported(fmt::format("the server reads {} tokens where this model has {}: another model, or a prompt "
                                     "that it changes",
                                     *reply->prompt_tokens, prompt.size()),
                         options_);
    }
    probe::Statement out{.tokens = std::move(prompt)};
    for (std::size_t i = 0; i < reply->top.size(); ++i) {
      Result<probe::Row> said = row(out.tokens.size(), reply->top[i]);
      if (!said) return said.error();
      if (!said->tokens.empty()) out.rows.push_back(*std::move(said));
      if (i >= reply->chosen.size() || !reply->chosen[i].id || *reply->chosen[i].id >= vocabulary_.size) break;
      out.tokens.push_back(*reply->chosen[i].id);
    }
    if (out.rows.empty()) return unsupported("the server's tokens are not those of this model", options_);
    return out;
  }

  Result<void> keep(Result<probe::Statement> said) {
    if (!said) return said.error();
    out_.statements.push_back(*std::move(said));
    return {};
  }

  // No table reaches a token that stands alone.
  Result<void> singles(const std::vector<std::int32_t>& tokens) {
    for (int i = 0; i < kSingles; ++i) {
      const std::size_t place = tokens.size() * static_cast<std::size_t>(i + 1) / (kSingles + 1);
      if (const auto ok = keep(ask_answer({tokens[place]}, 1)); !ok) return ok.error();
    }
    return {};
  }

  Result<void> at_every_cut(const std::vector<std::int32_t>& tokens) {
    for (int k = 0; k < kCuts; ++k) {
      const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(cut_of(wanted_.longest, k));
      if (const auto ok = keep(ask_answer({tokens.begin(), end}, answer_)); !ok) return ok.error();
    }
    return {};
  }

  // One request for all places; a stretch up to each cut is a statement.
  Result<void> whole(const std::vector<std::int32_t>& tokens) {
    const Result<ServerReply> reply = ask({.tokens = tokens, .max_tokens = 1, .whole_prompt = true});
    if (!reply) return reply.error();
    if (reply->prompt_top.size() != tokens.size()) {
      return unsupported("the server gives no log probabilities of prompts", options_);
    }
    std::size_t from = 1;
    for (int k = 0; k < kCuts; ++k) {
      const std::size_t end = cut_of(wanted_.longest, k);
      probe::Statement out{.tokens = {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(end)}};
      const std::size_t step = std::max<std::size_t>(1, (end - from) / kPlaces);
      for (std::size_t at = std::max<std::size_t>(1, end - step * (kPlaces - 1) - 1); at < end; at += step) {
        if (at < from) continue;
        Result<probe::Row> said = row(at, reply->prompt_top[at]);
        if (!said) return said.error();
        if (!said->tokens.empty()) out.rows.push_back(*std::move(said));
      }
      if (!out.rows.empty()) out_.statements.push_back(std::move(out));
      from = end;
    }
    return {};
  }

  ServerOptions options_;
  const Vocabulary& vocabulary_;
  const StatementOptions& wanted_;
  const std::atomic<bool>* cancel_;
  Statements out_;
  bool by_ids_ = false;
  bool top_of_chat_ = false;
  int answer_ = 1;
};

}  // namespace

int statement_requests(const StatementOptions& options) {
  return kSingles + options.texts * kCuts + 1;
}  // and one that is asked again, in other words

std::int64_t statement_tokens(const StatementOptions& options) {
  std::int64_t text = 0;
  for (int k = 0; k < kCuts; ++k) text += static_cast<std::int64_t>(cut_of(options.longest, k));
  return options.texts * text + 2LL * kSingles;  // a text may come with a token before it
}

Result<Statements> collect_statements(const ServerOptions& options, const ServerInfo& info,
                                      const Vocabulary& vocabulary, const StatementOptions& wanted,
                                      const std::atomic<bool>* cancel) {
  return Collector(options, info, vocabulary, wanted, cancel).collect();
}

}  // namespace mrrope
