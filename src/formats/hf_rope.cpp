// SPDX-License-Identifier: MIT
//
// Follows modeling_rope_utils.py of transformers 5.22.2 field by field: which spelling wins, what a missing or zero
// value means, and which fields a type reads at all.
#include "formats/hf_rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/units.h"

namespace mrrope::formats {

namespace {

constexpr double kMaxBase = 1e15;

class RopeReader {
 public:
  RopeReader(const HfModel& model, const RopeSource& source, int head_dim, std::int64_t context)
      : model_(model), source_(source), rope_(source.parameters), head_dim_(head_dim), context_(context) {}

  RopeReading read() {
    type_ = read_type();
    out_.base = read_base();
    out_.rotary_dim = read_rotary_dim();
    out_.context = context_;
    check_sections();
    if (type_ == "linear" || type_ == "proportional") read_linear();
    else if (type_ == "dynamic") read_dynamic();
    else if (type_ == "yarn") read_yarn();
    else if (type_ == "llama3") read_llama3();
    else if (type_ == "longrope") read_longrope();
    if (out_.context > kMaxContext) {
      reject(rope_.path("factor"), ErrorCode::invalid_argument, "makes a context of more than 2^40 tokens");
    }
    if (out_.trained) check_trained();
    return std::move(out_);
  }

 private:
  void note(std::string_view name, std::string value, std::string from) {
    out_.sources.push_back({std::string(name), std::move(value), std::move(from)});
  }
  void remark(std::string sentence) { out_.remarks.push_back(std::move(sentence)); }

  std::string read_type() {
    const Place type = rope_.find_any({"rope_type", "type"});
    std::string name = type ? text(type) : "default";
    const Place other = rope_.find("type");
    if (other && other.path != type.path && *other.value != *type.value) {
      remark(fmt::format("{} says {}, but {} wins.", other.path, other.value->dump(), type.path));
    }
    if (type) note("rope type", name, type.path);
    if (name == "mrope") name = "default";  // the same table; positions come in sections
    if (name == "su" || (name == "yarn" && model_.cls.is(kPhi3))) name = "longrope";
    constexpr std::array<std::string_view, 7> known = {"default", "linear",   "dynamic",     "yarn",
                                                       "llama3",  "longrope", "proportional"};
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      reject(type.path, ErrorCode::unsupported, "unknown rope type \"" + name + "\"");
    }
    return name;
  }

  // Each section has at least one pair.
  void check_sections() const {
    const Place sections = rope_.find("mrope_section");
    const auto pairs = static_cast<std::size_t>(out_.rotary_dim / 2);
    if (sections && sections.value->size() > pairs) {
      reject(sections.path, ErrorCode::invalid_argument,
             fmt::format("expected at most {} sections, found {}", pairs, sections.value->size()));
    }
  }

  // Where the base stands if the parameters do not have it.
  [[nodiscard]] Place outer_base() const {
    const HfClass& cls = model_.cls;
    if (cls.is(kByLayerType) && !cls.is(kGlobalHeadDim) && is_local(source_.kind)) {
      return cls.is(kLocalBase) ? model_.fields.find("rope_local_base_freq") : Place{};
    }
    if (model_.known() && cls.is(kNeoxNames)) return model_.fields.find("rotary_emb_base");
    return model_.known() ? model_.fields.find("rope_theta")
                          : model_.fields.find_any({"rope_theta", "rotary_emb_base"});
  }

  double read_base() {
    Place base = rope_.find("rope_theta");
    if (!base) base = outer_base();
    const double by_default = model_.cls.is(kLocalBase) && is_local(source_.kind) ? 10000 : model_.cls.base;
    if (!base && by_default == 0) {
      reject(model_.fields.path("rope_theta"), ErrorCode::malformed,
             fmt::format("missing, and the default of model_type \"{}\" is not known", model_.model_type));
    }
    const double value = base ? number(base, 0, kMaxBase) : by_default;
    if (!(value > 1)) {
      reject(base.path, ErrorCode::invalid_argument, "expected a base above 1, found " + format_number(value));
    }
    note("rope base", format_number(value), base ? base.path : model_.by_default());
    return value;
  }

  // The part of every head that turns, as a fraction.
  double read_partial() {
    Place partial = rope_.find("partial_rotary_factor");
    const HfClass& cls = model_.cls;
    if (!partial && model_.known() && cls.is(kNeoxNames)) {
      partial = model_.fields.find("rotary_pct");
    } else if (!partial) {
      partial = model_.fields.find("partial_rotary_factor");
      if (!partial && !model_.known()) partial = model_.fields.find("rotary_pct");
      if (const Place dims = model_.fields.find("rotary_dim"); dims && !partial && cls.is(kRotaryDim)) {
        note("rotary_dim", dims.value->dump(), dims.path);
        return static_cast<double>(integer(dims, 2, head_dim_)) / head_dim_;
      }
    }
    const double value = partial ? number(partial, 0, 1) : cls.partial;
    if (value != 1) note("partial rotary factor", format_number(value), partial ? partial.path : model_.by_default());
    return value;
  }

  int read_rotary_dim() {
    if (type_ == "default" && !model_.cls.is(kPartial)) {
      const Place partial = rope_.find("partial_rotary_factor") ? rope_.find("partial_rotary_factor")
                                                                : model_.fields.find("partial_rotary_factor");
      if (partial && number(partial, 0, 1) != 1) remark(partial.path + " is ignored: this model turns whole heads.");
      return even(head_dim_);
    }
    partial_ = read_partial();
    // "proportional" spreads its speeds over the whole head and stops the rest.
    return even(type_ == "proportional" ? head_dim_ : static_cast<int>(head_dim_ * partial_));
  }

  [[nodiscard]] int even(int dim) const {
    if (dim < 2 || dim % 2 != 0) {
      reject(rope_.empty() ? model_.fields.path("head_dim") : rope_.path("partial_rotary_factor"),
             ErrorCode::unsupported,
             fmt::format("{} of {} dimensions per head would turn; expected an even number", dim, head_dim_));
    }
    return dim;
  }

  double read_factor(double min = 1) {
    const Place factor = rope_.find("factor");
    if (!factor) reject(factor.path, ErrorCode::malformed, "missing");
    const double value = number(factor, min, kMaxFactor);
    note("scaling factor", format_number(value), factor.path);
    return value;
  }

  // S, or M/L where the file leaves it out.
  double read_factor_or_ratio(std::int64_t original, double min) {
    if (rope_.find("factor")) return read_factor(min);
    const double ratio = static_cast<double>(context_) / static_cast<double>(original);
    if (!(ratio >= min && ratio <= kMaxFactor)) {
      reject(rope_.path("factor"), ErrorCode::inconsistent,
             fmt::format("missing, and {} tokens from {} make {}", context_, original, format_number(ratio)));
    }
    note("scaling factor", format_number(ratio), "max_position_embeddings / original_max_position_embeddings");
    return ratio;
  }

  // L. One set for all layers prefers the field outside; a set per kind of layer never sees it.
  std::int64_t read_original() {
    constexpr std::string_view key = "original_max_position_embeddings";
    const Place inside = rope_.find(key);
    const Place outside = model_.fields.find(key);
    Place original = inside;
    if (!source_.nested && (outside || model_.cls.is(kPhi3))) original = outside;
    const Place& ignored = original.path == outside.path ? inside : outside;
    if (ignored && (!original || *ignored.value != *original.value)) remark(ignored.path + " is ignored.");

    std::int64_t value = context_;
    std::string from = "max_position_embeddings";
    if (original) {
      value = integer(original, 2, kMaxContext);
      from = original.path;
    } else if (model_.cls.is(kPhi3)) {
      value = 4096;
      from = model_.by_default();
    }
    note("original context", std::to_string(value), from);
    return value;
  }

  [[nodiscard]] static std::int64_t times(std::int64_t length, double factor) {
    return static_cast<std::int64_t>(std::llround(std::min(static_cast<double>(length) * factor, 0x1p50)));
  }
  [[nodiscard]] static std::int64_t divided(std::int64_t length, double factor) {
    return std::max<std::int64_t>(1, times(length, 1 / factor));
  }

  std::optional<double> read_attention_factor() {
    const Place factor = rope_.find("attention_factor");
    if (!factor) return std::nullopt;
    note("attention factor", factor.value->dump(), factor.path);
    return number(factor, 1e-6, 1e6);
  }

  void read_linear() {
    if (type_ == "proportional") {
      const double factor = rope_.find("factor") ? read_factor() : 1;
      const int keep = static_cast<int>(std::floor(partial_ * head_dim_ / 2));
      out_.trained = {Method{Linear{}, {Clip{keep}}}, factor, divided(context_, factor)};
      return;
    }
    const double factor = read_factor();
    const Place inside = rope_.find("original_max_position_embeddings");
    const Place original = inside ? inside : model_.fields.find("original_max_position_embeddings");
    const Place scaled = model_.fields.find("max_sequence_length");  // vicuna-16k, longchat
    if (original) {
      out_.context = std::max(context_, times(integer(original, 2, kMaxContext), factor));
      note("original context", original.value->dump(), original.path);
    } else if (scaled) {
      out_.context = std::clamp(integer(scaled, 1, kMaxContext), context_, times(context_, factor));
      note("scaled context", scaled.value->dump(), scaled.path);
    }
    const std::int64_t start = original ? integer(original, 2, kMaxContext) : divided(out_.context, factor);
    out_.trained = {Linear{}, factor, start};
  }

  void read_dynamic() {
    if (const Place alpha = rope_.find("alpha"); alpha && model_.cls.is(kAlpha)) {
      if (const double value = number(alpha, 0, kMaxFactor); value != 0) {
        if (value < 1) reject(alpha.path, ErrorCode::unsupported, "expected at least 1, found " + alpha.value->dump());
        note("alpha", format_number(value), alpha.path);
        out_.trained = {Ntk{}, value, context_};
        return;
      }
    }
    const double factor = read_factor();
    remark(
        fmt::format("Up to {} tokens the table is plain; beyond, transformers lets the base grow (dynamic, factor {}).",
                    context_, format_number(factor)));
  }

  void read_yarn() {
    const std::int64_t original = read_original();
    const double factor = read_factor_or_ratio(original, 1);
    out_.context = std::max(context_, times(original, factor));

    Yarn yarn;
    yarn.band.beta_fast = read_or("beta_fast", 32);
    yarn.band.beta_slow = read_or("beta_slow", 1);
    if (rope_.has("truncate")) {
      const Place truncate = rope_.find("truncate");
      const bool value = truncate && boolean(truncate);  // null: no, as in Python
      if (!source_.nested) yarn.band.truncate = value;
      else if (!value) remark(rope_.path("truncate") + " is ignored: transformers looks for it one level higher.");
    }
    const double mscale = read_or("mscale", 0);
    const double all_dim = read_or("mscale_all_dim", 0);
    if (mscale != 0 && all_dim != 0) {
      yarn.attention = {mscale, all_dim};
    } else if (mscale != 0 || all_dim != 0) {
      remark(rope_.path(mscale != 0 ? "mscale" : "mscale_all_dim") +
             " is ignored: it needs mscale and mscale_all_dim.");
    }
    out_.trained = {Method{yarn, {}, read_attention_factor()}, factor, original};
    if (all_dim != 0 && factor > 1 && (model_.cls.is(kMla) || model_.fields.find("qk_rope_head_dim"))) {
      const double scale = 0.1 * all_dim * std::log(factor) + 1;
      remark(
          fmt::format("The model multiplies its attention logits by {:.4f} besides (mscale_all_dim).", scale * scale));
    }
  }

  void read_llama3() {
    const std::int64_t original = read_original();
    const double factor = read_factor();
    Llama3 law;
    law.low_freq_factor = read_required("low_freq_factor");
    law.high_freq_factor = read_required("high_freq_factor");
    if (context_ <= original) out_.context = times(original, factor);
    out_.trained = {law, factor, original};
  }

  void read_longrope() {
    const std::int64_t original = read_original();
    const double factor = std::max(1.0, read_factor_or_ratio(original, 0));
    out_.context = std::max(context_, original);
    LongRope law{read_list("short_factor"), read_list("long_factor")};
    std::optional<double> scale = read_attention_factor();
    if (const bool far = out_.context > original; model_.cls.is(kMscalePair)) {
      const Place own = rope_.find(far ? "long_mscale" : "short_mscale");
      if (!own) reject(own.path, ErrorCode::malformed, "missing");
      scale = number(own, 1e-6, 1e6);
    }
    out_.trained = {Method{std::move(law), {}, scale}, factor, original};
  }

  // Zero, null and nothing at all mean the default.
  double read_or(std::string_view key, double by_default) {
    const Place place = rope_.find(key);
    const double value = place ? number(place, -1e9, 1e9) : 0;
    if (value == 0) return by_default;
    note(key, format_number(value), place.path);
    return value;
  }

  double read_required(std::string_view key) {
    const Place place = rope_.find(key);
    if (!place) reject(place.path, ErrorCode::malformed, "missing");
    const double value = number(place, -1e9, 1e9);
    note(key, format_number(value), place.path);
    return value;
  }

  std::vector<double> read_list(std::string_view key) {
    const Place place = rope_.find(key);
    if (!place) reject(place.path, ErrorCode::malformed, "missing");
    std::vector<double> values = numbers(place, 1e-6, kNoRotation);
    note(key, fmt::format("{} values", values.size()), place.path);
    return values;
  }

  // The checks of the catalogue, in the words of the file.
  void check_trained() {
    const Result<void> ok = check_method(out_.trained->method, out_.rotary_dim / 2);
    if (ok) return;
    const std::string& where = ok.error().where;
    std::string field = where.substr(where.rfind("params.") + std::string_view("params.").size());
    if (field == "attention_scale") field = "attention_factor";
    for (const std::string_view list : {"short_factors", "long_factors"}) {
      if (field.starts_with(list)) field.erase(list.size() - 1, 1);
    }
    reject(rope_.path(field), ok.error().code, ok.error().message);
  }

  const HfModel& model_;
  const RopeSource& source_;
  const Scope& rope_;
  int head_dim_;
  std::int64_t context_;
  std::string type_;
  double partial_ = 1;
  RopeReading out_;
};

}  // namespace

RopeReading read_rope(const HfModel& model, const RopeSource& source, int head_dim, std::int64_t context) {
  return RopeReader(model, source, head_dim, context).read();
}

}  // namespace mrrope::formats
