// SPDX-License-Identifier: MIT
#include "targets/findings.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mrrope {

const char* to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "unknown";
}

const std::vector<FindingInfo>& finding_catalogue() {
  using enum Severity;
  static const std::vector<FindingInfo> all = {
      {"R000", error, "the file cannot be used"},
      {"R001", error, "a longer context_length without scaling"},
      {"R002", error, "factor tensors that the architecture ignores"},
      {"R003", error, "factor tensors that the architecture refuses"},
      {"R004", error, "scaled twice"},
      {"R005", error, "longrope without factors"},
      {"R006", error, "yarn without the original length"},
      {"R007", warning, "yarn keys that nobody reads"},
      {"R008", warning, "yarn length and factor disagree"},
      {"R009", warning, "long and short factors differ"},
      {"R010", error, "half a pair of factor lists"},
      {"R011", error, "rope_freqs beside factor lists"},
      {"R012", error, "the base is missing"},
      {"R013", warning, "two names for the factor"},
      {"R014", warning, "a factor that is switched off"},
      {"R015", warning, "factors below 1"},
      {"R100", error, "the config cannot be used"},
      {"R101", warning, "type beside rope_type"},
      {"R102", error, "type and rope_type disagree"},
      {"R103", warning, "scaling in the new dialect only"},
      {"R104", warning, "base in the new dialect only"},
      {"R105", error, "the base was dropped"},
      {"R106", error, "the two dialects disagree"},
      {"R107", error, "yarn without the original length"},
      {"R108", error, "yarn without a longer max_position_embeddings"},
      {"R109", warning, "yarn factor and lengths disagree"},
      {"R110", warning, "one mscale alone"},
      {"R111", warning, "attention_factor that some engines ignore"},
      {"R112", warning, "truncate: false"},
      {"R113", warning, "linear in vLLM"},
      {"R114", warning, "dynamic"},
      {"R115", error, "original length nested only"},
      {"R116", warning, "short and long factors differ"},
      {"R117", warning, "one spelling of the attention scale"},
      {"R118", warning, "original length at the top level"},
      {"R119", error, "Phi-3 without type"},
      {"R120", error, "no head_dim"},
      {"R121", error, "unknown rope type"},
      {"R122", error, "no rope type"},
      {"R123", error, "factor below 1"},
  };
  return all;
}

void targets::Reporter::report(std::string_view code, std::string message, std::string advice) {
  const auto& all = finding_catalogue();
  const auto info = std::find_if(all.begin(), all.end(), [&](const FindingInfo& f) { return f.code == code; });
  assert(info != all.end());
  findings.push_back({std::string(code), info->severity, std::move(message), std::move(advice)});
}

std::vector<Finding> diagnose(const ModelFile& model) {
  targets::Reporter out;
  if (const GgufModel* gguf = model.gguf()) targets::diagnose_gguf(*gguf, out);
  if (const HfConfig* config = model.hf()) targets::diagnose_hf(*config, out);
  return std::move(out.findings);
}

}  // namespace mrrope
