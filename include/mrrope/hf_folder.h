// SPDX-License-Identifier: MIT
//
// A Hugging Face folder with another config.json: in its place, or in a second folder that shares the weights.
//
//   HfConfig config = …;                                  // read, then edited
//   replace_config("Llama-3-8B", config);                 // the first one stays beside it: config.original.json
//   undo_config("Llama-3-8B");                         // the way back
//   link_folder("Llama-3-8B", "Llama-3-8B-32k", config);  // both config files, links to everything else
//   copy_folder("Llama-3-8B", "Llama-3-8B-32k", config);  // both config files, copies of everything else
//
// Files appear under their names only when they are complete and on the disk, with the owner, group and mode of the
// config.json they come from. config.original.json is the first file itself under another name, and the way back is a
// rename. So a config.json that is a symbolic link (the download cache of Hugging Face) is kept as that link, and comes
// back as it; what it leads to is never touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "mrrope/hf_config.h"
#include "mrrope/result.h"

namespace mrrope {

inline constexpr std::string_view kOriginalConfig = "config.original.json";  // the first one, of a folder we changed
inline constexpr std::string_view kExtendedConfig = "config.extended.json";  // what undo_config() took away

// Errors: the folder was changed before (config.original.json is there and differs); a file whose owner the caller
// cannot keep, because it is another user's.
Result<void> replace_config(const std::string& folder, const HfConfig& config);

// config.json is again the first one, with its bytes, owner and mode, or the link it was; the one it replaces is kept
// as config.extended.json. Errors: no config.original.json.
Result<void> undo_config(const std::string& folder);

// Makes the folder `target` (its parent must be there) with `config`, its original() as config.original.json, and a
// symbolic link to every other file of `folder` but .git: a relative one, so that both folders can be moved together. A
// config under another name than config.json has that one's place: neither of the two is linked. config.json comes
// last: a folder that has one is complete. What fails takes back what it has made. Errors: `target` exists and is not
// empty, a file that cannot be linked, more than kMostFolderFiles.
Result<void> link_folder(const std::string& folder, const std::string& target, const HfConfig& config);

// The same with copies, of subfolders too: cloned where the file system can, readable for nobody who may not read the
// source. A link to a file outside, as in a download cache, becomes a copy of that file; one to something inside stays
// a link. `progress`: bytes done and in all; false to stop.
// Errors: as above; a link that leads nowhere or to a folder outside, which could hold anything; what is neither file,
// folder nor link; a file that changes meanwhile; too little space.
Result<void> copy_folder(const std::string& folder, const std::string& target, const HfConfig& config,
                         const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress = {});

// What copy_folder() would copy besides the config files, in bytes, or its refusal. Looks, and writes nothing.
Result<std::uint64_t> bytes_to_copy(const std::string& folder, const std::string& target, const HfConfig& config);

inline constexpr std::size_t kMostFolderFiles = 100000;  // a model has a few hundred

}  // namespace mrrope
