// SPDX-License-Identifier: MIT
//
// The devices a model may be put on: GPUs of this machine, and RPC servers of others.
#pragma once

#include <ggml-backend.h>

#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::llama {

// RPC servers first, as llama.cpp has them, then the GPUs of this machine; a null pointer ends the list, as llama.cpp
// wants it. Servers that another model of this process uses are not in it. Blocks up to five seconds per server.
Result<std::vector<ggml_backend_dev_t>> offload_devices(const std::vector<std::string>& rpc);

}  // namespace mrrope::llama
