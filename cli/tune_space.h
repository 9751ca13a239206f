// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "mrrope/model_file.h"
#include "mrrope/spec.h"
#include "mrrope/tune.h"

namespace mrrope::cli {

// What an engine can be told about this model; without one any table, which the plug-in and mrrope itself run.
// Error: it can be told nothing that could be searched.
Result<tune::SpaceOptions> space_for(const std::string& engine, const ModelFile& file, const RopeSpec& spec,
                                     std::int64_t target);

}  // namespace mrrope::cli
