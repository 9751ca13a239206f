// SPDX-License-Identifier: MIT
#include "files/open_elsewhere.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

namespace mrrope::base {

namespace {

namespace fs = std::filesystem;

// A file that a program had mapped stays in use for a moment after the program has ended, if somebody was just reading
// its /proc/PID/maps.
constexpr int kPatience = 10;
constexpr std::chrono::milliseconds kPause{20};

Use descriptors(const std::string& process, const FileIdentity& identity, int except) {
  std::error_code status;
  auto entry = fs::directory_iterator(process + "/fd", status);
  // A process that has ended meanwhile has nothing open
  if (status) return status == std::errc::no_such_file_or_directory ? Use::none : Use::unknown;
  for (; entry != fs::directory_iterator(); entry.increment(status)) {
    if (status) return Use::unknown;
    if (entry->path().filename() == std::to_string(except)) continue;
    if (identity_of(entry->path().string()) == identity) return Use::open;
  }
  return Use::none;
}

// A line of /proc/PID/maps: "7f0a…-7f0b… r--p 00000000 fe:00 1835037 /models/a.gguf".
Use mappings(const std::string& process, const FileIdentity& identity) {
  std::ifstream maps(process + "/maps");
  if (!maps) return is_taken(process) ? Use::unknown : Use::none;
  const std::string mapped =
      fmt::format(" {:02x}:{:02x} {} ", major(identity.device), minor(identity.device), identity.inode);
  for (std::string line; std::getline(maps, line);) {
    if (line.find(mapped) != std::string::npos) return Use::open;
  }
  return Use::none;
}

}  // namespace

Use use_by_processes(const File& file) {
  const Result<FileIdentity> identity = file.identity();
  std::error_code status;
  auto entry = fs::directory_iterator("/proc", status);
  if (!identity || status) return Use::unknown;
  // Where other users' processes are hidden (hidepid), the first is one of them
  Use found = is_taken("/proc/1") ? Use::none : Use::unknown;
  const std::string self = std::to_string(::getpid());
  for (; entry != fs::directory_iterator(); entry.increment(status)) {
    if (status) return Use::unknown;
    const std::string name = entry->path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    const std::string process = entry->path().string();
    for (const Use use :
         {descriptors(process, *identity, name == self ? file.descriptor() : -1), mappings(process, *identity)}) {
      if (use == Use::open) return use;
      if (use == Use::unknown) found = use;
    }
  }
  return found;
}

Use use_elsewhere(const File& file) {
  (void)::fcntl(file.descriptor(), F_SETSIG, SIGURG);  // not SIGIO, which would end the process
  for (int tries = kPatience;; --tries) {
    if (::fcntl(file.descriptor(), F_SETLEASE, F_WRLCK) == 0) {
      (void)::fcntl(file.descriptor(), F_SETLEASE, F_UNLCK);
      return Use::none;
    }
    if (errno != EAGAIN) return use_by_processes(file);
    if (tries == 0) return Use::open;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace mrrope::base
