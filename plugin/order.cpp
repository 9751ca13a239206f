// SPDX-License-Identifier: MIT
#include "plugin/order.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "files/file.h"
#include "mrrope/catalogue.h"
#include "mrrope/ladder.h"
#include "mrrope/units.h"

namespace mrrope::plugin {

namespace {

// The largest plan there is, 16 groups of 4096 pairs, has 12 MB; usual ones have 10 kB, and a ladder some of them.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20U;

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, while the program starts
  return value == nullptr ? "" : value;
}

// The rung for texts of `length` tokens, as MRROPE_LENGTH says it. The plug-in sees no prompts, and could not change
// its table between two of them if it did: the keys of both may be in one cache.
Result<Rung> rung_for(const Ladder& ladder, const std::string& length, const std::string& path) {
  const Rung& last = ladder.rungs.back();
  if (length.empty()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("it is a ladder, and keys in the cache belong to one rung: a process runs one. Say by "
                             "MRROPE_LENGTH how many tokens prompt and answer have together, {} at most, and start a "
                             "server per rung (mrrope ladder writes the commands)",
                             format_context(last.length)),
                 path};
  }
  const Result<std::int64_t> tokens = parse_context(length);
  if (!tokens) return Error{tokens.error().code, "MRROPE_LENGTH: " + to_string(tokens.error()), path};
  if (const Rung* rung = mrrope::rung_for(ladder, *tokens, 0)) return *rung;
  return Error{ErrorCode::too_long,
               fmt::format("MRROPE_LENGTH={} is beyond the last rung, which takes {} tokens of prompt and answer",
                           length, format_context(last.length)),
               path};
}

// A rung without a name is that of no ladder.
Result<Rung> read_order(const std::string& path, const std::string& length) {
  Result<std::string> text = base::read_file(path, kMostBytes);
  if (!text) return text.error();
  if (text->substr(0, 255).find("mrrope.ladder/") != std::string::npos) {  // the reader checks the rest
    const Result<Ladder> ladder = ladder_from_json(*text);
    if (!ladder) return Error{ladder.error().code, "not a ladder: " + to_string(ladder.error()), path};
    return rung_for(*ladder, length, path);
  }
  Result<Plan> plan = plan_from_json(*text);
  if (!plan) return Error{plan.error().code, "not a plan: " + to_string(plan.error()), path};
  return Rung{.name = "", .length = plan->context_target, .plan = *std::move(plan), .why = ""};
}

// One write per line, so that lines of other threads do not get into it.
void say(const std::string& text) {
  const std::string line = "mrrope: " + base::printable(text, text.size()) + "\n";
  static_cast<void>(std::fputs(line.c_str(), stderr));  // who has closed it does not want to know
}

// {0, 1, 2, 5}: "0-2, 5".
std::string ranges(const std::set<int>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (last > first) text += fmt::format("-{}", last);
  }
  return text;
}

std::string describe(const Plan& plan, const std::string& path, const std::string& rung) {
  return fmt::format("{}{} ({}, {} -> {} tokens)", path, rung.empty() ? "" : ", rung " + rung, spell(plan.method),
                     plan.spec.context_trained, plan.context_target);
}

}  // namespace

Order::Order() : path_(environment("MRROPE_PLAN")), optional_(environment("MRROPE_PLAN_OPTIONAL") == "1") {
  if (path_.empty()) return;
  Result<Rung> order = read_order(path_, environment("MRROPE_LENGTH"));
  if (!order) {
    refuse(order.error());
    return;
  }
  rung_ = std::move(order->name);
  plan_ = std::move(order->plan);
  stand_ = Stand::plan;
}

void Order::refuse(const Error& reason) {
  if (path_.empty()) return settle(Stand::aside, to_string(reason) + ". The program goes on without the plug-in.");
  const std::string message = fmt::format("MRROPE_PLAN={} cannot be used: {}.", path_, to_string(reason));
  if (optional_) return settle(Stand::aside, message + " The model rotates as its file says (MRROPE_PLAN_OPTIONAL=1).");
  settle(Stand::failed, message + " Set MRROPE_PLAN_OPTIONAL=1 to run the model without it.");
}

void Order::fail(const Error& reason) { settle(Stand::failed, to_string(reason) + "."); }

void Order::stand_aside(const std::string& reason) {
  const std::string plan = path_.empty() ? "" : fmt::format(" MRROPE_PLAN={} is not applied.", path_);
  settle(Stand::aside, reason + plan);
}

void Order::settle(Stand stand, const std::string& message) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(settled_, true)) return;
  say(message);
  stand_.store(stand, std::memory_order_release);
}

void Order::note_layer(int layer, bool by_plan) {
  if (reported_.load(std::memory_order_relaxed)) return;
  const std::scoped_lock lock(mutex_);
  (by_plan ? by_plan_ : by_file_).insert(layer);
}

void Order::report() {
  if (reported_.load(std::memory_order_relaxed) || reported_.exchange(true)) return;
  const std::scoped_lock lock(mutex_);
  if (!plan_) return say("no MRROPE_PLAN: the model rotates as its file says, with exact angles");
  std::string text = fmt::format("layers {} rotate by {}", ranges(by_plan_), describe(*plan_, path_, rung_));
  if (!by_file_.empty()) text += fmt::format("; layers {} as the file says", ranges(by_file_));
  say(text);
}

}  // namespace mrrope::plugin
