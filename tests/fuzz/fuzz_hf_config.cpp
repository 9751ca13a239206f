// SPDX-License-Identifier: MIT
//
// config.json from anywhere: read it, edit it, read it again.
//
//   fuzz_hf_config tests/fuzz/corpus/hf_config
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mrrope/mrrope.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// What was read must be usable: every table finite, every value inside the ranges of the rest of the library.
void use(const mrrope::HfConfig& config) {
  const auto spec = config.rope_spec();
  require(spec.has_value() == config.facts().has_value());
  if (!spec) {
    require(!spec.error().where.empty() && !spec.error().message.empty());
    return;
  }
  require(mrrope::check_spec(*spec).has_value());
  for (std::size_t g = 0; g < spec->groups.size(); ++g) {
    require(mrrope::spectrum_of(*spec, g).inv_freq.size() * 2 == static_cast<std::size_t>(spec->groups[g].rotary_dim));
  }
  const auto plan = mrrope::make_plan(*spec, 2 * spec->context_trained, mrrope::MrRopePro{});
  if (plan) require(plan->groups.size() == spec->groups.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parsed = mrrope::HfConfig::parse(text);
  if (!parsed) return 0;
  const mrrope::HfConfig original = *parsed;
  require(original.text() == text && original.changes().empty());
  use(original);

  // Edits in the object of the language model, at fields that may or may not be there.
  mrrope::HfConfig& config = *parsed;
  const std::string prefix = config.text_path().empty() ? "" : config.text_path() + ".";
  (void)config.set(prefix + "rope_scaling", R"({"rope_type": "yarn", "factor": 4.0, "list": [1, 2], "o": {}})");
  (void)config.set(prefix + "rope_scaling.factor", "2.5");
  (void)config.set(prefix + "rope_parameters.full_attention", R"({"rope_type": "linear", "factor": 2})");
  (void)config.remove(prefix + "rope_theta");
  (void)config.set("max_position_embeddings", "65536");
  use(config);

  // The edited file is a file, and the way back leads to the first byte.
  const auto again = mrrope::HfConfig::parse(config.text());
  require(again.has_value());
  std::vector<mrrope::HfChange> changes = config.changes();
  require(changes.empty() == (config.text() == original.text()));
  mrrope::HfConfig other = original;
  require(other.apply(changes).has_value());
  require(other.changes() == changes);
  for (mrrope::HfChange& change : changes) std::swap(change.before, change.after);
  require(config.apply(changes).has_value());
  require(config.text() == original.text());
  return 0;
}
