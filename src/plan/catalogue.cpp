// SPDX-License-Identifier: MIT
#include "mrrope/catalogue.h"

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "mrrope/units.h"
#include "plan/method_fields.h"

namespace mrrope {

namespace {

std::string default_text(const plan::Field& field, double value) {
  return field.required ? "required" : format_number(value);
}
std::string default_text(const plan::Field& /*field*/, bool value) { return value ? "true" : "false"; }
std::string default_text(const plan::Field& /*field*/, const std::optional<int>& /*value*/) { return "auto"; }
std::string default_text(const plan::Field& /*field*/, const std::vector<double>& /*value*/) { return "required"; }

// What the struct cannot say of itself.
struct Words {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view summary, formula, kind, source, equation;
};

std::vector<Words> words() {
  return {
      {"none", {"plain", "default"}, "the model as it was trained", "1", "none", "", "[T1]"},
      {"linear",
       {"pi"},
       "all positions squeezed by S",
       "S",
       "not a conversion",
       "Position Interpolation, Chen et al. 2023",
       "[T11]"},
      {"ntk",
       {"ntk-aware"},
       "a larger base; the last pair gets all of S",
       "S^(i/(n-1))",
       "uniform",
       "bloc97 2023",
       "[T12]"},
      {"abf", {"freq-base"}, "a base chosen by hand", "(b'/b)^(i/n)", "uniform", "Xiong et al. 2023", "[T13]"},
      {"gradient-base",
       {},
       "a base from the lengths, as koboldcpp sets it",
       "(b'/b)^(i/n), b' = b^(ln(L'/2pi)/ln(L/2pi))",
       "uniform",
       "Gradient / koboldcpp 2024",
       "[T14]"},
      {"dynamic-ntk",
       {"dynamic"},
       "ntk whose factor follows the text's length",
       "ntk with S len/L - (S-1)",
       "uniform",
       "emozilla 2023, Hugging Face \"dynamic\"",
       "[T15]"},
      {"ntk-by-parts",
       {},
       "yarn-rotations without its attention scale",
       "as yarn-rotations",
       "regressive below S = 32, then progressive",
       "bloc97 2023",
       "[T17]"},
      {"yarn",
       {},
       "YaRN as every engine runs it: a ramp over pairs",
       "1/(g/S + 1-g), g = (i-low)/(high-low)",
       "progressive",
       "Peng et al. 2023, as deployed",
       "[T16]"},
      {"yarn-rotations",
       {"yarn-paper"},
       "YaRN as published: a ramp over turns",
       "1/((1-g)/S + g), g = (r_i-1)/31",
       "regressive below S = 32, then progressive",
       "Peng et al. 2023, as published",
       "[T17]"},
      {"dynamic-yarn",
       {},
       "yarn whose factor follows the text's length",
       "yarn with max(1, len/L)",
       "progressive",
       "Peng et al. 2023",
       "[T19]"},
      {"llama3",
       {},
       "the ramp Llama 3.1 was trained with",
       "1/((1-g)/S + g), g = (r_i-1)/3",
       "regressive below S = 4, then progressive",
       "Llama 3.1",
       "[T20]"},
      {"longrope",
       {"su"},
       "given lists for short and long texts",
       "given",
       "any",
       "LongRoPE, Ding et al. 2024",
       "[T21]"},
      {"mrrope-uni",
       {},
       "equal radix factors over the band",
       "S^(k/N), k = i-low, N = high-low",
       "uniform",
       "MrRoPE, Tian et al. 2026",
       "[T22]"},
      {"mrrope-pro",
       {"mrrope"},
       "growing radix factors over the band",
       "S^(k(k+1)/(N(N+1)))",
       "progressive",
       "MrRoPE, Tian et al. 2026",
       "[T23]"},
      {"mrrope-power",
       {},
       "radix factors that grow as k^p (uni 0, pro 1)",
       "S^(sum_{d<=k} d^p / sum_{d<=N} d^p)",
       "progressive for p > 0, uniform at 0, regressive below",
       "this project",
       "[T24]"},
      {"mrrope-mirror",
       {},
       "mrrope-pro read backwards",
       "S^(k(2N+1-k)/(N(N+1)))",
       "regressive",
       "MrRoPE authors' code",
       "[T25]"},
      {"custom", {}, "any list of factors", "given", "any", "", "[T2]"},
      {"cope",
       {},
       "fades out the slowest pairs",
       "s_i * 2/(1+cos(pi k/(m-1))) on the last m",
       "composes with any table",
       "CoPE 2026",
       "[T26]"},
      {"clip",
       {},
       "stops the slowest pairs",
       "1e30 (no rotation)",
       "composes with any table",
       "Pal et al. 2023; p-RoPE",
       "[T27]"},
      {"resonance",
       {},
       "whole wavelengths",
       "theta' = 2pi/round(2pi/theta')",
       "composes with any table",
       "Wang et al. 2024",
       "[T28]"},
  };
}

template <class Variant, std::size_t... Index>
void append(std::vector<MethodInfo>& out, const std::vector<Words>& all, bool is_modifier,
            std::index_sequence<Index...> /*indices*/) {
  const auto one = [&](auto alternative) {
    using T = decltype(alternative);
    MethodInfo info;
    info.name = T::name;
    info.is_modifier = is_modifier;
    for (const Words& w : all) {
      if (w.name != info.name) continue;
      info.aliases = w.aliases;
      info.summary = w.summary;
      info.formula = w.formula;
      info.kind = w.kind;
      info.source = w.source;
      info.equation = w.equation;
    }
    plan::visit_fields(alternative, [&](const plan::Field& field, auto& member) {
      info.parameters.push_back({field.name, field.meaning, default_text(field, member), field.min, field.max});
      info.needs_parameters = info.needs_parameters || field.required;
    });
    if constexpr (std::is_constructible_v<Law, T>) info.depends_on_length = depends_on_length(Method{alternative});
    out.push_back(std::move(info));
  };
  (one(std::variant_alternative_t<Index, Variant>{}), ...);
}

}  // namespace

const std::vector<MethodInfo>& method_catalogue() {
  static const std::vector<MethodInfo> catalogue = [] {
    std::vector<MethodInfo> out;
    const std::vector<Words> all = words();
    append<Law>(out, all, false, std::make_index_sequence<std::variant_size_v<Law>>{});
    append<Modifier>(out, all, true, std::make_index_sequence<std::variant_size_v<Modifier>>{});
    return out;
  }();
  return catalogue;
}

}  // namespace mrrope
