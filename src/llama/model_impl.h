// SPDX-License-Identifier: MIT
#pragma once

#include <llama-cpp.h>

#include <string>
#include <vector>

#include "mrrope/runtime.h"

namespace mrrope {

struct LlamaModel::Impl {
  llama_model_ptr model;
  std::vector<std::string> devices;
  bool vocab_only = false;

  [[nodiscard]] const llama_vocab* vocab() const { return llama_model_get_vocab(model.get()); }
};

}  // namespace mrrope
