// SPDX-License-Identifier: MIT
//
// R107 to R112: yarn in config.json. Which engines a field reaches is asked of their rules: what they make of the file
// is compared with what they make of the same file with another value.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "targets/attempt.h"
#include "targets/findings_hf.h"
#include "targets/hf_effective.h"

namespace mrrope::targets {

namespace {

using base::Json;

// Engines that run the model by a table, by name and for people.
struct Engines {
  std::vector<std::string_view> names;
  std::vector<std::string_view> titles;
};

const EffectiveGroup* group_of(const Result<HfEffect>& effect) {
  const bool runs = effect && effect->effective.loads && effect->effective.by_table &&
                    effect->effective.evidence != Evidence::unchecked && !effect->effective.groups.empty();
  return runs ? &effect->effective.groups.front() : nullptr;
}

bool same_table(const EffectiveGroup& a, const EffectiveGroup& b) {
  return table_difference(a.inv_freq, b.inv_freq) <= kExact;
}

// Those of which `is` holds, given what they do with the file and with `other`.
template <typename Predicate>
Engines engines_where(const HfConfig& config, const HfConfig& other, Predicate is) {
  Engines out;
  for (const HfEngine& engine : hf_engines()) {
    const Result<HfEffect> here = hf_effect(engine, config, std::nullopt);
    const Result<HfEffect> there = hf_effect(engine, other, std::nullopt);
    const EffectiveGroup* a = group_of(here);
    const EffectiveGroup* b = group_of(there);
    if (a == nullptr || b == nullptr || !is(*a, *b)) continue;
    out.names.push_back(engine.info.name);
    out.titles.push_back(engine.info.title);
  }
  return out;
}

// What the file says, and the same without a scaling.
std::optional<std::pair<EffectiveGroup, EffectiveGroup>> said_and_plain(const HfConfig& config) {
  const Result<HfEffect> said = hf_effect(*find_hf_engine("transformers5"), config, std::nullopt);
  const Result<RopeSpec> spec = config.rope_spec();
  const EffectiveGroup* group = group_of(said);
  if (group == nullptr || !spec) return std::nullopt;
  const LayerGroup& own = spec->groups.front();
  const Spectrum plain = plain_spectrum(own.rotary_dim, own.base, static_cast<double>(spec->context_trained));
  return std::pair{*group, EffectiveGroup{own.name, plain.inv_freq, 1}};
}

// Who takes the ratio is asked, not remembered: their table does not change with the factor.
void factor_and_ratio(const HfFields& c, double factor, double ratio, Reporter& out) {
  const auto ends = said_and_plain(c.file);
  const Engines takers = engines_where(c.file, c.with("factor", fmt::format("{}", 2 * factor)),
                                       [&](const auto& here, const auto& doubled) {
                                         return same_table(here, doubled) && !(ends && same_table(here, ends->second));
                                       });
  out.report("R109",
             fmt::format("factor is {:g}, max_position_embeddings / original is {:g}: {}", factor, ratio,
                         takers.titles.empty() ? "engines differ in which they take"
                                               : base::join(takers.titles) + " takes the second"),
             "make them agree");
}

void yarn_lengths(const HfFields& c, Reporter& out) {
  const auto factor = number(c.rope(), "factor");
  const auto trained = c.trained();
  const auto original = c.original();
  if (!original) {
    out.report("R107",
               "yarn without original_max_position_embeddings: max_position_embeddings is taken as the trained length",
               "write original_max_position_embeddings");
  } else if (factor && trained && *factor > 1 && *trained <= *original) {
    out.report(
        "R108",
        fmt::format("max_position_embeddings {:.0f} is not raised: vLLM and others serve no more, whatever the factor",
                    *trained),
        fmt::format("set it to {:.0f}", *original * *factor));
  } else if (factor && trained && std::fabs(*trained / *original - *factor) > 0.01 * *factor) {
    factor_and_ratio(c, *factor, *trained / *original, out);
  }
}

void lone_mscale(const HfFields& c, Reporter& out) {
  const double a = number(c.rope(), "mscale").value_or(0);
  const double b = number(c.rope(), "mscale_all_dim").value_or(0);
  if ((a != 0) == (b != 0)) return;
  out.report("R110", "mscale and mscale_all_dim act only together in transformers; one alone is ignored",
             "give both, or attention_factor");
}

void yarn_scale_overridden(const HfFields& c, Reporter& out) {
  const auto stated = number(c.rope(), "attention_factor");
  if (!stated) return;
  const Engines deaf = engines_where(
      c.file, c.with("attention_factor", fmt::format("{}", *stated + 1)), [&](const auto& here, const auto& louder) {
        return here.attention_scale == louder.attention_scale && std::fabs(here.attention_scale / *stated - 1) > 1e-6;
      });
  if (deaf.names.empty()) return;
  out.report("R111", fmt::format("attention_factor of yarn is ignored by {}", base::join(deaf.titles)),
             "use a longrope table: mrrope extend writes one", deaf.names);
}

void untruncated(const HfFields& c, Reporter& out) {
  const Json truncate = member(c.rope(), "truncate");
  if (!truncate.is_boolean() || truncate.get<bool>()) return;
  const auto ends = said_and_plain(c.file);
  Engines deaf = engines_where(c.file, c.with("truncate", ""), [&](const auto& here, const auto& without) {
    return ends && same_table(here, without) && !same_table(here, ends->first) && !same_table(here, ends->second);
  });
  deaf.titles.insert(deaf.titles.begin(), "llama.cpp");
  out.report(
      "R112",
      fmt::format("truncate: false is ignored by {}: the band's edges are rounded there", base::join(deaf.titles)),
      "bake the table: mrrope extend --method yarn:truncate=false", deaf.names);
}

}  // namespace

void diagnose_yarn(const HfFields& c, Reporter& out) {
  if (c.type() != "yarn") return;
  for (const auto rule : {yarn_lengths, lone_mscale, yarn_scale_overridden, untruncated}) rule(c, out);
}

}  // namespace mrrope::targets
