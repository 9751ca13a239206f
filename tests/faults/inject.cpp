// SPDX-License-Identifier: MIT
//
// Preloaded into a program, lets the Nth of its calls that touch files go wrong (tests/faults/faults_everywhere.py).
//
//   FAULT_AT=N      which call, from 1 on; 0 or unset: none
//   FAULT=KIND      an errno by name; "short": half of what a write was given; "kill": SIGKILL before the call
//   FAULT_LOG=FILE  in the end, the number of calls; after a fault, the call's name
//
// The C library's own calls (stdio's writes) are not seen: mrrope writes files by descriptor.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

long calls = 0;

long environment_number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void log(const char* text) {
  const char* path = std::getenv("FAULT_LOG");
  if (path == nullptr) return;
  const int file = real<int (*)(const char*, int, ...)>("open")(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  static_cast<void>(!real<ssize_t (*)(int, const void*, size_t)>("write")(file, text, std::strlen(text)));
  real<int (*)(int)>("close")(file);
}

__attribute__((destructor)) void finish() {
  char text[32];
  std::snprintf(text, sizeof text, "%ld", calls);
  if (environment_number("FAULT_AT") == 0) log(text);
}

int error_number(std::string_view kind) {
  struct Name {
    std::string_view name;
    int number;
  };
  for (const Name& n : {Name{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EINTR", EINTR}, {"EACCES", EACCES}}) {
    if (n.name == kind) return n.number;
  }
  return 0;
}

// Whether this call goes wrong; errno is set then. "short" concerns writes alone.
bool fails(const char* call) {
  static const long at = environment_number("FAULT_AT");
  if (++calls != at) return false;
  const char* kind = std::getenv("FAULT");
  log(call);
  if (std::string_view(kind) == "kill") {
    static_cast<void>(std::raise(SIGKILL));
  }
  errno = error_number(kind);
  return errno != 0;
}

bool is_short() {
  const char* kind = std::getenv("FAULT");
  return calls == environment_number("FAULT_AT") && kind != nullptr && std::string_view(kind) == "short";
}

}  // namespace

// Each calls the next library's function of its name.
#define FORWARD(type, name, parameters, arguments)                 \
  extern "C" type name parameters {                                \
    if (fails(#name)) return static_cast<type>(-1);                \
    return real<type(*) parameters>(#name) arguments; /* NOLINT */ \
  }

FORWARD(ssize_t, pread, (int f, void* b, size_t n, off_t o), (f, b, n, o))
FORWARD(ssize_t, pread64, (int f, void* b, size_t n, off64_t o), (f, b, n, o))
FORWARD(ssize_t, read, (int f, void* b, size_t n), (f, b, n))
FORWARD(int, fsync, (int f), (f))
FORWARD(int, fdatasync, (int f), (f))
FORWARD(int, ftruncate, (int f, off_t n), (f, n))
FORWARD(int, ftruncate64, (int f, off64_t n), (f, n))
FORWARD(int, fallocate, (int f, int m, off_t o, off_t n), (f, m, o, n))
FORWARD(int, fallocate64, (int f, int m, off64_t o, off64_t n), (f, m, o, n))
FORWARD(int, rename, (const char* a, const char* b), (a, b))
FORWARD(int, renameat2, (int x, const char* a, int y, const char* b, unsigned f), (x, a, y, b, f))
FORWARD(int, link, (const char* a, const char* b), (a, b))
FORWARD(int, linkat, (int x, const char* a, int y, const char* b, int f), (x, a, y, b, f))
FORWARD(int, symlink, (const char* a, const char* b), (a, b))
FORWARD(int, unlink, (const char* p), (p))
FORWARD(int, mkdir, (const char* p, mode_t m), (p, m))
FORWARD(int, fchmod, (int f, mode_t m), (f, m))
FORWARD(int, fchown, (int f, uid_t u, gid_t g), (f, u, g))
FORWARD(int, mkostemps, (char* t, int s, int f), (t, s, f))
FORWARD(int, mkostemps64, (char* t, int s, int f), (t, s, f))
FORWARD(int, flock, (int f, int o), (f, o))
FORWARD(int, fstat, (int f, struct stat* s), (f, s))
FORWARD(ssize_t, copy_file_range, (int i, off64_t* io, int o, off64_t* oo, size_t n, unsigned f), (i, io, o, oo, n, f))

extern "C" ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  if (fails("pwrite")) return -1;
  return real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(file, bytes, is_short() ? (count + 1) / 2 : count,
                                                                      offset);
}
extern "C" ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  if (fails("pwrite64")) return -1;
  return real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64")(file, bytes,
                                                                          is_short() ? (count + 1) / 2 : count, offset);
}
extern "C" ssize_t write(int file, const void* bytes, size_t count) {
  if (fails("write")) return -1;
  return real<ssize_t (*)(int, const void*, size_t)>("write")(file, bytes, is_short() ? (count + 1) / 2 : count);
}

#define OPEN(name)                                                                       \
  extern "C" int name(const char* path, int flags, ...) {                                \
    va_list rest;                                                                        \
    va_start(rest, flags);                                                               \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                                        \
    if (fails(#name)) return -1;                                                         \
    return real<int (*)(const char*, int, ...)>(#name)(path, flags, mode);               \
  }
OPEN(open)
OPEN(open64)
