// SPDX-License-Identifier: MIT
//
// The methods by name: what each is, which parameters it has, and how people spell one.
//
//   Result<Method> m = parse_method("yarn:beta_fast=16:truncate=false+resonance");
//   spell(*m);   // the same text; defaults are left out
//
// Spelling:  NAME[:key=value]…[+MODIFIER[:key=value]…]…
// No comma and no space occurs in it, so that lists of methods can be written with commas. List values are separated by
// '/': custom:factors=1/1.5/2. A modifier alone ("cope") means "none+cope". Every method takes attention_scale=a,
// and those with an S in their formula factor=S.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/methods.h"
#include "mrrope/result.h"

namespace mrrope {

struct ParameterInfo {
  std::string_view name;
  std::string_view meaning;
  std::string default_value;  // as spelt; "required", or "auto" where it follows from the model
  double min = 0;             // inclusive range of the number, or of each number of a list
  double max = 0;
};

struct MethodInfo {
  std::string_view name;                  // "mrrope-pro"
  std::vector<std::string_view> aliases;  // other spellings parse_method accepts
  std::string_view summary;               // one line
  std::string_view formula;               // s_i in ASCII
  std::string_view kind;                  // the conversion it makes, with its condition
  std::string_view source;                // who published it
  std::string_view equation;              // "[T23]" of docs/theory.md
  bool is_modifier = false;
  bool needs_parameters = false;   // has no table without parameters (abf, longrope, custom)
  bool depends_on_length = false;  // a table per sequence length
  std::vector<ParameterInfo> parameters;
};

// All laws in the order of methods.h, then the modifiers.
const std::vector<MethodInfo>& method_catalogue();

// Errors name the part that is wrong and what would be right ("did you mean yarn?"). Values are checked against their
// ranges here; what depends on the number of pairs is checked by check_method.
Result<Method> parse_method(std::string_view text);

// Shortest spelling: parse_method(spell(m)) == m.
std::string spell(const Method& method);

// The same for people: of a long list the ends and how many numbers it has.
std::string brief(const Method& method);

// The first thing that is wrong with a method for a model with `pairs` rotated pairs, if any: a value out of range, a
// list of the wrong length, beta_slow above beta_fast. `where` is a path such as "params.beta_fast".
Result<void> check_method(const Method& method, int pairs);

}  // namespace mrrope
