// SPDX-License-Identifier: MIT
//
// What a Hugging Face folder holds besides its config files, before anything is made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mrrope/hf_config.h"
#include "mrrope/result.h"

namespace mrrope::formats {

struct FolderEntry {
  enum class Kind { folder, file, link };
  std::string name;         // below the folder: "onnx/model.onnx"
  Kind kind = Kind::file;   // as it will be in a copy
  std::string leads = {};   // a link: what it will say
  std::uint64_t bytes = 0;  // a file: how many
};

// The entries of the folder itself, whatever they are. `target`, which may lie in it, the config files and .git are
// left out. Errors: more than kMostFolderFiles.
Result<std::vector<std::string>> entries_to_link(const std::string& folder, const std::string& target,
                                                 const HfConfig& config);

// The same with all subfolders, folders before what is in them, for copy_folder() (mrrope/hf_folder.h), which says what
// is refused. No link to a folder is followed.
Result<std::vector<FolderEntry>> entries_to_copy(const std::string& folder, const std::string& target,
                                                 const HfConfig& config);

}  // namespace mrrope::formats
