// SPDX-License-Identifier: MIT
//
// The two formats behind extend_model() and undo_extension().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/file.h"
#include "mrrope/extend.h"

namespace mrrope::targets {

// Domain: model.gguf() / model.hf().
Result<Extension> extend_gguf(const ModelFile& model, const Plan& plan, const ExtendOptions& options);
Result<Extension> undo_gguf(const ModelFile& model, const ExtendOptions& options);
Result<Extension> extend_hf(const ModelFile& model, const Plan& plan, const ExtendOptions& options);
Result<Extension> undo_hf(const ModelFile& model, const ExtendOptions& options);

// A second shard beside an untouched model. Domain: model.gguf(), options.sidecar.
Result<Extension> write_sidecar(const ModelFile& model, const Plan& plan, Delivery delivery,
                                const ExtendOptions& options);
// Domain: model.sidecar.
Result<Extension> undo_sidecar(const ModelFile& model, const ExtendOptions& options);

// An Error if a sidecar refers to the model, where one is written unless another folder is named, unless
// options.overwrite: it would not fit the changed file.
Result<void> check_no_sidecar(const ModelFile& model, const ExtendOptions& options);

// ---- Front ends of llama.cpp (extend_front_end.cpp) ----------------------------------------------------------------

// Commands and notes in the words of Ollama and LM Studio instead of llama.cpp's own programs; `out.model` is the file,
// or empty.
void address_front_end(std::string_view engine, const Plan& plan, Extension& out);

// The Modelfile of Ollama beside the GGUF `target`, which has as many files as `shards`.
std::string modelfile_of(const std::string& target);
// Errors: a name that a Modelfile cannot say, a Modelfile that is in the way.
Result<void> check_modelfile(const std::string& target, std::size_t shards, bool overwrite);
// Complete but without its name, so that it appears with commit(), after the model.
Result<base::PendingFile> prepare_modelfile(const std::string& target, std::size_t shards, const Plan& plan);

// ---- Words ---------------------------------------------------------------------------------------------------------

// Edits as rows for people.
std::vector<FieldChange> rows_of(const GgufModel& model, const GgufEdits& edits);

// Reads what was written and asks what the engine will do with it: the largest difference of an angular speed to the
// plan. Errors: it is more than float32 leaves of a table.
Result<double> read_back(const std::string& path, std::string_view engine, const Plan& plan);

// What all deliveries say of themselves and of their plan, with `model` for the {} of their commands.
Extension described(const ModelFile& source, const Delivery& delivery, const Plan& plan, std::string model);

}  // namespace mrrope::targets
