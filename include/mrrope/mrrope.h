// SPDX-License-Identifier: MIT
//
// Plans, files and engines. Include the header of one concern instead where you need only that. To read them: result,
// units, spectrum, methods, radix, analysis, catalogue, spec, plan, ladder; then model_file, targets, choose, extend,
// deploy. What evaluation leaves behind is apart: records.h, statistics.h, tasks.h, scoring.h, merge.h, export.h,
// report.h, tune.h.
#pragma once

#include "mrrope/analysis.h"    // IWYU pragma: export
#include "mrrope/catalogue.h"   // IWYU pragma: export
#include "mrrope/choose.h"      // IWYU pragma: export
#include "mrrope/deploy.h"      // IWYU pragma: export
#include "mrrope/extend.h"      // IWYU pragma: export
#include "mrrope/findings.h"    // IWYU pragma: export
#include "mrrope/gguf.h"        // IWYU pragma: export
#include "mrrope/hf_config.h"   // IWYU pragma: export
#include "mrrope/hf_folder.h"   // IWYU pragma: export
#include "mrrope/kv_cache.h"    // IWYU pragma: export
#include "mrrope/ladder.h"      // IWYU pragma: export
#include "mrrope/methods.h"     // IWYU pragma: export
#include "mrrope/model_file.h"  // IWYU pragma: export
#include "mrrope/plan.h"        // IWYU pragma: export
#include "mrrope/provenance.h"  // IWYU pragma: export
#include "mrrope/radix.h"       // IWYU pragma: export
#include "mrrope/result.h"      // IWYU pragma: export
#include "mrrope/rotary.h"      // IWYU pragma: export
#include "mrrope/spec.h"        // IWYU pragma: export
#include "mrrope/spectrum.h"    // IWYU pragma: export
#include "mrrope/targets.h"     // IWYU pragma: export
#include "mrrope/units.h"       // IWYU pragma: export
#include "mrrope/version.h"     // IWYU pragma: export
