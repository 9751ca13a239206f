// SPDX-License-Identifier: MIT
//
// longrope: two lists, seven ways to choose between them and seven to find the attention scale.
#include <fmt/format.h>

#include <cmath>

#include "mrrope/units.h"
#include "targets/hf_laws.h"

namespace mrrope::targets {

namespace {

using base::Json;

std::vector<double> list_in(const Situation& at, std::string_view key) {
  const auto found = at.group.rope.find(std::string(key));
  if (found == at.group.rope.end() || !found->is_array()) throw Refused{fmt::format("KeyError: '{}'", key)};
  std::vector<double> list;
  for (const Json& value : *found) {
    if (!value.is_number()) throw Refused{fmt::format("{} is no list of numbers", key)};
    list.push_back(value.get<double>());
  }
  if (list.size() != static_cast<std::size_t>(at.group.rotary_dim / 2)) {
    throw Refused{fmt::format("{} has {} values for {} pairs", key, list.size(), at.group.rotary_dim / 2)};
  }
  return list;
}

// L, where this engine looks for it.
std::int64_t original_of(Situation& at) {
  const double inside = number_in(at.group.rope, "original_max_position_embeddings").value_or(0);
  const std::int64_t rope = inside >= 2 && inside < 0x1p40 ? static_cast<std::int64_t>(inside) : 0;
  const std::optional<std::int64_t>& top = at.view.original;
  const std::int64_t context = at.view.context;
  switch (at.engine.longrope.original) {
    case Original::as_read:
      if (at.engine.reader == Reader::transformers5) {
        if (!at.group.nested && top) return *top;
        return rope != 0 ? rope : context;
      }
      // mlx-lm's Phi-3 reads its own field
      if (rope == 0 && !(at.view.cls.is(formats::kPhi3) && top))
        throw Refused{"KeyError: 'original_max_position_embeddings'"};
      return at.view.cls.is(formats::kPhi3) && top ? *top : rope;
    case Original::top_level:
      if (rope != 0 && !top) {
        at.note(
            fmt::format("{} does not read original_max_position_embeddings inside rope_scaling", at.engine.info.title));
      }
      return top.value_or(context);
    case Original::top_level_only:
      if (!top) throw Refused{"longrope needs original_max_position_embeddings at the top level"};
      return *top;
    case Original::top_then_rope: return top ? *top : rope != 0 ? rope : 1024;
    case Original::rope_then_top: return rope != 0 ? rope : top.value_or(context);
  }
  return context;
}

bool use_long(Situation& at, std::int64_t original, bool equal_lists) {
  const std::string_view title = at.engine.info.title;
  const bool far = at.start > original;
  const auto unfaithful = [&](std::string sentence) {
    if (equal_lists || !far) return;
    at.faithful = false;
    at.note(std::move(sentence));
  };
  ListChoice choice = at.engine.longrope.list;
  if (choice == ListChoice::phi3_by_start) {
    choice = at.view.cls.is(formats::kPhi3) ? ListChoice::by_start : ListChoice::long_only;
  }
  switch (choice) {
    case ListChoice::by_length:
      if (!equal_lists && far && !at.view.cls.is(formats::kPhi3)) {
        at.note(fmt::format("the lists change at {} tokens; keys cached before that keep the short one", original));
      }
      return far;
    case ListChoice::by_start:
      if (!equal_lists)
        at.note(fmt::format("{} uses the {} list for all texts when started for {} tokens", title,
                            far ? "long" : "short", at.start));
      return far;
    case ListChoice::by_file: return at.view.context > original;
    case ListChoice::phi3_by_start:
    case ListChoice::long_only:
      if (!equal_lists) at.note(fmt::format("{} uses the long list for all texts", title));
      return true;
    case ListChoice::short_only:
      if (!equal_lists) at.note(fmt::format("{} uses the short list for all texts", title));
      return false;
    case ListChoice::by_position:
      unfaithful(fmt::format("{} rotates positions below {} by the short list and the others by the long one", title,
                             original));
      return far;
    case ListChoice::by_chunk:
      unfaithful(fmt::format("{} uses the long list only for chunks of more than {} tokens", title, original));
      return far;
  }
  return far;
}

double formula(double ratio, std::int64_t original) {
  return ratio <= 1 ? 1 : std::sqrt(1 + std::log(ratio) / std::log(static_cast<double>(original)));
}

// attention_factor, or the formula with `factor`.
double transformers_scale(const Situation& at, std::int64_t original) {
  const Json& rope = at.group.rope;
  const bool takes_mscales = at.view.cls.is(formats::kMscalePair);  // PhiMoE's own module
  if (takes_mscales) {
    const auto own = number_in(rope, at.start > original ? "long_mscale" : "short_mscale");
    if (!own) throw Refused{"KeyError: 'long_mscale'"};
    return *own;
  }
  if (const auto given = number_in(rope, "attention_factor")) return *given;
  const double ratio = static_cast<double>(at.view.context) / static_cast<double>(original);
  const auto factor = number_in(rope, "factor");
  if (at.engine.longrope.original == Original::top_level) {  // transformers 4
    if (at.view.original) return formula(ratio, original);
    if (!factor) throw Refused{"TypeError: '<=' not supported between 'NoneType' and 'float' (no factor)"};
    return formula(*factor, original);
  }
  return formula(factor.value_or(0) != 0 ? *factor : ratio, original);
}

double scale_of(Situation& at, std::int64_t original, bool with_long) {
  const Json& rope = at.group.rope;
  const double ratio = static_cast<double>(at.view.context) / static_cast<double>(original);
  const auto short_scale = number_in(rope, "short_mscale");
  const auto long_scale = number_in(rope, "long_mscale");
  switch (at.engine.longrope.scale) {
    case ScaleSource::attention_factor: return transformers_scale(at, original);
    case ScaleSource::mscales: return (with_long ? long_scale : short_scale).value_or(formula(ratio, original));
    case ScaleSource::mscales_or_attention:
      if (short_scale && long_scale) return with_long ? *long_scale : *short_scale;
      return transformers_scale(at, original);
    case ScaleSource::formula: return formula(ratio, original);
    case ScaleSource::formula_by_start:
      return with_long ? formula(static_cast<double>(at.start) / static_cast<double>(original), original) : 1;
    case ScaleSource::mscales_turn_the_angles: return short_scale && long_scale ? 1 : formula(ratio, original);
    case ScaleSource::none: return 1;
  }
  return 1;
}

void note_ignored_scale(Situation& at, double scale) {
  const auto stated = number_in(at.group.rope, "attention_factor");
  // Differences below the rounding of L* are meant
  if (stated && std::fabs(*stated / scale - 1) > 2e-4) {
    at.note(fmt::format("{} ignores attention_factor {} with longrope and scales by {:.6g}", at.engine.info.title,
                        format_number(*stated), scale));
  }
}

}  // namespace

Table longrope_table(Situation& at) {
  const std::vector<double> short_list = list_in(at, "short_factor");
  const std::vector<double> long_list = list_in(at, "long_factor");
  const LongRopeRules& rules = at.engine.longrope;
  const std::int64_t original = original_of(at);
  const bool with_long = use_long(at, original, short_list == long_list);
  Table out{with_long ? long_list : short_list, scale_of(at, original, with_long)};
  note_ignored_scale(at, out.attention_scale);

  if (rules.scale == ScaleSource::mscales_turn_the_angles) {
    const auto turned = number_in(at.group.rope, with_long ? "long_mscale" : "short_mscale");
    if (turned && at.group.rope.contains("short_mscale") && at.group.rope.contains("long_mscale")) {
      at.note(fmt::format("{} multiplies the angles by short_mscale and long_mscale", at.engine.info.title));
      for (double& s : out.pair_factors) s /= *turned;
    }
  }
  if (rules.wrong_at_original && original < at.start) {
    at.faithful = false;
    at.note(fmt::format("{} rotates the token at position {} as position 0, and its key stays in the cache",
                        at.engine.info.title, original));
  }
  return out;
}

}  // namespace mrrope::targets
