// SPDX-License-Identifier: MIT
//
// Files of a test, in a folder that goes with it; packed ones too.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace mrrope::test {

class TemporaryFiles : public ::testing::Test {
 protected:
  TemporaryFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "mrrope_test_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~TemporaryFiles() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }

  [[nodiscard]] std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    return path(name);
  }

  // One gzip member; "a" adds another to a file.
  [[nodiscard]] std::string write_gzip(const std::string& name, std::string_view content,
                                       const char* mode = "w") const {
    gzFile file = ::gzopen(path(name).c_str(), mode);
    ::gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    ::gzclose(file);
    return path(name);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace mrrope::test
