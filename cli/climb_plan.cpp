// SPDX-License-Identifier: MIT
#include "cli/climb_plan.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

std::string rows(const Ladder& ladder) {
  TextTable table({"tokens", "table", "factor", "scale", "s last"}, 2);
  std::int64_t from = 1;
  for (const Rung& rung : ladder.rungs) {
    const GroupPlan& group = rung.plan.groups[0];
    table.add({fmt::format("{} to {}", from, rung.length),
               rung.plan.factor > 1 ? brief(rung.plan.method) : "as trained", fmt::format("{:.4g}", rung.plan.factor),
               fmt::format("{:.3f}", group.attention_scale), fmt::format("{:.2f}", group.pair_factors.back())});
    from = rung.length + 1;
  }
  return table.text();
}

}  // namespace

int print_climb(const ModelOptions& options, const Model& model, const std::string& method, bool json) {
  const Result<Climb> climb = parse_climb(method);
  if (!climb) return fail({climb.error().code, to_string(climb.error()), "--method"});
  Result<Ladder> ladder = climbing_ladder(model.spec, model.context_target, *climb);
  if (!ladder) return fail({ladder.error().code, to_string(ladder.error()), "--method"});
  ladder->source = model.source;
  if (json) {
    print("{}", to_json(*ladder));
    return 0;
  }
  print_fact("rule", spell(*climb));
  print_fact("target", fmt::format("{} tokens, trained for {}", model.context_target, model.spec.context_trained));
  if (ladder->rungs.size() == 1) {
    print_fact("why", "The model reaches this length as it is: nothing climbs, and no plan is needed.");
    return 0;
  }
  print_fact(
      "why",
      "A text starts under the table of training and takes the next one when it outgrows a rung: the cached keys "
      "are rotated to it once, and nothing is read again. Texts within the trained length cost nothing.");
  print("\n{}", rows(*ladder));
  print("{}\n", dim("  s last: how much the slowest pair is slowed down"));
  const GgufModel* gguf = model.file ? model.file->gguf() : nullptr;
  if (gguf == nullptr || options.file.empty()) return 0;
  const std::string trained = options.trained.empty() ? "" : " --trained " + base::shell_quoted(options.trained);
  print("\n{}mrrope eval ppl -m {}{} -f TEXT --methods none,yarn,{} --factor {:.6g} --lengths {},{}\n",
        fact_label("next"), base::shell_quoted(options.file), trained, spell(*climb), ladder->rungs.back().plan.factor,
        format_context(model.spec.context_trained), format_context(model.context_target));
  return 0;
}

}  // namespace mrrope::cli
