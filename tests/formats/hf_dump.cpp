// SPDX-License-Identifier: MIT
//
// What mrrope reads in a config.json, for comparison with transformers (tests/engines/test_hf_configs.py).
//
//   hf_dump < configs.jsonl     # a config per line in, an answer per line out
//
// An answer is {"error": "rope_scaling.factor: missing"} or {"context_trained": …, "groups": [{"name", "layers",
// "extended", "inv_freq", "attention_scale"}], "facts": {…}, "remarks": […]}.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "mrrope/mrrope.h"

namespace {

using Json = nlohmann::ordered_json;

Json answer(const std::string& line) {
  const auto config = mrrope::HfConfig::parse(line);
  if (!config) return {{"error", mrrope::to_string(config.error())}};
  const auto spec = config->rope_spec();
  if (!spec) return {{"error", mrrope::to_string(spec.error())}};
  const mrrope::HfFacts facts = *config->facts();
  Json out{{"context_trained", spec->context_trained}, {"groups", Json::array()}};
  for (std::size_t g = 0; g < spec->groups.size(); ++g) {
    const mrrope::LayerGroup& group = spec->groups[g];
    out["groups"].push_back({{"name", group.name},
                             {"layers", group.layers},
                             {"extended", group.extended},
                             {"trained", group.trained ? mrrope::spell(group.trained->method) : ""},
                             {"inv_freq", mrrope::spectrum_of(*spec, g).inv_freq},
                             {"attention_scale", mrrope::trained_table(*spec, g).attention_scale}});
  }
  out["layers"] = facts.layers;
  out["sliding_layers"] = facts.sliding_layers;
  out["sliding_window"] = facts.sliding_window;
  out["remarks"] = facts.remarks;
  for (const mrrope::HfFact& fact : facts.sources) out["sources"].push_back({fact.name, fact.value, fact.source});
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line).dump() << '\n';
}
