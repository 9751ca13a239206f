// SPDX-License-Identifier: MIT
//
// What glibc has and musl 1.2.5 has not. cmake/rooms.cmake asks for it, and names the files that are compiled with
// this.
#pragma once

#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int renameat2(int old_folder, const char* old_name, int new_folder, const char* new_name,
                            unsigned flags) {
  return static_cast<int>(syscall(SYS_renameat2, old_folder, old_name, new_folder, new_name, flags));
}
