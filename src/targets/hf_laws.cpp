// SPDX-License-Identifier: MIT
//
// linear, dynamic, yarn and llama3. The formulas are those of src/theory, which tests/engines compares with
// transformers; what differs between engines is where the numbers come from.
#include "targets/hf_laws.h"

#include <fmt/format.h>

#include <cmath>

#include "mrrope/units.h"

namespace mrrope::targets {

namespace {

using base::Json;

double required(const Situation& at, std::string_view key) {
  const auto value = number_in(at.group.rope, key);
  if (!value) throw Refused{fmt::format("KeyError: '{}'", key)};
  return *value;
}

double factor_of(const Situation& at) {
  const double factor = required(at, "factor");
  if (!(factor > 0)) throw Refused{fmt::format("factor {} is not positive", format_number(factor))};
  return factor;
}

// L for yarn and llama3.
std::int64_t original_of(const Situation& at, std::int64_t by_default) {
  const auto inside = number_in(at.group.rope, "original_max_position_embeddings");
  const bool top_wins =
      at.engine.reader == Reader::transformers5 || at.engine.longrope.original == Original::top_then_rope;
  if (top_wins && !at.group.nested && at.view.original) return *at.view.original;
  if (inside && *inside >= 2 && *inside < 0x1p40) return static_cast<std::int64_t>(*inside);
  return by_default > 0 ? by_default : at.view.context;
}

Spectrum plain(const Situation& at, std::int64_t length) {
  return plain_spectrum(at.group.rotary_dim, at.group.base, static_cast<double>(length));
}

bool bool_in(const Json& rope, std::string_view key, bool by_default) {
  const auto found = rope.find(std::string(key));
  if (found == rope.end()) return by_default;
  return found->is_boolean() && found->get<bool>();  // null is false in Python
}

// m(S, k) of [T18].
double mscale(double factor, double k) { return factor <= 1 ? 1 : 0.1 * k * std::log(factor) + 1; }

double yarn_scale(Situation& at, double factor) {
  const YarnRules& rules = at.engine.yarn;
  const Json& rope = at.group.rope;
  const auto explicit_scale = number_in(rope, "attention_factor");
  if (explicit_scale && rules.attention_factor) return *explicit_scale;

  const auto first = number_in(rope, "mscale");
  const auto second = number_in(rope, "mscale_all_dim");
  if (rules.warmth_replaces_scale && number_in(rope, "llama_4_scaling_beta").value_or(0) != 0) return 1;
  const bool pair = names_model(at.engine.mscale_pair, at.view.model_type);
  const MscalePair mscales = pair ? MscalePair::if_both_nonzero : rules.mscales;
  double scale = mscale(factor, 1);
  switch (mscales) {
    case MscalePair::ignored: break;
    case MscalePair::if_both_nonzero:
      if (first.value_or(0) != 0 && second.value_or(0) != 0) scale = mscale(factor, *first) / mscale(factor, *second);
      break;
    case MscalePair::if_both_given:
      if (first && second) scale = mscale(factor, *first) / mscale(factor, *second);
      break;
    case MscalePair::ratio: scale = mscale(factor, first.value_or(1)) / mscale(factor, second.value_or(0)); break;
  }
  if (rules.attn_factor) scale *= number_in(rope, "attn_factor").value_or(1);
  if (explicit_scale && *explicit_scale != scale) {
    at.note(fmt::format("{} ignores attention_factor {} with yarn and scales by {:.6g}", at.engine.info.title,
                        format_number(*explicit_scale), scale));
  }
  if (mscales == MscalePair::ignored && first.value_or(0) != 0 && second.value_or(0) != 0 && *first != 1) {
    at.note(fmt::format("{} ignores mscale and mscale_all_dim", at.engine.info.title));
  }
  return scale;
}

}  // namespace

Table linear_table(Situation& at) { return table(plain(at, at.view.context), factor_of(at), Linear{}); }

Table dynamic_table(Situation& at) {
  const double factor = factor_of(at);
  const auto context = static_cast<double>(at.view.context);
  const Spectrum spectrum = plain(at, at.view.context);
  switch (at.engine.dynamic) {
    case DynamicRule::plain:
      at.note(fmt::format("{} does nothing with dynamic: the table stays plain at every length", at.engine.info.title));
      return table(spectrum, 1, None{});
    case DynamicRule::at_full_length:
      at.note(
          fmt::format("{} fixes dynamic at its full length: short texts use the long table too", at.engine.info.title));
      return table(spectrum, factor, DynamicNtk{}, context * factor);
    case DynamicRule::by_length: break;
  }
  if (at.start > at.view.context) {
    at.note("the table of dynamic changes while a text grows; keys that are cached keep their old rotation");
  }
  return table(spectrum, factor, DynamicNtk{}, std::max(context, static_cast<double>(at.start)));
}

Table yarn_table(Situation& at) {
  const YarnRules& rules = at.engine.yarn;
  const Json& rope = at.group.rope;
  const std::int64_t original = original_of(at, rules.original_default);
  double factor = 0;
  const bool given = rope.contains("original_max_position_embeddings");
  const double ratio = static_cast<double>(at.view.context) / static_cast<double>(original);
  if (rules.ratio_wins && given) {
    factor = ratio;
    const auto stated = number_in(rope, "factor");
    if (stated && std::fabs(*stated / ratio - 1) > 1e-6) {
      at.note(fmt::format("{} ignores factor {} and takes max_position_embeddings / original = {:.6g}",
                          at.engine.info.title, format_number(*stated), ratio));
    }
  } else if (at.engine.reader == Reader::transformers5 && rope.contains("factor") && rope["factor"].is_null()) {
    factor = ratio;
  } else {
    factor = factor_of(at);
  }

  Yarn law;
  const bool has_betas = number_in(rope, "beta_fast").value_or(0) != 0 || number_in(rope, "beta_slow").value_or(0) != 0;
  if (rules.needs_betas && !has_betas) throw Refused{"ZeroDivisionError: yarn without beta_fast and beta_slow"};
  if (names_model(at.engine.needs_betas, at.view.model_type) && !has_betas) {
    throw Refused{"yarn without beta_fast and beta_slow"};
  }
  const bool has_mscales = number_in(rope, "mscale") && number_in(rope, "mscale_all_dim");
  if (names_model(at.engine.needs_mscales, at.view.model_type) && !has_mscales) {
    throw Refused{"yarn without mscale and mscale_all_dim"};
  }
  if (rules.betas) {
    if (const auto b = number_in(rope, "beta_fast"); b.value_or(0) != 0) law.band.beta_fast = *b;
    if (const auto b = number_in(rope, "beta_slow"); b.value_or(0) != 0) law.band.beta_slow = *b;
  } else if (has_betas) {
    at.note(fmt::format("{} ignores beta_fast and beta_slow: 32 and 1", at.engine.info.title));
  }
  // transformers 5 looks for `truncate` beside the kinds of layers, where it is not
  const bool key = rules.truncate_key && (rules.truncate_nested || !at.group.nested);
  law.band.truncate = key ? bool_in(rope, "truncate", rules.truncates) : rules.truncates;
  if (!key && rope.contains("truncate") && bool_in(rope, "truncate", true) != law.band.truncate) {
    at.note(fmt::format("{} ignores truncate", at.engine.info.title));
  }
  if (!rules.truncates && !rules.truncate_key) {
    at.note(fmt::format("{} does not round the ends of yarn's ramp as others do", at.engine.info.title));
  }
  const bool sections = rope.contains("mrope_section");
  if (sections && !rules.sections_mscales && (rope.contains("mscale") || rope.contains("mscale_all_dim"))) {
    throw Refused{"TypeError: unexpected keyword argument 'mscale' (beside mrope_section)"};
  }
  const int times = sections && !names_model(rules.sections_once, at.view.model_type) ? rules.sections_times : 1;
  const double rows = static_cast<double>(original) * factor * times;
  if (rules.table_ends && static_cast<double>(at.start) > rows) {
    throw Refused{
        fmt::format("IndexError: a table of {:.0f} positions (original_max_position_embeddings times factor) "
                    "for {} tokens",
                    rows, at.start)};
  }
  const double scale = yarn_scale(at, factor);
  const std::int64_t placed = rules.band_by_start ? at.start : original * times;
  if (times != 1) {
    at.note(
        fmt::format("{} places yarn's ramp by {} times original_max_position_embeddings on this model; beta_fast and "
                    "beta_slow {} times as large make up for it",
                    at.engine.info.title, times, times));
  }
  if (rules.band_by_start && placed > original) {
    at.note(fmt::format("{} places yarn's ramp by the {} tokens it is started for", at.engine.info.title, placed));
  }
  if (rules.band_by_start && at.start <= original) return table(plain(at, original), 1, None{});
  if (factor <= 1) return {std::vector<double>(static_cast<std::size_t>(at.group.rotary_dim / 2), 1.0), scale};
  return table(plain(at, placed), factor, Method{law, {}, scale});
}

Table llama3_table(Situation& at) {
  const Llama3 law{required(at, "low_freq_factor"), required(at, "high_freq_factor")};
  return table(plain(at, original_of(at, 0)), factor_of(at), law);
}

}  // namespace mrrope::targets
