// SPDX-License-Identifier: MIT
#include "llama/log.h"

#include <dlfcn.h>
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace mrrope::llama {

namespace {

constexpr std::size_t kKept = 4096;  // bytes of log per scope: enough for the last lines
constexpr std::size_t kTail = 400;   // bytes of it in a message

// The one place where llama.cpp's global callback can find the caller. Per thread: no locks, and two threads that load
// different files do not mix their errors.
thread_local LogScope* current = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_log(ggml_log_level level, const char* text, void* /*user_data*/) {
  if (current == nullptr || text == nullptr) return;
  if (level == GGML_LOG_LEVEL_ERROR || level == GGML_LOG_LEVEL_WARN) {
    current->add(level == GGML_LOG_LEVEL_ERROR, text);
  }
}

// Where ggml's backends are if they are files of their own (GGML_BACKEND_DL): where llama.cpp was told to put them,
// beside ggml, in the bin of its install prefix, or beside this program. Its ggml_backend_load_all() would look into
// the current folder, too, and run a libggml-cuda.so that a stranger has put beside a model. Empty: nowhere.
std::string backend_folder() {
  namespace fs = std::filesystem;
  std::error_code unseen;
  Dl_info ggml{};
  const bool found = ::dladdr(reinterpret_cast<const void*>(&ggml_backend_load_all_from_path), &ggml) != 0;
  const fs::path beside =
      found && ggml.dli_fname != nullptr ? fs::canonical(ggml.dli_fname, unseen).parent_path() : fs::path();
  for (const fs::path& folder : {fs::path(MRROPE_GGML_BACKENDS), beside, beside.parent_path() / "bin",
                                 fs::read_symlink("/proc/self/exe", unseen).parent_path()}) {
    if (!folder.is_absolute()) continue;
    for (fs::directory_iterator entry(folder, unseen), end; !unseen && entry != end; entry.increment(unseen)) {
      if (entry->path().filename().string().starts_with("libggml-cpu")) return folder.string();
    }
  }
  return "";
}

}  // namespace

void start_llama() {
  static const bool started = [] {
    llama_log_set(on_log, nullptr);
    if (const std::string folder = backend_folder(); !folder.empty()) ggml_backend_load_all_from_path(folder.c_str());
    llama_backend_init();
    return true;
  }();
  (void)started;
}

LogScope::LogScope() : outer_(current) { current = this; }
LogScope::~LogScope() { current = outer_; }

void LogScope::add(bool error, const char* text) {
  std::string& log = error ? errors_ : warnings_;
  log += text;
  if (log.size() > kKept) log.erase(0, log.size() - kKept);
}

std::string LogScope::tail() const {
  std::string_view log = errors_.empty() ? warnings_ : errors_;
  while (log.ends_with('\n')) log.remove_suffix(1);
  if (log.size() > kTail) {
    log.remove_prefix(log.size() - kTail);
    log.remove_prefix(std::min(log.find('\n') + 1, log.size()));  // from the start of a line; npos + 1 is 0
  }
  if (log.empty()) return "";
  std::string out = "; llama.cpp: ";
  for (const char c : log) {
    if (c == '\n') {
      out += " | ";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace mrrope::llama
