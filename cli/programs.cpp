// SPDX-License-Identifier: MIT
#include "cli/programs.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <system_error>

#include "cli/terminal.h"

namespace mrrope::cli {

std::filesystem::path this_program() {
  std::error_code unseen;
  return std::filesystem::read_symlink("/proc/self/exe", unseen);
}

int run_this_program(std::vector<std::string> words) {
  words.insert(words.begin(), "mrrope");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  (void)std::fflush(stdout);  // what was printed stands before what it prints

  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::posix_spawnattr_setsigdefault(&attributes, &interrupt);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const auto before = std::signal(SIGINT, SIG_IGN);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, this_program().c_str(), nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  int status = 0;
  const bool ended = failed == 0 && ::waitpid(child, &status, 0) == child;
  std::signal(SIGINT, before);
  if (!ended) {
    print_error("mrrope could not start itself: " + std::generic_category().message(failed));
    return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace mrrope::cli
