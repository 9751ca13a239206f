// SPDX-License-Identifier: MIT
//
// What the environment asks of the plug-in, and what became of it.
//
//   MRROPE_PLAN            a plan file, or a ladder file; unset or empty: the model's own rotation, with exact angles
//   MRROPE_LENGTH          of a ladder: tokens of the longest prompt with its answer ("16k"), which choose the rung
//   MRROPE_PLAN_OPTIONAL   1: a plan that cannot be used is left aside, with a message; else the program fails
//
// One rule: a plan that was asked for is used for the whole model, or there is no result. Only where a GPU computes the
// plug-in stands aside without being told to, and says so.
//
// The only file of the plug-in that prints: programs differ in what they do with ggml's log (llama-bench drops it), so
// it writes to standard error itself, each message once per process.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "mrrope/plan.h"

namespace mrrope::plugin {

enum class Stand {
  own,     // no plan: rotations as the file wants them
  plan,    // rotations of extended layers by the plan, the others as the file wants them
  aside,   // takes nothing: the program runs as if it had no plug-in
  failed,  // a plan was asked for and cannot be used: no context, no result
};

// All members are safe to call from any thread.
class Order {
 public:
  Order();  // reads the environment, and the plan file

  [[nodiscard]] Stand stand() const { return stand_.load(std::memory_order_acquire); }
  // Domain: stand() is or was Stand::plan.
  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] bool has_plan() const { return plan_.has_value(); }

  // The plan cannot be used: failed, or aside if it is optional or there is none. Of these three, the first counts.
  void refuse(const Error& reason);
  // There is no way on, with or without a plan.
  void fail(const Error& reason);
  // Somebody else computes here.
  void stand_aside(const std::string& reason);

  // A layer of the model that will be rotated by us, for the report.
  void note_layer(int layer, bool by_plan);
  // What is done, as of the first rotation.
  void report();

 private:
  void settle(Stand stand, const std::string& message);

  std::string path_;
  std::string rung_;  // of a ladder: its name
  bool optional_ = false;
  std::optional<Plan> plan_;
  std::atomic<Stand> stand_ = Stand::own;
  std::atomic<bool> reported_ = false;
  std::mutex mutex_;  // guards the rest
  bool settled_ = false;
  std::set<int> by_plan_, by_file_;
};

}  // namespace mrrope::plugin
