// SPDX-License-Identifier: MIT
//
// mrrope diff: two tables in numbers, whatever they come from.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/json.h"
#include "base/paths.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

namespace {

using base::Json;

struct Options {
  std::string a, b;
  double tolerance = 1e-6;
  bool json = false;
};

struct Side {
  std::string path;
  std::string engine;  // that is asked what it makes of the file; empty: a plan
  std::vector<EffectiveGroup> groups;
  std::int64_t context = 0;
  bool by_table = true;
  std::vector<std::string> notes = {};  // where it is not

  [[nodiscard]] std::string title() const { return engine.empty() ? path : path + " in " + engine; }
};

// FILE or FILE@ENGINE: where the @ begins; npos: it is all a path, which may have that sign, too.
std::size_t engine_mark(const std::string& text) {
  const std::size_t at = text.rfind('@');
  std::error_code ignored;
  if (at == std::string::npos || text.find('/', at) != std::string::npos ||
      std::filesystem::exists(base::to_path(text), ignored)) {
    return std::string::npos;
  }
  return at;
}

// A plan is what it says; a GGUF is asked of llama.cpp, a config.json of transformers 5.
Result<Side> load_side(const std::string& text) {
  const std::size_t at = engine_mark(text);
  const std::string path = text.substr(0, at);
  std::string engine = at == std::string::npos ? "" : text.substr(at + 1);
  if (engine.empty()) {
    const Result<std::string> content =
        path == "-" || is_plan_file(path) ? read_text(path) : Result<std::string>(std::string());
    if (!content) return content.error();
    if (!content->empty()) {
      const Result<Plan> plan = plan_from_json(*content);
      if (!plan) return Error{plan.error().code, to_string(plan.error()), path};
      return Side{.path = path, .engine = "", .groups = effective_groups(*plan), .context = plan->context_target};
    }
  }
  const Result<ModelFile> model = read_model(path);
  if (!model) return model.error();
  if (engine.empty()) engine = model->gguf() != nullptr ? "llama.cpp" : "transformers5";
  Result<Effective> effect = effective(engine, *model);
  if (!effect) return effect.error();
  if (!effect->loads) return Error{ErrorCode::unsupported, engine + " does not load it", path};
  Side side{.path = path,
            .engine = std::string((*engine_named(engine))->name),
            .groups = std::move(effect->groups),
            .context = effect->context};
  side.by_table = effect->by_table;
  if (!side.by_table) side.notes = std::move(effect->notes);
  return side;
}

Json to_json(const Side& side) {
  return Json{{"path", side.path}, {"engine", side.engine.empty() ? Json() : Json(side.engine)}};
}

int run_diff(const Options& options) {
  const Result<Side> a = load_side(options.a);
  if (!a) return fail(a.error());
  const Result<Side> b = load_side(options.b);
  if (!b) return fail(b.error());
  const std::size_t groups = std::min(a->groups.size(), b->groups.size());
  bool equal = a->groups.size() == b->groups.size() && a->by_table && b->by_table;
  Json json{{"schema", "mrrope.diff/1"},
            {"a", to_json(*a)},
            {"b", to_json(*b)},
            {"tolerance", options.tolerance},
            {"groups", Json::array()}};
  TextTable table({"layers", "speeds differ by", "at pair", "A there", "B there", "scale A", "scale B"}, 1);
  for (std::size_t g = 0; g < groups; ++g) {
    const GroupDifference d = group_difference(a->groups[g], b->groups[g]);
    const auto pair = static_cast<std::size_t>(d.pair);
    equal = equal && d.table <= options.tolerance && d.scale <= options.tolerance;
    json["groups"].push_back({{"name", a->groups[g].name}, {"table", d.table}, {"pair", d.pair}, {"scale", d.scale}});
    const bool same_size = a->groups[g].inv_freq.size() == b->groups[g].inv_freq.size();
    table.add(
        {a->groups[g].name, same_size ? fmt::format("{:.3g}", d.table) : "other number of pairs",
         same_size ? std::to_string(d.pair) : "-", same_size ? fmt::format("{:.6g}", a->groups[g].inv_freq[pair]) : "-",
         same_size ? fmt::format("{:.6g}", b->groups[g].inv_freq[pair]) : "-",
         fmt::format("{:.5f}", a->groups[g].attention_scale), fmt::format("{:.5f}", b->groups[g].attention_scale)});
  }
  json["equal"] = equal;
  json["context"] = {a->context, b->context};
  json["by_table"] = {a->by_table, b->by_table};
  if (options.json) {
    print("{}", base::write_json(json));
  } else {
    print("A         {}\nB         {}\n\n{}", a->title(), b->title(), table.text());
    if (a->groups.size() != b->groups.size()) {
      print("\nA has {} groups of layers, B has {}\n", a->groups.size(), b->groups.size());
    }
    if (a->context != b->context) print("\ncontext: A {}, B {}\n", a->context, b->context);
    for (const Side* side : {&*a, &*b}) {
      if (!side->by_table) print("\n{} computes something else than this table\n", side->title());
      for (const std::string& note : side->notes) print("  {}\n", wrap(note, 76, 2));
    }
    print("\n{}\n", equal ? "the same rotation" : "not the same rotation");
  }
  return equal ? 0 : 3;
}

}  // namespace

void add_diff(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("diff",
                                             "two files, configs or plans compared by their tables\n"
                                             "\n"
                                             "  mrrope diff config.json model.gguf\n"
                                             "  mrrope diff config.json@vllm plan.json\n");
  command->add_option("A", options->a, "FILE or FILE@ENGINE: a .gguf, config.json, folder or\nplan")->required();
  command->add_option("B", options->b, "the same")->required();
  command->add_option("--tolerance", options->tolerance, "relative difference that counts as equal (default 1e-6)")
      ->type_name("X")
      ->check(number_between(0.0, 1.0));
  command->add_flag("--json", options->json, "for programs");
  command->callback([options, &action] { action = [options] { return run_diff(*options); }; });
}

}  // namespace mrrope::cli
