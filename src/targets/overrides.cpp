// SPDX-License-Identifier: MIT
#include "targets/overrides.h"

#include <fmt/format.h>

#include <algorithm>

#include "mrrope/units.h"

namespace mrrope::targets {

bool fits_flags(const GgufEdits& edits) {
  return edits.tensors.empty() && edits.removed_tensors.empty() && !edits.architecture &&
         std::all_of(edits.changes.begin(), edits.changes.end(), [](const auto& change) { return change.value; });
}

Result<void> check_fits_sidecar(const GgufModel& model, const GgufEdits& edits) {
  if (model.shards.size() > 1 || edits.architecture || edits.tensors.empty()) {
    return Error{ErrorCode::unsupported,
                 "a sidecar fits a single file whose architecture stays and that only gains tensors; use a copy", "",
                 "sidecar"};
  }
  for (const auto& tensor : edits.tensors) {
    if (model.find_tensor(tensor.name) != nullptr) {
      return Error{ErrorCode::unsupported,
                   "the file already has " + tensor.name + "; change it in place, or write a copy", "", "sidecar"};
    }
  }
  return {};
}

std::string flags_of(const GgufEdits& edits) {
  std::string text;
  for (const auto& change : edits.changes) {
    if (!change.value) continue;
    const double number = change.value->number().value_or(0);
    if (!text.empty()) text += ',';
    if (const auto string = change.value->text()) text += fmt::format("{}=str:{}", change.key, *string);
    else if (change.value->type() == GgufType::f32)
      text += fmt::format("{}=float:{}", change.key, format_number(number));
    else text += fmt::format("{}=int:{:.0f}", change.key, number);
  }
  return text;
}

std::string sidecar_flags_of(const GgufModel& model, const GgufEdits& edits) {
  const std::string keys = flags_of(edits);
  return fmt::format("split.count=int:2,split.no=int:0,split.tensors.count=int:{}{}{}",
                     model.head().tensors.size() + edits.tensors.size(), keys.empty() ? "" : ",", keys);
}

}  // namespace mrrope::targets
