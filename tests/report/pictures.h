// SPDX-License-Identifier: MIT
//
// Pictures of a page, and what they are compared with.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/json.h"
#include "mrrope/report.h"

namespace mrrope::test {

inline const Picture* find(const Report& report, const std::string& name) {
  for (const Picture& picture : report.pictures) {
    if (picture.name == name) return &picture;
  }
  return nullptr;
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// A specification with every fortieth row of data where there are more than a hundred: curves fill the tree otherwise.
inline std::string thinned(const std::string& spec) {
  base::Json json = *base::parse_json(spec);
  const base::Json all = json["data"]["values"];
  if (all.size() <= 100) return spec;
  json["data"]["values"] = base::Json::array();
  for (std::size_t i = 0; i < all.size(); i += 40) json["data"]["values"].push_back(all[i]);
  return base::write_json(json);
}

// MRROPE_WRITE_GOLDEN=1 renews the files; look at the difference before you keep it.
inline void expect_golden(const Picture& picture) {
  const std::string path = std::string(MRROPE_GOLDEN) + "/" + picture.name + ".vl.json";
  if (std::getenv("MRROPE_WRITE_GOLDEN") != nullptr) std::ofstream(path) << thinned(picture.spec);
  EXPECT_EQ(thinned(picture.spec), file_text(path)) << path;
}

}  // namespace mrrope::test
