// SPDX-License-Identifier: MIT
//
// What mrrope leaves in a GGUF it extended, so that anybody can see what was done, and take it back.
//
//   mrrope.version   the version that wrote the file
//   mrrope.plan      the plan, as a plan file (docs/plan-file.md)
//   mrrope.undo      the values that were there before, as JSON
//   mrrope.padding   filler, so that tensor data keeps its place within a block of the file system
//
// Unknown keys are ignored by every reader of GGUF.
#pragma once

#include <optional>
#include <string>

#include "mrrope/gguf.h"
#include "mrrope/model_file.h"
#include "mrrope/plan.h"
#include "mrrope/result.h"

namespace mrrope {

// The plan as a model carries it. Its source is a name without folders, so that published models do not show
// paths of the machine that extended them.
std::string carried_plan(const Plan& plan);

// `edits` with the provenance keys added; `model` is the file before the change.
// Errors: a model that already carries provenance (undo it first), a tensor whose old values cannot be read.
Result<GgufEdits> with_provenance(const GgufEdits& edits, const GgufModel& model, const Plan& plan);

// The edits that take an extension back: keys get their old values and places, what was added goes. Applied in place to
// a file that was changed in place they give its old bytes back; applied to a copy, the same keys and tensors.
// Errors: a file without provenance, or with one that does not fit the file.
Result<GgufEdits> undo_edits(const GgufModel& model);

// The plan in a GGUF or in its sidecar, as it was written. Nothing: there is none, or none that can be read.
std::optional<Plan> stored_plan(const ModelFile& model);

}  // namespace mrrope
