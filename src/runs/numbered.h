// SPDX-License-Identifier: MIT
//
// Names and plans by number, in the order in which they are first seen.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "mrrope/statistics.h"

namespace mrrope::eval {

template <class Name, class Less>
class Numbered {
 public:
  template <class Key>
  std::size_t operator()(const Key& key) {
    const auto found = places_.find(key);
    if (found != places_.end()) return found->second;
    names_.emplace_back(key);
    return places_.emplace(names_.back(), names_.size() - 1).first->second;
  }
  [[nodiscard]] const std::vector<Name>& names() const noexcept { return names_; }
  // None: it was never seen.
  template <class Key>
  [[nodiscard]] std::optional<std::size_t> find(const Key& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::vector<Name> names_;
  std::map<Name, std::size_t, Less> places_;
};

// A record's plan, without a copy of its name.
struct PlanView {
  std::string_view method;
  double factor = 1;
  explicit operator PlanName() const { return {std::string(method), factor}; }
};

struct PlanLess {
  using is_transparent = void;
  static auto key(const PlanName& plan) { return std::tuple(std::string_view(plan.method), plan.factor); }
  static auto key(const PlanView& plan) { return std::tuple(plan.method, plan.factor); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return key(a) < key(b);
  }
};

using PlanNumbers = Numbered<PlanName, PlanLess>;

}  // namespace mrrope::eval
