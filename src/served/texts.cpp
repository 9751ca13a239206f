// SPDX-License-Identifier: MIT
//
// Texts in the tokens of servers that have no vocabulary here.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/paths.h"
#include "measure/text_files.h"
#include "mrrope/served.h"
#include "mrrope/task_files.h"

namespace mrrope::eval {

namespace {

// As in src/in_process/documents.cpp: bytes that are enough for a token, and tokens that a cut may have changed.
constexpr std::size_t kBytesPerToken = 8;
constexpr std::size_t kNearCut = 32;

using Tokens = std::vector<std::int32_t>;

// A character that was cut through is none.
std::string_view whole_characters(std::string_view text) {
  std::size_t end = text.size();
  for (int back = 0; back < 3 && end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xC0U) == 0x80U; ++back) --end;
  if (end == 0 || static_cast<unsigned char>(text[end - 1]) < 0xC0U) return text;
  const auto lead = static_cast<unsigned char>(text[end - 1]);
  const std::size_t size = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  return end - 1 + size <= text.size() ? text : text.substr(0, end - 1);
}

class Reader {
 public:
  Reader(const ServerOptions& servers, std::int64_t wanted, const std::atomic<bool>* cancel)
      : servers_(servers), wanted_(static_cast<std::size_t>(wanted)), cancel_(cancel) {}

  // What stands before every text: a token for its beginning, mostly.
  Result<void> find_beginning() {
    const Result<Tokens> bare = server_tokens(servers_, "one", false, cancel_);
    if (!bare) return bare.error();
    Result<Tokens> framed = server_tokens(servers_, "one", true, cancel_);
    if (!framed) return framed.error();
    const auto found = std::search(framed->begin(), framed->end(), bare->begin(), bare->end());
    if (bare->empty() || found == framed->end()) {
      return Error{ErrorCode::unsupported,
                   "POST /tokenize reads a word otherwise at the beginning of a text; a GGUF has the vocabulary",
                   servers_.urls.front(), "vocabulary"};
    }
    before_.assign(framed->begin(), found);
    return {};
  }

  // `beginning(n)`: the first n bytes, or fewer if there are no more.
  template <typename Beginning>
  Result<Tokens> first_tokens(const Beginning& beginning) const {
    for (std::size_t bytes = kBytesPerToken * wanted_ + 4096;; bytes *= 4) {
      const Result<std::string> text = beginning(bytes);
      if (!text) return text.error();
      const bool all = text->size() < bytes;
      Result<Tokens> read = server_tokens(servers_, all ? *text : whole_characters(*text), false, cancel_);
      if (!read) return read.error();
      Tokens tokens = before_;
      tokens.insert(tokens.end(), read->begin(), read->end());
      if (!all) tokens.resize(tokens.size() - std::min(kNearCut, tokens.size()));
      if (!all && tokens.size() < wanted_) continue;
      tokens.resize(std::min(wanted_, tokens.size()));
      return tokens;
    }
  }

 private:
  const ServerOptions& servers_;
  std::size_t wanted_;
  const std::atomic<bool>* cancel_;
  Tokens before_;
};

// Those of a .jsonl, each by its place: "texts.jsonl, document 3".
Result<void> add_entries(const Reader& reader, const std::string& path, std::vector<ServedText>& texts) {
  const std::string file = base::to_text(base::to_path(path).filename());
  std::size_t number = 0;
  Result<void> tokenized;
  const Result<void> read = read_texts(path, [&](std::string&& text) {
    ++number;
    Result<Tokens> tokens =
        reader.first_tokens([&](std::size_t bytes) -> Result<std::string> { return text.substr(0, bytes); });
    if (!tokens) {
      tokenized = Error{tokens.error().code, tokens.error().message, fmt::format("{}: entry {}", path, number)};
      return false;
    }
    if (tokens->size() > 1) {
      texts.push_back({fmt::format("{}, document {}", file, number), content_hash(text), *std::move(tokens)});
    }
    return true;
  });
  return !tokenized ? tokenized : read;
}

}  // namespace

Result<std::vector<ServedText>> texts_on_servers(const ServerOptions& servers, std::span<const std::string> patterns,
                                                 std::int64_t tokens, const std::atomic<bool>* cancel) {
  const Result<std::vector<std::string>> files = files_of(patterns);
  if (!files) return files.error();
  Reader reader(servers, tokens, cancel);
  if (const auto ok = reader.find_beginning(); !ok) return ok.error();
  std::vector<ServedText> texts;
  for (const std::string& path : *files) {
    if (holds_documents(path)) {
      if (const auto ok = add_entries(reader, path, texts); !ok) return ok.error();
      continue;
    }
    Result<Tokens> first = reader.first_tokens([&](std::size_t bytes) { return beginning_of(path, bytes); });
    if (!first) return Error{first.error().code, first.error().message, path};
    if (first->size() < 2) continue;
    const Result<std::string> hash = content_hash_of_file(path);
    if (!hash) return hash.error();
    texts.push_back({base::to_text(base::to_path(path).filename()), *hash, *std::move(first)});
  }
  if (texts.empty()) return Error{ErrorCode::invalid_argument, "the files hold no text", files->front()};
  return texts;
}

}  // namespace mrrope::eval
