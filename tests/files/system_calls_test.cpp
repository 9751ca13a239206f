// SPDX-License-Identifier: MIT
//
// A system that lacks what we like to use. These functions take the place of the C library's in this program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <utility>

#include "files/file.h"
#include "files/in_place.h"
#include "tests/support/temporary_folder.h"

namespace {
bool nameless_files = true;
bool interrupted = false;
int changes_of_the_umask = 0;

int real_open(const char* path, int flags, mode_t mode) {
  if (!nameless_files && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return real_open(path, flags, mode);
}

extern "C" int flock(int descriptor, int operation) {
  if (std::exchange(interrupted, false)) {
    errno = EINTR;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}

extern "C" mode_t umask(mode_t mask) {
  ++changes_of_the_umask;
  return static_cast<mode_t>(::syscall(SYS_umask, mask));
}

namespace mrrope::base {
namespace {

// umask(0) to learn the umask once made files of other threads writable for everybody.
TEST(SystemCalls, AFileIsAsOpenAsTheUmaskSaysAndTheUmaskStays) {
  const test::TemporaryFolder folder;
  ::syscall(SYS_umask, 026);
  for (const bool nameless : {true, false}) {
    nameless_files = nameless;
    for (const bool overwrite : {false, true}) ASSERT_TRUE(write_file(folder.path("file"), "text", overwrite));
    EXPECT_EQ(File::open(folder.path("file"), File::Access::read)->status()->mode, 0640U);
    ASSERT_TRUE(remove_file(folder.path("file")));
  }
  nameless_files = true;
  ::syscall(SYS_umask, 022);
  EXPECT_EQ(changes_of_the_umask, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path(""))) << "a probe stays";
}

TEST(SystemCalls, ALockIsSeenThoughASignalInterrupts) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path("file"), "text", false));
  const Result<File> mine = File::open(folder.path("file"), File::Access::read_write);
  const Result<File> other = File::open(folder.path("file"), File::Access::read_write);
  ASSERT_TRUE(lock_for_change(*other));
  interrupted = true;
  EXPECT_FALSE(lock_for_change(*mine));
  EXPECT_FALSE(interrupted);
}

}  // namespace
}  // namespace mrrope::base
