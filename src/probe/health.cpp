// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>

#include "mrrope/probe.h"
#include "probe/report.h"

namespace mrrope::probe {

namespace {

std::string by(const std::optional<double>& differs) {
  return differs ? fmt::format("; log probabilities differ by {:.2g}", *differs) : std::string();
}

}  // namespace

std::vector<Finding> health_findings(const Health& health) {
  Report report;
  if (health.same_twice == false) {
    report.add("P300",
               "the same prompt, asked twice with temperature 0, has different answers" + by(health.twice_differs),
               "compare over many samples; with llama-server, -np 1 --no-cache-prompt repeats itself");
  }
  if (health.same_cached == false) {
    report.add("P301", "the answer is another one when the prefix cache is used" + by(health.cached_differs),
               "measure with the cache off (llama-server --no-cache-prompt, vLLM --no-enable-prefix-caching)");
  }
  if (health.context_shift == true) {
    report.add("P302", "answers go on where prompt and answer fill the length: the server forgets the beginning",
               "leave --context-shift away, or bound max_tokens so that prompt and answer fit");
  }
  return std::move(report.findings);
}

}  // namespace mrrope::probe
