// SPDX-License-Identifier: MIT
#include "targets/hf_view.h"

#include <fmt/format.h>

#include "formats/hf_shape.h"
#include "mrrope/units.h"

namespace mrrope::targets {

namespace {

using base::Json;
using formats::HfModel;
using formats::Place;

const Json* object_in(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found != object.end() && found->is_object() && !found->empty() ? &*found : nullptr;
}

class Viewer {
 public:
  Viewer(const HfEngine& engine, const Json& root, const RopeSpec& spec)
      : engine_(engine), spec_(spec), model_(formats::find_model(root)), reader_(engine.reader) {
    if (names_model(engine.either, model_.model_type)) reader_ = Reader::either;
    if (names_model(engine.parameters, model_.model_type)) reader_ = Reader::parameters;
    if (const Place p = model_.fields.find("rope_scaling"); p && p.value->is_object() && !p.value->empty()) {
      scaling_ = p.value;
    }
    if (const Place p = model_.fields.find("rope_parameters"); p && p.value->is_object()) parameters_ = p.value;
  }

  HfView view() {
    HfView out;
    out.model_type = model_.model_type;
    out.cls = model_.cls;
    const Place length = model_.fields.find_any({"max_position_embeddings", "n_positions"});
    out.context = length ? formats::integer(length, 1, kMaxContext) : model_.cls.context;
    if (const Place p = model_.fields.find("original_max_position_embeddings")) {
      out.original = formats::integer(p, 2, kMaxContext);
    } else if (model_.cls.is(formats::kPhi3)) {
      out.original = 4096;
    }
    out.has_head_dim = static_cast<bool>(model_.fields.find("head_dim"));
    for (const LayerGroup& group : spec_.groups) {
      if (parameters_ != nullptr && object_in(*parameters_, group.name) != nullptr) out.nested_parameters = true;
    }
    for (const LayerGroup& group : spec_.groups) {
      out.groups.push_back(reader_ == Reader::transformers5 ? by_transformers5(group) : by_fields(group));
    }
    if (reader_ == Reader::transformers4 || reader_ == Reader::scaling) note_unseen(out);
    if (reader_ == Reader::parameters && scaling_ != nullptr && parameters_ == nullptr) {
      out.notes.push_back(fmt::format("{} reads rope_parameters on this model, and rope_scaling is not there for it",
                                      engine_.info.title));
    }
    return out;
  }

 private:
  [[nodiscard]] Json class_default() const {
    return model_.cls.rope.empty() ? Json::object() : Json::parse(model_.cls.rope);
  }

  [[nodiscard]] bool sees_parameters() const { return reader_ == Reader::either || reader_ == Reader::parameters; }

  // The other spelling beside rope_scaling, for this group.
  [[nodiscard]] const Json* own_parameters(const LayerGroup& group) const {
    if (parameters_ == nullptr) return nullptr;
    if (const Json* own = object_in(*parameters_, group.name)) return own;
    return group.name == "all" ? parameters_ : nullptr;
  }

  GroupView by_transformers5(const LayerGroup& group) {
    GroupView out{group.name, Json::object(), group.base, group.rotary_dim, group.name != "all"};
    const Json defaults = class_default();
    if (!out.nested) {
      const Json* own = own_parameters(group);
      out.rope = scaling_ != nullptr ? *scaling_ : own != nullptr ? *own : defaults;
      return out;
    }
    const bool global = model_.cls.is(formats::kGlobalHeadDim);
    if (const Json* own = own_parameters(group)) out.rope = *own;
    else if (const Json* by_default = object_in(defaults, group.name)) out.rope = *by_default;
    // On top of what rope_parameters says of the layers that look far (configuration_gemma3.py)
    if (scaling_ != nullptr && !global && group.name == "full_attention") {
      if (!out.rope.contains("rope_type")) out.rope["rope_type"] = "default";
      out.rope.update(*scaling_);
    }
    return out;
  }

  GroupView by_fields(const LayerGroup& group) {
    GroupView out{group.name, Json::object(), group.base, group.rotary_dim, false};
    const Json* own = own_parameters(group);
    const bool local = formats::is_local(group.name);
    const bool seen = sees_parameters() && own == parameters_;  // not per kind of layer
    if (!local) {
      if (scaling_ != nullptr && reader_ != Reader::parameters) out.rope = *scaling_;
      else if (seen && own != nullptr) out.rope = *own;
      else if (reader_ == Reader::transformers4) out.rope = class_default();
    }
    // The base: a field of the top level, else what rope_parameters says where that is read, else the default
    const bool local_base = local && model_.cls.is(formats::kLocalBase);
    const bool neox = model_.known() && model_.cls.is(formats::kNeoxNames);
    const Place theta = model_.fields.find(local_base ? "rope_local_base_freq"
                                           : neox     ? "rotary_emb_base"
                                                      : "rope_theta");
    const bool inside = own != nullptr && own->contains("rope_theta");
    if (inside && seen && reader_ == Reader::parameters) {
      out.base = number_in(*own, "rope_theta").value_or(group.base);
    } else if (theta) {
      out.base = formats::number(theta, 1, 1e15);
    } else if (inside && !seen) {
      out.base = local_base || model_.cls.base == 0 ? 10000 : model_.cls.base;
      if (names_model(engine_.own_base.models, model_.model_type)) out.base = engine_.own_base.base;
      base_unseen_ = base_unseen_ || out.base != group.base;
    }
    // The same for the part of the head that turns
    const bool partial_inside = own != nullptr && number_in(*own, "partial_rotary_factor").value_or(1) != 1;
    if (partial_inside && !sees_parameters() && !model_.fields.find("partial_rotary_factor")) {
      const int whole = formats::head_dim(model_, group.name, group.layers.empty() ? -1 : group.layers.front());
      out.rotary_dim = static_cast<int>(whole * (model_.cls.partial > 0 ? model_.cls.partial : 1)) / 2 * 2;
    }
    return out;
  }

  void note_unseen(HfView& out) const {
    const Json* own = own_parameters(spec_.groups.front());
    if (own != nullptr && scaling_ == nullptr && spec_.groups.front().trained) {
      out.notes.push_back(
          fmt::format("{} does not read rope_parameters: the scaling in it is not there for it", engine_.info.title));
    }
    if (base_unseen_) {
      out.notes.push_back(fmt::format("{} does not see rope_theta inside rope_parameters and takes {}",
                                      engine_.info.title, format_number(out.groups.front().base)));
    }
  }

  const HfEngine& engine_;
  const RopeSpec& spec_;
  HfModel model_;
  Reader reader_;
  const Json* scaling_ = nullptr;
  const Json* parameters_ = nullptr;
  bool base_unseen_ = false;
};

}  // namespace

std::optional<double> number_in(const Json& rope, std::string_view key) {
  const auto found = rope.find(std::string(key));
  if (found == rope.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

Result<HfView> view_of(const HfEngine& engine, const Json& root, const RopeSpec& spec) {
  try {
    return Viewer(engine, root, spec).view();
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

}  // namespace mrrope::targets
