// SPDX-License-Identifier: MIT
//
// One evaluator for all engines that read config.json: what is seen (hf_view.cpp), which type it is, whether this
// engine takes it on this model (exceptions), and the table (hf_laws.cpp, hf_longrope.cpp).
#include "targets/hf_effective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/hf_shape.h"
#include "targets/hf_laws.h"

namespace mrrope::targets {

namespace {

using base::Json;

struct NamedType {
  std::string_view name;
  unsigned type;
};
constexpr std::array<NamedType, 9> kNames = {{{"default", kDefault},
                                              {"mrope", kDefault},
                                              {"linear", kLinear},
                                              {"dynamic", kDynamic},
                                              {"yarn", kYarn},
                                              {"llama3", kLlama3},
                                              {"longrope", kLongRope},
                                              {"su", kLongRope},
                                              {"proportional", kProportional}}};

// configuration_qwen3_vl.py, configuration_qwen3_vl_moe.py, configuration_qwen3_next.py of transformers 4
constexpr std::string_view kOnlyRopeType4 = "qwen3_next qwen3_vl qwen3_vl_moe qwen3_vl_moe_text qwen3_vl_text";

std::string text_in(const Json& rope, const char* key) {
  const auto found = rope.find(key);
  return found != rope.end() && found->is_string() ? found->get<std::string>() : "";
}

// The type an engine sees; 0: one that nobody knows. Throws Refused.
unsigned type_of(const HfEngine& engine, const HfView& view, const Json& rope, std::string& name) {
  const std::string modern = text_in(rope, "rope_type");
  const std::string legacy = text_in(rope, "type");
  if (engine.type_keys == TypeKeys::refused && !modern.empty() && !legacy.empty()) {
    throw Refused{"AssertionError: both type and rope_type"};
  }
  if (engine.type_keys == TypeKeys::refused_if_different && !modern.empty() && !legacy.empty() && modern != legacy) {
    throw Refused{fmt::format("ValueError: conflict between rope_type {} and type {}", modern, legacy)};
  }
  // Their classes check the field before older names are translated, or do not translate them
  const bool own_check = view.cls.is(formats::kLocalBase) || names_model(kOnlyRopeType4, view.model_type);
  if (engine.reader == Reader::transformers4 && own_check && modern.empty() && !legacy.empty()) {
    throw Refused{"KeyError: missing required key 'rope_type' in rope_scaling"};
  }
  const bool modern_wins = engine.type_keys != TypeKeys::type_wins;
  name = modern_wins ? (modern.empty() ? legacy : modern) : (legacy.empty() ? modern : legacy);
  if (name.empty()) name = "default";
  const bool by_transformers = engine.reader == Reader::transformers5 || engine.reader == Reader::transformers4;
  if (view.cls.is(formats::kPhi3) && by_transformers && name == "yarn") name = "longrope";
  for (const NamedType& known : kNames) {
    if (known.name == name) return known.type;
  }
  return 0;
}

// What the configuration class of Phi-3, or another reader of it, insists on.
void check_phi3(const HfEngine& engine, const HfView& view, const Json& rope, unsigned type) {
  if (!view.cls.is(formats::kPhi3) || rope.empty()) return;
  if (engine.reader == Reader::transformers5 && (type & (kDefault | kLongRope)) == 0) {
    throw Refused{"ValueError: rope_parameters's type field must be one of ['longrope'] on Phi-3"};
  }
  if (engine.phi3 == Phi3Rule::none) return;
  if (engine.phi3 == Phi3Rule::three_fields && rope.size() != 3) {
    throw Refused{
        "ValueError: `rope_scaling` must be a dictionary with three fields, `type`, `short_factor` and `long_factor`"};
  }
  if (engine.phi3 != Phi3Rule::plain_without_type && !rope.contains("type")) {
    throw Refused{"KeyError: 'type' (rope_type is not read on Phi-3)"};
  }
}

// Readers of a declared shape: a missing field is an error there.
void check_type_key(const HfEngine& engine, const HfView& view, const Json& rope, unsigned type) {
  if (type != kDefault && names_model(engine.needs_type, view.model_type) && !rope.contains("type")) {
    throw Refused{"missing field `type` (rope_type is not read on this model)"};
  }
}

void check_head_dim(const HfEngine& engine, const HfView& view, unsigned type) {
  if ((type & (kDynamic | kYarn | kLongRope)) != 0 && !view.has_head_dim &&
      names_model(engine.needs_head_dim, view.model_type)) {
    throw Refused{"TypeError: head_dim is None; write it into the file"};
  }
}

Table plain_table(const GroupView& group) {
  return {std::vector<double>(static_cast<std::size_t>(group.rotary_dim / 2), 1.0), 1};
}

// What transformers 5 does where it runs the model for an engine.
HfEngine handed_on(const HfEngine& engine) {
  HfEngine copy = *find_hf_engine("transformers5");
  copy.info = engine.info;
  return copy;
}

// The same for an engine that builds its table once with transformers' functions.
HfEngine built_once(const HfEngine& engine) {
  HfEngine copy = handed_on(engine);
  copy.longrope.list = ListChoice::short_only;
  copy.dynamic = DynamicRule::plain;
  copy.yarn.truncate_nested = true;
  return copy;
}

Table table_of(Situation& at, unsigned type, const RopeSpec& spec, std::size_t group) {
  switch (type) {
    case kLinear: return linear_table(at);
    case kDynamic: return dynamic_table(at);
    case kYarn: return yarn_table(at);
    case kLlama3: return llama3_table(at);
    case kLongRope: return longrope_table(at);
    case kProportional: return trained_table(spec, group);
    default: return plain_table(at.group);
  }
}

class Evaluation {
 public:
  Evaluation(const HfEngine& engine, const HfView& view, const RopeSpec& spec, std::optional<std::int64_t> context)
      : engine_(engine), view_(view), spec_(spec) {
    out_.effective.notes = view.notes;
    out_.source = engine.info.source;
    out_.effective.context = offered();
    const bool run = engine.info.evidence == Evidence::run && names_model(engine.info.models, view.model_type);
    const bool known = !view.cls.model_type.empty() && !view.cls.is(formats::kOwnCode);
    out_.effective.evidence = run ? Evidence::run : known ? Evidence::read : Evidence::unchecked;
    start_ = context.value_or(out_.effective.context);
  }

  HfEffect run() {
    for (std::size_t g = 0; g < view_.groups.size(); ++g) add(g);
    return std::move(out_);
  }

 private:
  // The longest text without further flags.
  std::int64_t offered() {
    const Json& rope = view_.groups.front().rope;
    std::string name;
    unsigned type = 0;
    try {
      type = type_of(engine_, view_, rope, name);
    } catch (const Refused&) {
      return view_.context;
    }
    const LengthRules& rules = engine_.length;
    if (type == kLongRope && rules.longrope_original && view_.original) {
      if (*view_.original < view_.context) {
        note(fmt::format(
            "{} offers {} tokens unless told otherwise: it takes original_max_position_embeddings for the length",
            engine_.info.title, *view_.original));
      }
      return *view_.original;
    }
    const bool has_original = rope.contains("original_max_position_embeddings");
    if ((type & rules.multiplied) != 0 && !names_model(rules.never_multiplied, view_.model_type) &&
        (!has_original || rules.multiplied_despite_original)) {
      const double factor = number_in(rope, "factor").value_or(1);
      if (factor > 1) {
        const auto length = static_cast<std::int64_t>(std::min(static_cast<double>(view_.context) * factor, 0x1p40));
        note(fmt::format("{} offers {} tokens: it multiplies max_position_embeddings by the factor", engine_.info.title,
                         length));
        return length;
      }
    }
    return view_.context;
  }

  void note(std::string sentence) {
    auto& notes = out_.effective.notes;
    if (std::find(notes.begin(), notes.end(), sentence) == notes.end()) notes.push_back(std::move(sentence));
  }

  // A row that names the model is knowledge of it; one for all others says nothing of a model that we do not know.
  void judge_evidence(const HfException* row) {
    Evidence& evidence = out_.effective.evidence;
    if (row == nullptr || evidence == Evidence::run) return;
    if (row->outcome == Outcome::unchecked) evidence = Evidence::unchecked;
    else if (!row->models.empty() && evidence == Evidence::unchecked) evidence = Evidence::read;
    if (!row->source.empty() && !row->models.empty()) out_.source = row->source;
  }

  void refuse(std::string_view why) {
    out_.effective.loads = false;
    note(fmt::format("{} refuses the file: {}", engine_.info.title, why));
  }

  void add(std::size_t g) {
    const GroupView& group = view_.groups[g];
    Table table = plain_table(group);
    double base = group.base;
    try {
      table = evaluate(g, base);
    } catch (const Refused& refused) {
      refuse(refused.why);
    }
    const Spectrum plain = plain_spectrum(group.rotary_dim, base, static_cast<double>(view_.context));
    out_.effective.groups.push_back({group.name, inv_freq(plain, table.pair_factors), table.attention_scale});
  }

  Table evaluate(std::size_t g, double& base) {
    const GroupView& group = view_.groups[g];
    std::string name;
    const unsigned type = type_of(engine_, view_, group.rope, name);
    const HfException* row = exception_for(engine_, view_.model_type, type);
    const Outcome outcome = row != nullptr ? row->outcome : Outcome::honoured;
    judge_evidence(row);
    if (row != nullptr && outcome != Outcome::honoured && !row->says.empty()) {
      if (outcome == Outcome::refused) throw Refused{std::string(row->says)};
      note(fmt::format("{} {}", engine_.info.title, row->says));
      if (!row->flags.empty()) out_.flags = row->flags;
    }
    if (engine_.phi3 == Phi3Rule::plain_without_type && view_.cls.is(formats::kPhi3) && type != kDefault &&
        !group.rope.contains("type")) {
      note(fmt::format("{} does not read rope_type on Phi-3, only type: it runs unscaled", engine_.info.title));
      return plain_table(group);
    }
    if (outcome == Outcome::fixed) base = 10000;
    if (outcome == Outcome::ignored || outcome == Outcome::fixed) return plain_table(group);
    if (outcome == Outcome::broken) out_.effective.by_table = out_.faithful = false;
    if (outcome == Outcome::as_linear && !formats::is_local(group.name)) {
      Situation at{engine_, view_, group, start_};
      return linear_table(at);
    }
    if ((type & engine_.types) == 0) throw Refused{fmt::format("{} ({})", engine_.unknown_type, name)};
    if (group.rope.contains("mrope_section") && (type & engine_.sectioned) == 0) {
      throw Refused{fmt::format("its {} takes one position per token, and mrope_section brings three", name)};
    }
    check_phi3(engine_, view_, group.rope, type);
    check_type_key(engine_, view_, group.rope, type);
    check_head_dim(engine_, view_, type);
    if (type == kLongRope && engine_.trips_over_nested && view_.nested_parameters) {
      throw Refused{"KeyError: 'rope_theta' (it looks into rope_parameters, which is per kind of layer)"};
    }

    const HfEngine other = outcome == Outcome::built_once ? built_once(engine_) : handed_on(engine_);
    const bool by_other = outcome == Outcome::built_once || outcome == Outcome::handed_on;
    Situation at{by_other ? other : engine_, view_, group, start_};
    Table table = table_of(at, type, spec_, g);
    if (outcome == Outcome::inverted) {
      for (double& s : table.pair_factors) s = 1 / s;
    }
    if (outcome == Outcome::broken) return table;  // not by this table, so what is said of it does not count
    for (std::string& sentence : at.notes) note(std::move(sentence));
    out_.faithful = out_.faithful && at.faithful;
    return table;
  }

  const HfEngine& engine_;
  const HfView& view_;
  const RopeSpec& spec_;
  std::int64_t start_ = 0;
  HfEffect out_;
};

}  // namespace

Result<HfEffect> hf_effect(const HfEngine& engine, const HfConfig& config, std::optional<std::int64_t> context) {
  const Result<Json> root = base::parse_json(config.text());
  if (!root) return root.error();
  const Result<RopeSpec> spec = config.rope_spec();
  if (!spec) return spec.error();
  const Result<HfView> view = view_of(engine, *root, *spec);
  if (!view) return view.error();
  return Evaluation(engine, *view, *spec, context).run();
}

}  // namespace mrrope::targets
