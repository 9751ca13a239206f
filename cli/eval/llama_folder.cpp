// SPDX-License-Identifier: MIT
#include "cli/eval/llama_folder.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/paths.h"
#include "cli/host.h"
#include "mrrope/runtime.h"

namespace mrrope::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libllama.so.0";
constexpr const char* kLoaderLooksIn = "LD_LIBRARY_PATH";  // before the run paths of programs

struct Named {
  std::string folder;
  std::string where;  // who named it
};

Named named_in(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    if (words[i].starts_with("--llama=")) return {words[i].substr(8), "--llama"};
    if (words[i] == "--llama" && i + 1 < words.size()) return {words[i + 1], "--llama"};
  }
  return {environment_variable("MRROPE_LLAMA_DIR"), "MRROPE_LLAMA_DIR"};
}

// Help, completions and commands that only ask servers run with any llama.cpp: a variable that was true once is not in
// their way.
bool runs_models(const std::vector<std::string>& words) {
  if (words.size() < 2) return false;
  for (const char* other : {"complete", "completions", "man", "--version", "--help", "-h"}) {
    if (words[1] == other) return false;
  }
  bool model = false;
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h" || word.starts_with("--endpoint")) return false;
    model = model || word == "-m" || word.starts_with("--model");
  }
  return words[1] != "probe" || model;
}

// "0.5" of "0.5.0": while llama.cpp is at 0.x, a minor version may change anything (cmake/llama.cmake).
std::string series(const std::string& version) { return version.substr(0, version.rfind('.')); }

Error other_version(const std::string& version, const Named& named) {
  const std::string wanted = series(llama_built_for());
  return {ErrorCode::unsupported,
          fmt::format("{} has llama.cpp {}, and this mrrope was built for {}.x: build llama.cpp v{}.0 with your GPU's "
                      "backend, or mrrope against yours (cmake -DMRROPE_LLAMA_DIR={})",
                      named.folder, version, wanted, wanted, named.folder),
          named.where};
}

}  // namespace

Result<void> use_named_llama(const std::vector<std::string>& words) {
  const Named named = named_in(words);
  if (named.folder.empty() || (named.where != "--llama" && !runs_models(words))) return {};
  std::error_code status;
  fs::path library;
  for (const char* part : {"lib", "lib64", "bin", ""}) {
    library = fs::canonical(base::to_path(named.folder) / part / kLibrary, status);
    if (!status) break;
  }
  if (status) {
    return Error{ErrorCode::io,
                 fmt::format("there is no {} in {}, nor in its lib, lib64 or bin", kLibrary, named.folder),
                 named.where};
  }
  if (fs::equivalent(llama_library(), library, status)) {
    const std::string version = llama_version();
    if (series(version) != series(llama_built_for())) return other_version(version, named);
    return {};
  }
  // libllama.so.0 is a link to libllama.so.0.6.1. Known before it is loaded, for the loader's own words teach nothing.
  const std::string name = library.filename().string();
  const std::string version = name.starts_with("libllama.so.0.") ? name.substr(kLibrary.size() - 1) : "";
  if (!version.empty() && series(version) != series(llama_built_for())) return other_version(version, named);
  const std::string before = environment_variable(kLoaderLooksIn);
  const std::string first = library.parent_path().string();
  if (first.find(':') != std::string::npos || before == first || before.starts_with(first + ":")) {
    return Error{ErrorCode::io, "the system's loader does not take libraries from " + first, named.where};
  }
  const std::string folders = before.empty() ? first : first + ":" + before;
  if (::setenv(kLoaderLooksIn, folders.c_str(), 1) == 0) {  // NOLINT(concurrency-mt-unsafe): before any thread
    bool missing = false;
    (void)become(own_program(), words, missing);
  }
  return Error{ErrorCode::io, "mrrope-eval could not start itself once more", named.where};
}

}  // namespace mrrope::cli
