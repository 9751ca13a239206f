// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
extern char** environ;  // glibc declares it, POSIX leaves it to the program
#endif

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

#include "cli/host.h"
#include "cli/terminal.h"

namespace mrrope::cli {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one: those below are open.
    if (::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) std::abort();  // NOLINT
  }
}

std::vector<std::string> words_of(int argc, char** argv) { return {argv, argv + argc}; }

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read before any thread starts
  return value != nullptr ? value : "";
}

void offer_environment_variable(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 0);  // NOLINT(concurrency-mt-unsafe)
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) != 0; }

std::size_t window_columns() {
  winsize window{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

std::filesystem::path own_program() {
  std::error_code unseen;
#ifdef __APPLE__
  std::string path(4096, '\0');
  auto size = static_cast<std::uint32_t>(path.size());
  if (::_NSGetExecutablePath(path.data(), &size) != 0) return {};
  return std::filesystem::canonical(path.c_str(), unseen);
#else
  return std::filesystem::read_symlink("/proc/self/exe", unseen);
#endif
}

std::string program_name(const std::string& name) { return name; }

std::string python_name() { return "python3"; }

bool is_program(const std::filesystem::path& path) { return ::access(path.c_str(), X_OK) == 0; }

namespace {

// For the system, which wants to be allowed to write. They live as long as `words`.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::optional<int> become(const std::filesystem::path& program, const std::vector<std::string>& words, bool& missing) {
  std::vector<std::string> own = words;
  // Only a name is looked for in PATH: execvp would give a file that is no program to a shell
  if (program.has_parent_path()) {
    ::execv(program.c_str(), pointers_to(own).data());
  } else {
    ::execvp(program.c_str(), pointers_to(own).data());
  }
  missing = errno == ENOENT;
  return std::nullopt;
}

std::optional<int> run_this_program(std::vector<std::string> words) {
  words.insert(words.begin(), "mrrope");
  (void)std::fflush(stdout);  // what was printed stands before what it prints
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t interrupt;
  sigemptyset(&interrupt);  // macros on macOS
  sigaddset(&interrupt, SIGINT);
  ::posix_spawnattr_setsigdefault(&attributes, &interrupt);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const auto before = std::signal(SIGINT, SIG_IGN);
  pid_t child = 0;
  const bool started =
      ::posix_spawn(&child, own_program().c_str(), nullptr, &attributes, pointers_to(words).data(), environ) == 0;
  ::posix_spawnattr_destroy(&attributes);
  int status = 0;
  const bool ended = started && ::waitpid(child, &status, 0) == child;
  std::signal(SIGINT, before);
  if (!ended) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

namespace {

void (*asked)() = nullptr;  // NOLINT: a signal handler knows nothing else

extern "C" void on_signal(int /*signal*/) { asked(); }

}  // namespace

void on_interrupt(void (*handler)()) {
  asked = handler;
  struct sigaction action {};
  action.sa_handler = on_signal;
  (void)::sigaction(SIGINT, &action, nullptr);
  (void)::sigaction(SIGTERM, &action, nullptr);
}

void leave(int status) { ::_exit(status); }

std::string machine_name() {
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);) {
    if (line.starts_with("model name")) {
      return fmt::format("{}, {} processors", line.substr(std::min(line.size(), line.find(": ") + 2)),
                         std::thread::hardware_concurrency());
    }
  }
  return fmt::format("{} processors", std::thread::hardware_concurrency());
}

}  // namespace mrrope::cli
