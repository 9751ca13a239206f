// SPDX-License-Identifier: MIT
//
// The configs of tests/formats/configs: shaped like those of the models they are named after.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mrrope/mrrope.h"

namespace mrrope::test {

inline std::filesystem::path config_folder() {
  return std::filesystem::path(MRROPE_VECTORS).parent_path() / "formats" / "configs";
}

inline std::vector<std::string> config_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(config_folder())) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string config_text(const std::string& name) {
  std::ifstream file(config_folder() / (name + ".json"), std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline HfConfig config(const std::string& text) {
  Result<HfConfig> parsed = HfConfig::parse(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : to_string(parsed.error())) << "\n" << text;
  return parsed ? *std::move(parsed) : *HfConfig::parse("{}");
}
inline HfConfig config_file(const std::string& name) { return config(config_text(name)); }

inline RopeSpec spec_of(const HfConfig& config) {
  Result<RopeSpec> spec = config.rope_spec();
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error())) << "\n" << config.text();
  return spec ? *std::move(spec) : RopeSpec{};
}

// "" for no error.
inline std::string error_of(const HfConfig& config) {
  const Result<RopeSpec> spec = config.rope_spec();
  return spec ? "" : to_string(spec.error());
}

}  // namespace mrrope::test
