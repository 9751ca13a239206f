// SPDX-License-Identifier: MIT
//
// Programs around llama.cpp: what they are told besides the file.
//
// Ollama: a Modelfile with num_ctx, because it otherwise chooses a length by the memory of the GPU. How it reads one:
// parser/parser.go and types/model/name.go of ollama at fb30760996 (2026-08-21). LM Studio: its program lms,
// src/subcommands/importCmd.ts and load.ts of lmstudio-ai/lms at 07b7252 (2026-08-13).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "base/unicode.h"
#include "files/file.h"
#include "files/links.h"
#include "formats/gguf_split.h"
#include "mrrope/catalogue.h"
#include "mrrope/units.h"
#include "mrrope/version.h"
#include "targets/extend_formats.h"
#include "targets/llama_cpp.h"

namespace mrrope::targets {

namespace {

constexpr std::string_view kModelfileStart = "# Written by mrrope ";
constexpr std::uint64_t kMostModelfile = std::uint64_t{1} << 20U;

// A line of a Modelfile ends at a line feed, loses its outer spaces, and drops what Go's IsPrint does not know: every
// space but that of ASCII, every control character. What remains of other names is read back as it is, since "./" in
// front keeps quotes from being quotes.
bool can_be_said(std::string_view name) {
  if (name.ends_with(' ')) return false;
  while (!name.empty()) {
    const base::CodePoint next = base::first_code_point(name);
    const bool space = next.value == U' ';
    if (!space && (!base::is_visible(next.value) || base::is_white_space(next.value))) return false;
    name.remove_prefix(next.bytes);
  }
  return true;
}

// Every shard has a FROM of its own (server/create.go joins them by their names).
std::vector<std::string> shards_of(const std::string& target, std::size_t count) {
  const auto name = count > 1 ? formats::shard_name(target) : std::nullopt;
  if (!name) return {base::to_text(base::to_path(target).filename())};
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) {
    names.push_back(base::to_text(base::to_path(formats::shard_path(name->prefix, i, count)).filename()));
  }
  return names;
}

std::string from_line(const std::string& name) { return "FROM ./" + name + "\n"; }

// A name as Ollama takes it, at most 80 of [A-Za-z0-9_.-] with a letter, digit or underscore in front; with the length,
// so that it is not the name of the model as it was.
std::string ollama_name(const std::string& target, std::int64_t context) {
  const auto shard = formats::shard_name(target);
  const std::string stem =
      shard ? base::to_text(base::to_path(shard->prefix).filename()) : base::to_text(base::to_path(target).stem());
  std::string name;
  for (const char c : stem) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (letter || ((c == '-' || c == '.') && !name.empty())) name += c;
    else if (c >= 'A' && c <= 'Z') name += static_cast<char>(c - 'A' + 'a');
    else if (!name.empty() && name.back() != '-') name += '-';
  }
  constexpr std::size_t kMost = 60;
  name = name.substr(0, kMost);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  std::string length = format_context(context);
  std::transform(length.begin(), length.end(), length.begin(),
                 [](char c) { return c == 'M' ? 'm' : c; });  // names are told apart by their letters, not their case
  if (name.empty()) return "model-" + length;
  return name.ends_with(length) ? name : name + "-" + length;
}

}  // namespace

std::string modelfile_of(const std::string& target) {
  return base::to_text(base::to_path(target).parent_path() / "Modelfile");
}

Result<void> check_modelfile(const std::string& target, std::size_t shards, bool overwrite) {
  const std::vector<std::string> names = shards_of(target, shards);
  if (!std::all_of(names.begin(), names.end(), can_be_said)) {
    return Error{ErrorCode::invalid_argument,
                 "a Modelfile cannot say this name, because of its spaces, control characters or bytes that are no "
                 "UTF-8; give the file another one",
                 target};
  }
  const std::string path = modelfile_of(target);
  if (base::lower_case(names.front()) == "modelfile") {
    return Error{ErrorCode::invalid_argument, "the Modelfile of Ollama has this name; give the model another one",
                 target};
  }
  if (!base::is_taken(path)) return {};
  std::error_code status;
  const Result<std::string> text = base::read_file(path, kMostModelfile);
  if (base::is_symbolic_link(path) || !text || !text->starts_with(kModelfileStart)) {
    return Error{ErrorCode::inconsistent,
                 "is there, and mrrope did not write it, so it is not replaced. Write the copy into another folder, or "
                 "move this file away",
                 path};
  }
  if (overwrite || text->find("\n" + from_line(names.front())) != std::string::npos) return {};
  return Error{ErrorCode::invalid_argument,
               "exists already, for another model; it is replaced only if that is asked for", path};
}

Result<base::PendingFile> prepare_modelfile(const std::string& target, std::size_t shards, const Plan& plan) {
  const std::string name = ollama_name(target, plan.context_target);
  std::string text = fmt::format(
      "{}{}: {} tokens, by {} from {}.\n"
      "#   ollama create {} -f Modelfile && ollama run {}\n",
      kModelfileStart, MRROPE_VERSION, plan.context_target, brief(plan.method), plan.spec.context_trained, name, name);
  for (const std::string& shard : shards_of(target, shards)) text += from_line(shard);
  text += fmt::format(
      "# The cache for all of them is taken when the model is loaded; with less memory, take a smaller number.\n"
      "PARAMETER num_ctx {}\n",
      plan.context_target);
  const std::string path = modelfile_of(target);
  Result<base::PendingFile> file = base::PendingFile::create(path, base::is_taken(path));
  if (!file) return file.error();
  if (const auto ok = file->file().write_at(0, base::bytes_of(text)); !ok) return ok.error();
  return file;
}

void address_front_end(std::string_view engine, const Plan& plan, Extension& out) {
  const bool named = !out.model.empty();
  if (engine == "ollama") {
    const std::string name = ollama_name(out.model, plan.context_target);
    out.commands.clear();
    if (named) {
      out.commands.push_back(fmt::format("ollama create {} -f {} && ollama run {}", name,
                                         base::shell_quoted(modelfile_of(out.model)), name));
    }
    std::replace(out.notes.begin(), out.notes.end(), std::string(kNoShift),
                 std::string("Ollama shifts a full context unless a request says \"shift\": false; llama.cpp would "
                             "then scale cached keys again."));
  }
  if (engine == "lm-studio") {
    out.commands.clear();
    if (named) out.commands.push_back("lms import --symbolic-link " + base::shell_quoted(out.model));
    out.notes.push_back(fmt::format(
        "LM Studio loads models with a length of its own choice: set {} there, or lms load --context-length {}.",
        plan.context_target, plan.context_target));
  }
}

}  // namespace mrrope::targets
