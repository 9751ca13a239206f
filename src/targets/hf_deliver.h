// SPDX-License-Identifier: MIT
//
// A plan in config.json.
#pragma once

#include "mrrope/targets.h"
#include "targets/hf_rules.h"

namespace mrrope::targets {

// For one engine; nullptr: for as many as possible ("universal"). Domain: plan.spec is that of the config.
Result<Delivery> hf_deliver(const HfEngine* engine, const Plan& plan, const HfConfig& given);

// The JSON of --hf-overrides.
Result<std::string> vllm_overrides(const Plan& plan, const HfConfig& given);

}  // namespace mrrope::targets
