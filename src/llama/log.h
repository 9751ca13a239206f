// SPDX-License-Identifier: MIT
//
// llama.cpp logs through one function for the whole process. Ours keeps the complaints of the thread that asks for
// them, and drops the rest: nothing reaches the terminal, and an error can say what llama.cpp said.
#pragma once

#include <string>

namespace mrrope::llama {

// Takes the log over and registers ggml's backends, once per process. Call before anything else of llama.cpp.
void start_llama();

// Warnings and errors that llama.cpp logs on this thread during the life of this object.
class LogScope {
 public:
  LogScope();
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  // "; what it said" for the end of a message: the last few lines of errors, or else of warnings; empty if there were
  // none.
  [[nodiscard]] std::string tail() const;

  void add(bool error, const char* text);

 private:
  LogScope* outer_;
  std::string errors_;
  std::string warnings_;
};

}  // namespace mrrope::llama
