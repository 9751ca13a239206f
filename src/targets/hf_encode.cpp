// SPDX-License-Identifier: MIT
//
// Why two spellings of the same thing: transformers 4, mlx-lm and most others read rope_scaling and the rope_theta
// beside it, transformers 5 saves rope_parameters with rope_theta inside and drops the rest. With both in the file no
// reader falls back to a plain table, before or after such a round trip.
#include "targets/hf_encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "formats/hf_shape.h"
#include "formats/hf_spec.h"
#include "targets/hf_view.h"

namespace mrrope::targets {

namespace {

using base::Json;
using formats::HfModel;

// head_dim is a property there, or means something else.
constexpr std::string_view kNoHeadDimField = "falcon gptj codegen";

std::int64_t length_for(const HfView& view, const Plan& plan) { return std::max(view.context, plan.context_target); }

// An edited copy; throws base::Rejected.
class Writer {
 public:
  Writer(HfConfig config, const Plan& plan, const Json& root, HfView view)
      : out_(std::move(config)),
        plan_(plan),
        model_(formats::find_model(root)),
        view_(std::move(view)),
        per_kind_(plan.spec.groups.front().name != "all") {}

  [[nodiscard]] const HfView& view() const { return view_; }
  HfConfig take() { return std::move(out_); }

  // Also where rope_scaling would replace all kinds of layers at once, only rope_parameters can say it.
  [[nodiscard]] bool takes_rope_scaling() const {
    return !per_kind_ || (model_.cls.is(formats::kByLayerType) && !model_.cls.is(formats::kGlobalHeadDim));
  }

  [[nodiscard]] std::string_view base_field() const {
    return model_.known() && model_.cls.is(formats::kNeoxNames) ? "rotary_emb_base" : "rope_theta";
  }

  void set(std::string_view key, const Json& value) {
    const std::string path = formats::join_path(model_.path, key);
    if (out_.value(path) == value.dump()) return;
    if (const auto ok = out_.set(path, value.dump()); !ok) throw base::Rejected{ok.error()};
  }
  void remove(std::string_view key) {
    const std::string path = formats::join_path(model_.path, key);
    if (out_.value(path).empty()) return;
    if (const auto ok = out_.remove(path); !ok) throw base::Rejected{ok.error()};
  }
  void set_if_missing(std::string_view key, const Json& value) {
    if (!model_.fields.find(key)) set(key, value);
  }

  void length() { set("max_position_embeddings", length_for(view_, plan_)); }

  // What readers of top-level fields need, and a file saved by transformers 5 does not have.
  void shared_fields() {
    const LayerGroup& first = plan_.spec.groups.front();
    set_if_missing(base_field(), first.base);
    for (const LayerGroup& group : plan_.spec.groups) {
      if (model_.cls.is(formats::kLocalBase) && formats::is_local(group.name))
        set_if_missing("rope_local_base_freq", group.base);
    }
    const bool own_head_dim = !model_.cls.is(formats::kMla) && !model_.cls.is(formats::kGlobalHeadDim) &&
                              !model_.fields.find("qk_rope_head_dim") && !model_.fields.find("per_layer_config") &&
                              !names_model(kNoHeadDimField, model_.model_type);
    if (own_head_dim) {
      const int layer = first.layers.empty() ? -1 : first.layers.front();
      set_if_missing("head_dim", formats::head_dim(model_, first.name, layer));
    }
    // transformers 5 checks the length of a list by head_dim, and does not load Gemma 4, whose layers differ in it,
    // unless the file allows that look (AmbiguousGlobalPerLayerAttributeError)
    if (model_.cls.is(formats::kGlobalHeadDim)) set_if_missing("allow_global_per_layer_attribute_access", true);
    const Json& seen = view_.groups.front().rope;
    if (const auto partial = number_in(seen, "partial_rotary_factor");
        partial.value_or(1) != 1 && takes_rope_scaling()) {
      set_if_missing("partial_rotary_factor", *partial);
    }
  }

  // Fields that say how positions come in, not how fast pairs turn.
  void keep_sections(Json& rope, std::size_t group) const {
    for (const char* key : {"mrope_section", "mrope_interleaved", "video_rope"}) {
      if (view_.groups[group].rope.contains(key)) rope[key] = view_.groups[group].rope[key];
    }
  }

  // What some models compute from the same fields besides the table, as trained: latent attention (DeepSeek) the scale
  // of its scores from factor and mscale_all_dim, Ministral 3 and Mistral 4 the temperature of their queries from the
  // original length. A table with two equal lists and its attention_factor does not depend on them.
  void keep_scores(Json& rope, std::size_t group) const {
    const Json& seen = view_.groups[group].rope;
    const auto keep = [&](std::initializer_list<const char*> keys) {
      for (const char* key : keys) {
        if (seen.contains(key)) rope[key] = seen[key];
      }
    };
    const bool latent = model_.cls.is(formats::kMla) || model_.fields.find("qk_rope_head_dim");
    if (latent && number_in(seen, "mscale_all_dim").value_or(0) != 0) keep({"mscale_all_dim", "factor"});
    if (seen.contains("llama_4_scaling_beta")) keep({"llama_4_scaling_beta", "original_max_position_embeddings"});
  }

  // rope_parameters with the given sets for the groups that change.
  template <class RopeOf>
  void rope_parameters(RopeOf rope_of) {
    Json all = Json::object();
    for (std::size_t g = 0; g < plan_.spec.groups.size(); ++g) {
      const LayerGroup& group = plan_.spec.groups[g];
      Json rope = group.extended ? rope_of(g) : view_.groups[g].rope;
      if (!rope.contains("rope_type")) rope["rope_type"] = rope.value("type", "default");
      rope.erase("type");
      rope["rope_theta"] = group.base;
      const auto partial = number_in(view_.groups[g].rope, "partial_rotary_factor");
      if (partial && !model_.cls.is(formats::kGlobalHeadDim)) rope["partial_rotary_factor"] = *partial;
      if (!per_kind_) all = std::move(rope);
      else all[group.name] = std::move(rope);
    }
    set("rope_parameters", all);
  }

 private:
  HfConfig out_;
  const Plan& plan_;
  HfModel model_;  // its fields are those of a tree that outlives the writer
  HfView view_;
  bool per_kind_;
};

template <class Edit>
Result<HfConfig> edited(const HfConfig& config, const Plan& plan, Edit edit) {
  const Result<Json> root = base::parse_json(config.text());
  if (!root) return root.error();
  Result<HfView> view = view_of(*find_hf_engine("transformers5"), *root, plan.spec);
  if (!view) return view.error();
  try {
    Writer writer(config, plan, *root, *std::move(view));
    edit(writer);
    return writer.take();
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

Json longrope(const Plan& plan, std::size_t group, const TableForm& form) {
  const GroupPlan& g = plan.groups[group];
  Json rope{{"rope_type", "longrope"},
            {"short_factor", g.pair_factors},
            {"long_factor", g.pair_factors},
            {"factor", plan.factor},
            {"original_max_position_embeddings", form.original},
            {"attention_factor", g.attention_scale}};
  if (form.mscales) {
    rope["short_mscale"] = g.attention_scale;
    rope["long_mscale"] = g.attention_scale;
  }
  return rope;
}

}  // namespace

std::int64_t formula_original(std::int64_t context, double attention_scale) {
  if (!(attention_scale > 1)) return context;
  const double original = std::pow(static_cast<double>(context), 1 / (attention_scale * attention_scale));
  return std::max<std::int64_t>(2, std::llround(original));
}

TableForm table_form(const HfEngine* engine, const HfConfig& config, const Plan& plan) {
  TableForm form;
  std::int64_t context = plan.context_target;
  bool phi3 = false;
  if (const Result<Json> root = base::parse_json(config.text())) {
    if (const Result<HfView> view = view_of(*find_hf_engine("transformers5"), *root, plan.spec)) {
      context = length_for(*view, plan);
      phi3 = view->cls.is(formats::kPhi3);
    }  // else the writer will say it
  }
  form.original = formula_original(context, plan.groups.front().attention_scale);
  form.top_level_original = phi3;
  form.three_fields = phi3;
  if (engine == nullptr) return form;

  const LongRopeRules& rules = engine->longrope;
  form.three_fields = phi3 && engine->phi3 != Phi3Rule::none;
  // L as the length: harmless to a scale that is spelt out, and no position is treated as another
  if (rules.wrong_at_original || engine->length.longrope_original) form.original = context;
  if (rules.original == Original::top_level_only) form.top_level_original = true;
  if (rules.scale == ScaleSource::mscales_turn_the_angles) form.mscales = false;
  form.rope_parameters = !engine->trips_over_nested || plan.spec.groups.front().name == "all";
  return form;
}

std::optional<std::string> scale_carrier(const HfConfig& config) {
  const Result<Json> root = base::parse_json(config.text());
  const Result<RopeSpec> spec = config.rope_spec();
  if (!root || !spec) return std::nullopt;
  const Result<HfView> view = view_of(*find_hf_engine("transformers5"), *root, *spec);
  if (!view) return std::nullopt;
  const Json& rope = view->groups.front().rope;
  if (!rope.contains("short_factor") || !rope.contains("long_factor") || rope["short_factor"] != rope["long_factor"])
    return std::nullopt;
  const double inside = number_in(rope, "original_max_position_embeddings").value_or(0);
  const double original = view->original ? static_cast<double>(*view->original) : inside;
  const auto context = static_cast<double>(view->context);
  if (!(original >= 2) || !(context > original)) return std::nullopt;
  const double scale = std::sqrt(std::log(context) / std::log(original));
  const auto stated = number_in(rope, "attention_factor");
  if (stated && std::fabs(*stated / scale - 1) > 2e-4) return std::nullopt;
  return fmt::format(
      "original_max_position_embeddings {:.0f} is not the trained length: engines that read no attention scale compute "
      "sqrt(ln {:.0f} / ln {:.0f}) = {:.5g}, which is the plan's. Both lists are equal, so nothing else depends on it.",
      original, context, original, scale);
}

Result<HfConfig> with_table(const HfConfig& config, const Plan& plan, const TableForm& form) {
  return edited(config, plan, [&](Writer& writer) {
    writer.length();
    writer.shared_fields();
    if (form.top_level_original) writer.set("original_max_position_embeddings", form.original);
    else writer.remove("original_max_position_embeddings");
    const auto rope_of = [&](std::size_t g) {
      Json rope = longrope(plan, g, form);
      writer.keep_sections(rope, g);
      writer.keep_scores(rope, g);
      return rope;
    };
    if (writer.takes_rope_scaling()) {
      Json rope = rope_of(0);
      if (form.three_fields) {
        rope = Json{{"type", "longrope"}, {"short_factor", rope["short_factor"]}, {"long_factor", rope["long_factor"]}};
      }
      writer.set("rope_scaling", rope);
    }
    if (form.rope_parameters) writer.rope_parameters(rope_of);
    else writer.remove("rope_parameters");
  });
}

Result<HfConfig> with_type(const HfConfig& config, const Plan& plan, const Json& rope) {
  return edited(config, plan, [&](Writer& writer) {
    writer.length();
    writer.shared_fields();
    writer.remove("original_max_position_embeddings");
    const auto rope_of = [&](std::size_t g) {
      Json own = rope;
      writer.keep_sections(own, g);
      return own;
    };
    if (writer.takes_rope_scaling()) writer.set("rope_scaling", rope_of(0));
    writer.rope_parameters(rope_of);
  });
}

Result<HfConfig> with_length(const HfConfig& config, const Plan& plan) {
  return edited(config, plan, [](Writer& writer) { writer.length(); });
}

Result<HfConfig> with_base(const HfConfig& config, const Plan& plan, double base) {
  return edited(config, plan, [&](Writer& writer) {
    writer.length();
    const std::string parameters = formats::join_path(config.text_path(), "rope_parameters");
    if (!config.value(parameters).empty() && config.value(parameters) != "null") {
      const std::string& kind = plan.spec.groups.front().name;
      writer.set(kind == "all" ? "rope_parameters.rope_theta" : "rope_parameters." + kind + ".rope_theta", base);
    }
    const std::string scaling = formats::join_path(config.text_path(), "rope_scaling.rope_theta");
    if (!config.value(scaling).empty()) writer.set("rope_scaling.rope_theta", base);
    writer.set(writer.base_field(), base);
  });
}

std::optional<std::string> overrides_of(const HfConfig& config) try {
  const std::string path = config.text_path();
  Json fields = Json::object();
  for (const char* key : {"max_position_embeddings", "rope_parameters"}) {
    const std::string value = config.value(formats::join_path(path, key));
    if (!value.empty()) fields[key] = Json::parse(value);
  }
  // Overrides come after transformers has moved this field into rope_parameters, and replace the whole of it
  if (const auto rope = fields.find("rope_parameters"); rope != fields.end() && rope->contains("rope_type")) {
    const Json root = Json::parse(config.text());
    const HfModel model = formats::find_model(root);
    const formats::Place partial = model.fields.find("partial_rotary_factor");
    const double by_class = model.cls.partial > 0 ? model.cls.partial : 1;
    if (!rope->contains("partial_rotary_factor")) {
      (*rope)["partial_rotary_factor"] = partial ? formats::number(partial, 0, 1) : by_class;
    }
  }
  // {"thinker_config": {"text_config": …}} for "thinker_config.text_config"
  std::string rest = path;
  while (!rest.empty()) {
    const std::size_t dot = rest.rfind('.');
    const std::string key = rest.substr(dot == std::string::npos ? 0 : dot + 1);
    fields = Json{{key, std::move(fields)}};
    rest = dot == std::string::npos ? "" : rest.substr(0, dot);
  }
  return fields.dump();
} catch (const base::Rejected&) {
  return std::nullopt;
}

}  // namespace mrrope::targets
