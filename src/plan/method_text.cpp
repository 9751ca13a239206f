// SPDX-License-Identifier: MIT
//
// Methods as people type them: NAME[:key=value]…[+MODIFIER[:key=value]…]…
#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "base/text.h"
#include "mrrope/catalogue.h"
#include "mrrope/ladder.h"
#include "mrrope/units.h"
#include "plan/method_fields.h"
#include "plan/method_names.h"

namespace mrrope {

namespace {

using plan::Field;

// ---- Values --------------------------------------------------------------------------------------------------------

Result<void> read_value(std::string_view text, double& value) {
  const Result<double> number = parse_number(text);
  if (!number) return number.error();
  value = *number;
  return {};
}

Result<void> read_value(std::string_view text, bool& value) {
  if (text != "true" && text != "false") {
    return Error{ErrorCode::malformed, "expected true or false, found \"" + std::string(text) + "\"", ""};
  }
  value = text == "true";
  return {};
}

Result<void> read_value(std::string_view text, std::optional<int>& value) {
  if (text == "auto") {
    value = std::nullopt;
    return {};
  }
  const Result<double> number = parse_number(text);
  if (!number || *number != std::floor(*number) || std::fabs(*number) > plan::kMaxPair) {
    return Error{ErrorCode::malformed, "expected a pair number or auto, found \"" + std::string(text) + "\"", ""};
  }
  value = static_cast<int>(*number);
  return {};
}

Result<void> read_value(std::string_view text, std::optional<double>& value) {
  return read_value(text, value.emplace());
}

Result<void> read_value(std::string_view text, std::vector<double>& values) {
  values.clear();
  for (const std::string_view part : base::split(text, '/')) {
    if (const auto ok = read_value(part, values.emplace_back()); !ok) return ok.error();
  }
  return {};
}

std::string text_of(double value) { return format_number(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(const std::optional<int>& value) { return value ? std::to_string(*value) : "auto"; }
std::string text_of(const std::vector<double>& values) {
  std::string text;
  for (const double v : values) text += (text.empty() ? "" : "/") + format_number(v);
  return text;
}

// ---- Parts ---------------------------------------------------------------------------------------------------------

// Splits at '+', but not inside a number such as 1e+6.
std::vector<std::string_view> split_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool end = i == text.size();
    if (!end && text[i] != '+') continue;
    const bool exponent = !end && i >= 2 && (text[i - 1] == 'e' || text[i - 1] == 'E') &&
                          (digit(i - 2) || text[i - 2] == '.') && digit(i + 1);
    if (exponent) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return parts;
}

// Sets one "key=value" of a law or modifier. `shared` takes what every method does, where the part may have it.
template <class L>
Result<void> read_parameter(std::string_view text, L& law, Method* shared) {
  const std::size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  if (equals == std::string_view::npos || key.empty()) {
    return Error{ErrorCode::malformed, "expected key=value, found \"" + std::string(text) + "\"", std::string(L::name)};
  }
  const std::string_view value = text.substr(equals + 1);
  const auto located = [&](const Result<void>& read) -> Result<void> {
    if (read) return {};
    return Error{read.error().code, read.error().message, std::string(L::name) + "." + std::string(key)};
  };
  bool found = false;
  Result<void> read;
  std::vector<std::string_view> names;
  const auto try_field = [&](const Field& field, auto& member) {
    names.push_back(field.name);
    if (field.name != key) return;
    found = true;
    read = read_value(value, member);
  };
  plan::visit_fields(law, try_field);
  if (shared != nullptr) plan::visit_shared(*shared, try_field);
  if (found) return located(read);
  std::string message = "unknown parameter \"" + std::string(key) + "\"";
  const std::string_view guess = base::nearest(key, names);
  if (!guess.empty()) message += "; did you mean " + std::string(guess) + "?";
  message += names.empty() ? " (it has none)" : " (it has " + base::join(names) + ")";
  return Error{ErrorCode::invalid_argument, message, std::string(L::name)};
}

template <class Variant>
Result<void> read_parameters(std::span<const std::string_view> texts, Variant& alternative, Method* shared) {
  for (const std::string_view text : texts) {
    const Result<void> read = std::visit([&](auto& law) { return read_parameter(text, law, shared); }, alternative);
    if (!read) return read.error();
  }
  return {};
}

template <class Variant>
std::string spell_alternative(const Variant& alternative) {
  return std::visit(
      [](const auto& law) {
        using L = std::remove_cvref_t<decltype(law)>;
        std::vector<std::string> defaults;
        const L plain{};
        plan::visit_fields(plain, [&](const Field& /*field*/, auto& member) { defaults.push_back(text_of(member)); });
        std::string text(L::name);
        std::size_t i = 0;
        plan::visit_fields(law, [&](const Field& field, auto& member) {
          const std::string value = text_of(member);
          if (value != defaults[i++]) text += ":" + std::string(field.name) + "=" + value;
        });
        return text;
      },
      alternative);
}

}  // namespace

Result<Method> parse_method(std::string_view text) {
  if (names_climb(text)) {
    return Error{ErrorCode::unsupported,
                 "climb is a rule for tables that grow with the text, and this takes one table: leave climb: away", ""};
  }
  Method method;
  const std::vector<std::string_view> parts = split_parts(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<std::string_view> pieces = base::split(parts[i], ':');
    const std::span<const std::string_view> parameters = std::span(pieces).subspan(1);
    const std::string_view name = pieces[0];
    if (std::optional<Modifier> modifier = plan::modifier_named(name)) {
      if (const auto ok = read_parameters(parameters, *modifier, nullptr); !ok) return ok.error();
      method.modifiers.push_back(*modifier);
      continue;
    }
    const std::optional<Law> law = plan::law_named(name);
    if (!law) return plan::unknown_method(name);
    if (i > 0) {
      return Error{ErrorCode::invalid_argument,
                   "\"" + std::string(name) + "\" makes a table of its own; only cope, clip and resonance can follow +",
                   ""};
    }
    method.law = *law;
    if (const auto ok = read_parameters(parameters, method.law, &method); !ok) return ok.error();
  }
  return method;
}

std::string spell(const Method& method) {
  std::string text = spell_alternative(method.law);
  plan::visit_shared(method, [&](const Field& field, const std::optional<double>& value) {
    if (value) text += ":" + std::string(field.name) + "=" + format_number(*value);
  });
  for (const Modifier& modifier : method.modifiers) text += "+" + spell_alternative(modifier);
  return text;
}

std::string brief(const Method& method) {
  constexpr std::size_t kShown = 4;  // a list no longer than this is written out
  const std::string text = spell(method);
  std::string out;
  for (const std::string_view part : base::split(text, ':')) {
    const std::vector<std::string_view> numbers = base::split(part, '/');
    if (!out.empty()) out += ':';
    if (numbers.size() <= kShown) out.append(part);
    else
      out.append(numbers.front())
          .append("/../")
          .append(numbers.back())
          .append(fmt::format(" ({} numbers)", numbers.size()));
  }
  return out;
}

}  // namespace mrrope
