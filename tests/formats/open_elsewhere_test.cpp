// SPDX-License-Identifier: MIT
//
// Who else has a file open, where the kernel grants no lease: for files of other users.
#include "files/open_elsewhere.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using base::Use;
using test::small_model;
using test::TempFolder;

// A process that does something and then stays until this object is gone.
class Process {
 public:
  explicit Process(const std::function<void()>& begin) {
    std::array<int, 2> ready{}, stay{};
    if (::pipe(ready.data()) != 0 || ::pipe(stay.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(stay[1]);
      begin();
      char byte = 0;
      (void)!::write(ready[1], &byte, 1);
      (void)!::read(stay[0], &byte, 1);
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(stay[0]);
    char byte = 0;
    (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
    stay_ = stay[1];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::close(stay_);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  int stay_ = -1;
};

// What `ask` answers in a process of a user who owns nothing here.
int as_nobody(const std::function<int()>& ask) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(99);
    ::_exit(ask());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct OpenElsewhere : testing::Test {
  TempFolder folder;
  std::string path = folder.write("model.gguf", small_model().bytes());
};

TEST_F(OpenElsewhere, ItsOwnDescriptorDoesNotCount) {
  const auto file = base::File::open(path, base::File::Access::read_write);
  EXPECT_NE(base::use_by_processes(*file), Use::open);
  if (::geteuid() == 0) {
    EXPECT_EQ(base::use_elsewhere(*file), Use::none);
  }
}

TEST_F(OpenElsewhere, ASecondDescriptorIsFound) {
  const auto file = base::File::open(path, base::File::Access::read_write);
  const auto second = base::File::open(path, base::File::Access::read);
  EXPECT_EQ(base::use_by_processes(*file), Use::open);
  EXPECT_EQ(base::use_elsewhere(*file), Use::open);
}

TEST_F(OpenElsewhere, WhoIsAboutToLetGoIsWaitedFor) {
  const auto file = base::File::open(path, base::File::Access::read_write);
  std::optional<Result<base::File>> second = base::File::open(path, base::File::Access::read);
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    second.reset();
  });
  EXPECT_EQ(base::use_elsewhere(*file), Use::none);
  ending.join();
}

// An open that does not wait for pipes does not wait for leases either: a reader was refused now and then.
TEST_F(OpenElsewhere, AReaderWaitsForWhoHoldsALease) {
  const int holder = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::fcntl(holder, F_SETSIG, SIGURG), 0);
  ASSERT_EQ(::fcntl(holder, F_SETLEASE, F_WRLCK), 0);
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::fcntl(holder, F_SETLEASE, F_UNLCK);
  });
  const auto file = base::File::open(path, base::File::Access::read);
  EXPECT_TRUE(file) << to_string(file.error());
  ending.join();
  ::close(holder);
}

TEST_F(OpenElsewhere, AnotherProcessIsFound) {
  std::optional<Process> reader;
  reader.emplace([&] { (void)::open(path.c_str(), O_RDONLY); });
  // Opened later: the child has no copy of this descriptor
  const auto file = base::File::open(path, base::File::Access::read_write);
  EXPECT_EQ(base::use_by_processes(*file), Use::open);
  reader.reset();
  EXPECT_NE(base::use_by_processes(*file), Use::open) << "it has ended";
}

// llama-server closes the file once it is mapped.
TEST_F(OpenElsewhere, AMappingWithoutADescriptorIsFound) {
  const Process reader([&] {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    (void)::mmap(nullptr, 64, PROT_READ, MAP_SHARED, descriptor, 0);
    ::close(descriptor);
  });
  const auto file = base::File::open(path, base::File::Access::read_write);
  EXPECT_EQ(base::use_by_processes(*file), Use::open);
}

TEST_F(OpenElsewhere, WhoMayNotLookDoesNotKnow) {
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  ASSERT_EQ(::chmod((folder / ".").c_str(), 0777), 0);
  const int answer = as_nobody([&] {
    const auto file = base::File::open(path, base::File::Access::read_write);
    return file ? static_cast<int>(base::use_by_processes(*file)) : 98;
  });
  EXPECT_EQ(answer, static_cast<int>(Use::unknown));
}

TEST_F(OpenElsewhere, AFileOfAnotherUserIsChangedOnlyByForce) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user";
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  ASSERT_EQ(::chmod((folder / ".").c_str(), 0777), 0);
  const auto change = [&](bool force) {
    return as_nobody([&] {
      GgufEdits edits;
      edits.set("llama.context_length", GgufValue::u32(9));
      const auto edited = edit_gguf_in_place(*read_gguf(path), edits, {.force = force});
      return edited ? 0 : edited.error().option == "force" ? 1 : 2;
    });
  };
  EXPECT_EQ(change(false), 1);
  EXPECT_EQ(test::read_bytes(path), small_model().bytes());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.gguf"});
  EXPECT_EQ(change(true), 0);
  EXPECT_EQ(read_gguf(path)->find("context_length")->number(), 9);
}

}  // namespace
}  // namespace mrrope
