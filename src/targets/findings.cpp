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

const FindingInfo& targets::finding_info(std::string_view code) {
  const auto& all = finding_catalogue();
  const auto info = std::find_if(all.begin(), all.end(), [&](const FindingInfo& f) { return f.code == code; });
  assert(info != all.end());
  return *info;
}

void targets::Reporter::report(std::string_view code, std::string message, std::string advice,
                               const std::vector<std::string_view>& concerns) {
  if (!target.empty() && !concerns.empty() && std::find(concerns.begin(), concerns.end(), target) == concerns.end())
    return;
  findings.push_back({std::string(code), finding_info(code).severity, std::move(message), std::move(advice)});
}

std::vector<Finding> diagnose(const ModelFile& model) {
  targets::Reporter out;
  if (const GgufModel* gguf = model.gguf()) targets::diagnose_gguf(*gguf, out);
  if (const HfConfig* config = model.hf()) targets::diagnose_hf(*config, out);
  return std::move(out.findings);
}

}  // namespace mrrope
