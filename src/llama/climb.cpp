// SPDX-License-Identifier: MIT
#include "llama/climb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/spectrum.h"
#include "nodes/plan_fit.h"

namespace mrrope::llama {

namespace {

using nodes::NodeRotation;

// Below this a pair stands still: at position 2^24 it would turn by a hundredth of a radian, times its speed.
constexpr double kSameSpeed = 1e-9;

Rotation table_under(const Injection& injection, const NodeRotation& of_file) {
  const int number = injection.table_of(of_file.layer);
  if (number < 0) return nodes::table_of(of_file);
  const InjectedTable& table = injection.tables[static_cast<std::size_t>(number)];
  NodeRotation node = of_file;
  node.factors = table.factors;
  node.scale = 1;
  node.extrapolation = 0;
  node.magnitude = table.magnitude;
  return nodes::table_of(node);
}

InjectedTable difference(const Rotation& from, const Rotation& to, const NodeRotation& node) {
  InjectedTable turn;
  turn.own = node;
  turn.own->layer = -1;  // of several
  turn.magnitude = static_cast<float>(to.attention_scale / from.attention_scale);
  const auto pairs = static_cast<double>(from.inv_freq.size());
  for (std::size_t i = 0; i < from.inv_freq.size(); ++i) {
    const double plain = std::pow(static_cast<double>(node.base), -static_cast<double>(i) / pairs);
    const double speed = to.inv_freq[i] - from.inv_freq[i];
    const bool same = std::abs(speed) <= kSameSpeed * from.inv_freq[i];
    turn.factors.push_back(static_cast<float>(same ? kNoRotation : plain / speed));
  }
  return turn;
}

}  // namespace

Injection injection_of(const Plan& plan, int n_layer) {
  Injection out;
  for (const GroupPlan& group : plan.groups) {
    InjectedTable& table = out.tables.emplace_back();
    for (const double factor : group.pair_factors) table.factors.push_back(static_cast<float>(factor));
    table.magnitude = static_cast<float>(group.attention_scale);
  }
  for (int layer = 0; layer < n_layer; ++layer) {
    out.table_of_layer.push_back(nodes::extended_group_of(plan.spec, layer));
  }
  return out;
}

std::vector<TableRung> rungs_of(const Ladder& ladder, int n_layer) {
  std::vector<TableRung> out;
  for (const Rung& rung : ladder.rungs) {
    TableRung& added = out.emplace_back();
    added.length = rung.length;
    if (spell(rung.plan.method) != "none") added.tables = injection_of(rung.plan, n_layer);
  }
  return out;
}

std::size_t rung_that_holds(std::span<const TableRung> rungs, std::int64_t tokens) {
  std::size_t rung = 0;
  while (rung + 1 < rungs.size() && rungs[rung].length < tokens) ++rung;
  return rung;
}

Injection turn_between(const Injection& from, const Injection& to, std::span<const NodeRotation> of_file) {
  Injection out;
  for (const NodeRotation& node : of_file) {
    const auto layer = static_cast<std::size_t>(node.layer);
    if (from.table_of(node.layer) < 0 && to.table_of(node.layer) < 0) continue;
    if (out.table_of(node.layer) >= 0) continue;  // its queries were there first
    InjectedTable turn = difference(table_under(from, node), table_under(to, node), node);
    const auto same = [&](const InjectedTable& t) {
      return t.factors == turn.factors && t.magnitude == turn.magnitude && t.own == turn.own;
    };
    const auto found = std::find_if(out.tables.begin(), out.tables.end(), same);
    if (out.table_of_layer.size() <= layer) out.table_of_layer.resize(layer + 1, -1);
    out.table_of_layer[layer] = static_cast<int>(found - out.tables.begin());
    if (found == out.tables.end()) out.tables.push_back(std::move(turn));
  }
  return out;
}

Result<void> check_turns(std::span<const NodeRotation> of_file) {
  for (const NodeRotation& node : of_file) {
    const auto other = std::find_if(of_file.begin(), of_file.end(), [&](const NodeRotation& first) {
      return first.layer == node.layer && !(first == node);
    });
    if (other != of_file.end()) {
      return Error{ErrorCode::unsupported, fmt::format("layer {} rotates in two ways", node.layer), ""};
    }
  }
  return {};
}

}  // namespace mrrope::llama
