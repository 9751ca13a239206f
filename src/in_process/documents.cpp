// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>

#include "base/paths.h"
#include "files/file.h"
#include "measure/text_files.h"
#include "mrrope/perplexity.h"
#include "mrrope/task_files.h"

namespace mrrope::eval {

namespace {

// The whole of a text up to this many bytes per token wanted is enough; more is read only if it was not.
constexpr std::int64_t kBytesPerToken = 8;
// A cut may split a word: tokens this near to it are not used.
constexpr std::size_t kNearCut = 32;

// Fills the bytes with those of a text from `offset` on; how many there were.
using ReadAt = std::function<Result<std::size_t>(std::size_t offset, std::span<std::byte> bytes)>;

Result<std::vector<Token>> first_tokens(const LlamaModel& model, const ReadAt& read_at, std::int64_t wanted) {
  std::string text;
  for (std::int64_t bytes = kBytesPerToken * wanted + 4096;; bytes *= 4) {
    const std::size_t have = text.size();
    text.resize(static_cast<std::size_t>(bytes));
    const Result<std::size_t> count = read_at(have, base::bytes_of(text).subspan(have));
    if (!count) return count.error();
    const bool all = have + *count < text.size();
    text.resize(have + *count);
    Result<std::vector<Token>> tokens = model.tokenize(text, {.add_special = false, .parse_special = false});
    if (!tokens) return tokens.error();
    if (model.adds_bos() && model.bos()) tokens->insert(tokens->begin(), *model.bos());
    if (!all) tokens->resize(tokens->size() - std::min(kNearCut, tokens->size()));
    if (all || static_cast<std::int64_t>(tokens->size()) >= wanted) {
      tokens->resize(static_cast<std::size_t>(std::min<std::int64_t>(wanted, std::ssize(*tokens))));
      return tokens;
    }
  }
}

Result<std::vector<Token>> tokens_of_file(const LlamaModel& model, const std::string& path, std::int64_t wanted) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  return first_tokens(
      model, [&](std::size_t offset, std::span<std::byte> bytes) { return file->read_at(offset, bytes); }, wanted);
}

Result<std::vector<Token>> tokens_of_text(const LlamaModel& model, std::string_view text, std::int64_t wanted) {
  const auto read_at = [&](std::size_t offset, std::span<std::byte> bytes) -> Result<std::size_t> {
    const std::string_view rest = text.substr(std::min(offset, text.size()), bytes.size());
    std::memcpy(bytes.data(), rest.data(), rest.size());
    return rest.size();
  };
  return first_tokens(model, read_at, wanted);
}

// Those of a .jsonl, each by its place: "texts.jsonl, document 3".
Result<void> add_documents(const LlamaModel& model, const std::string& path, std::int64_t wanted,
                           std::vector<Document>& documents) {
  const std::string file = base::to_text(base::to_path(path).filename());
  std::size_t number = 0;
  Result<void> tokenized;
  const Result<void> read = read_texts(path, [&](std::string&& text) {
    ++number;
    Result<std::vector<Token>> first = tokens_of_text(model, text, wanted);
    if (!first) {
      tokenized = Error{first.error().code, first.error().message, fmt::format("{}: entry {}", path, number)};
      return false;
    }
    if (first->size() > 1) {
      documents.push_back({fmt::format("{}, document {}", file, number), content_hash(text), *std::move(first)});
    }
    return true;
  });
  return !tokenized ? tokenized : read;
}

}  // namespace

Result<std::vector<Document>> load_documents(const LlamaModel& model, std::span<const std::string> patterns,
                                             std::int64_t tokens) {
  const Result<std::vector<std::string>> files = files_of(patterns);
  if (!files) return files.error();
  std::vector<Document> documents;
  for (const std::string& path : *files) {
    if (holds_documents(path)) {
      if (const auto ok = add_documents(model, path, tokens, documents); !ok) return ok.error();
      continue;
    }
    Result<std::vector<Token>> first = tokens_of_file(model, path, tokens);
    if (!first) return Error{first.error().code, first.error().message, path};
    if (first->size() < 2) continue;
    // Of the whole file, so that a text is the same one whatever length is asked for
    const Result<std::string> hash = content_hash_of_file(path);
    if (!hash) return hash.error();
    documents.push_back({base::to_text(base::to_path(path).filename()), *hash, *std::move(first)});
  }
  if (documents.empty()) return Error{ErrorCode::invalid_argument, "the files hold no text", files->front()};
  return documents;
}

}  // namespace mrrope::eval
