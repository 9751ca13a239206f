// SPDX-License-Identifier: MIT
//
// A plan written into a model, and taken out again: what `mrrope extend` does.
//
//   Result<ModelFile> model = read_model("model.gguf");
//   Result<Extension> done = extend_model(*model, plan, {.output = "longer.gguf"});
//   done->difference;    // 5e-08: what was written is read back and compared with the plan
//   undo_extension(*read_model("longer.gguf"), {.output = "back.gguf"});
//
// A GGUF is copied, given a sidecar, or changed in place, and only what the caller names is written. A Hugging Face
// folder gets another config.json with the first one beside it (hf_folder.h), or a second folder with links or copies.
// An engine that would not obey the file is a refusal before a byte is written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/model_file.h"
#include "mrrope/plan.h"
#include "mrrope/result.h"
#include "mrrope/targets.h"

namespace mrrope {

struct ExtendOptions {
  // As in engine_catalogue(). Empty: llama.cpp for a GGUF, kUniversal for config.json.
  std::string engine = {};
  // GGUF: the copy; with `sidecar` its folder (empty: NAME-mrrope beside the model).
  // Hugging Face: a second folder with links to the weights; empty: config.json of the folder itself.
  // For Ollama a Modelfile is written beside a GGUF. Whatever is asked for, one that mrrope did not write stays.
  std::string output = {};
  bool in_place = false;    // GGUF: the file itself; instead of `output`
  bool sidecar = false;     // GGUF: leave the file alone, write a small second shard
  bool overwrite = false;   // GGUF: replace an existing output, of a sidecar only what mrrope wrote; in place: as force
  bool relabel = false;     // GGUF: as in DeliverOptions
  bool copy = false;        // Hugging Face: copies in the second folder, not links
  bool any_factor = false;  // also more than kMostFactor times the trained length
  bool dry_run = false;     // find out everything, write nothing
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress = {};  // as in WriteOptions
};

// Beyond it an extension is more probably a typo than a wish.
inline constexpr double kMostFactor = 64;

// For people. A GGUF's values as GgufValue::display(), a config's as JSON texts. Empty: not there.
struct FieldChange {
  std::string name;
  std::string before;
  std::string after;

  bool operator==(const FieldChange&) const = default;
};

struct Extension {
  std::vector<FieldChange> changes;
  std::string written;               // the file that was written, or would be; empty if files were only removed
  std::vector<std::string> beside;   // what belongs to it: the Modelfile of Ollama, the script of a sidecar
  std::vector<std::string> removed;  // what undo_extension() took away, or would: the files of a sidecar
  std::string model;                 // what an engine is started with: that file, the first shard, the folder
  double residual = 0;               // as in Delivery
  double scale_residual = 0;         // as in Delivery
  std::optional<double> difference;  // read back: the largest relative difference of an angular speed to the plan
  std::vector<Service> services;     // as in Delivery
  std::vector<std::string> notes;
  std::vector<std::string> commands;  // for a shell; none if no file is named
};

// Whether a plan was made for a model of this shape: groups, widths, bases, the trained length, and the scaling it was
// trained with.
Result<void> check_fit(const Plan& plan, const RopeSpec& spec);

// A change in place of the same file that was interrupted is undone first, except by a dry run.
// Errors: a plan for another model, or for no more than it can do (`where` is "plan"), or for more than kMostFactor
// times the trained length (`option` is "any_factor"); nowhere to write to (`option` is "output"), an output that is
// there or is the source, a model that was extended before, a plan the engine cannot run, and a file that, read back,
// is not the plan.
Result<Extension> extend_model(const ModelFile& model, const Plan& plan, const ExtendOptions& options);

// Of the options a GGUF reads output, in_place, overwrite, dry_run and progress; a folder is restored where it is, and
// of a sidecar the files are removed that mrrope wrote, and their folder if nothing else is in it. Errors: a model
// without an extension of ours.
Result<Extension> undo_extension(const ModelFile& model, const ExtendOptions& options);

}  // namespace mrrope
