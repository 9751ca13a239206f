// SPDX-License-Identifier: MIT
//
// mrrope plan: the recommended (or a chosen) plan, why, and the other methods beside it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

#include "base/paths.h"
#include "base/text.h"
#include "cli/chart.h"
#include "cli/climb_plan.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/known.h"
#include "cli/memory.h"
#include "cli/next.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/tune_space.h"

namespace mrrope::cli {

namespace {

struct Options {
  ModelOptions model;
  std::string method;
  std::string length;
  std::string engine;
  bool json = false;
  bool csv = false;
};

std::string bullet() { return terminal().unicode ? " · " : ", "; }

// `outlook`: what the engine makes of the plan.
void print_head(const Plan& plan, bool chosen, const Outlook& outlook) {
  const LayerGroup& group = plan.spec.groups[0];
  std::string model = plan.spec.name.empty() ? "" : plan.spec.name + bullet();
  model += fmt::format("{} pairs{}base {}{}trained for {} tokens", group.rotary_dim / 2, bullet(),
                       format_number(group.base), bullet(), plan.spec.context_trained);
  print_fact("model", model);
  print_fact("target", fmt::format("{} tokens{}factor {:.6g}", plan.context_target, bullet(), plan.factor));
  const GroupPlan& table = plan.groups[0];
  const double a = table.attention_scale;
  std::string line = brief(plan.method) + (chosen ? "" : " (recommended)");
  if (outlook.choice && outlook.choice->plan.method != plan.method)
    line += fmt::format("; extend writes {}", brief(outlook.choice->plan.method));
  line += a == 1 ? bullet() + "attention scale 1"
                 : fmt::format("{}attention scale {:.4f} (logits x {:.4f})", bullet(), a, a * a);
  print_fact("plan", line);
  print_fact("", describe(table.radix));
  if (plan.length) print_fact("", fmt::format("the table for a text of {} tokens", *plan.length));
}

void print_explanation(const Plan& plan) {
  const Explanation why = explain(plan);
  std::string_view label = "why";
  for (const std::string& reason : why.reasons) {
    print_fact(label, reason);
    label = "";
  }
  label = "caution";
  for (const std::string& caution : why.cautions) {
    print_fact(label, caution);
    label = "";
  }
}

// How sure we are.
void print_known(const Plan& plan, const Known& known, bool chosen) {
  if (!known.trouble.empty()) print_fact("note", known.trouble);
  if (!known.folder.empty()) {
    print_fact("measured", fmt::format("According to {}/tune.json, mrrope tune measured this very model. {}",
                                       known.folder, known.sentence));
  } else if (const std::string measured = explain(plan).measured; !measured.empty()) {
    print_fact("known",
               measured + (chosen ? "" : " Yours may differ: mrrope tune measures it, and finds its own plan."));
  }
}

// What the engine makes of the plan, where that is another thing.
void print_outlook(const Model& model, const Outlook& outlook) {
  if (!outlook.trouble.empty()) print_fact("engine", outlook.trouble);
  if (!outlook.choice || outlook.choice->why.empty()) return;
  print_fact("engine", explain_choice(*model.file, *outlook.choice));
}

// "fast: pair 0 … low 20 … high 46 … slow: pair 63" under the columns of a chart.
std::string pair_axis(const GroupPlan& group, std::size_t width) {
  const std::size_t n = group.pair_factors.size();
  const std::size_t shown = std::min(n, width);
  std::string axis(shown, ' ');
  const auto put = [&](double pair, const std::string& text) {
    const double share = pair / static_cast<double>(n);
    auto at = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(shown));
    if (text.size() > shown) return;
    at = std::min(at, shown - text.size());
    const std::size_t from = at == 0 ? 0 : at - 1;  // keep a space on both sides
    if (axis.find_first_not_of(' ', from) < at + text.size() + 1) return;
    axis.replace(at, text.size(), text);
  };
  put(0, "0");
  put(static_cast<double>(n) - 1, fmt::format("{}", n - 1));
  put(group.band.low, fmt::format("low {:.4g}", group.band.low));
  put(group.band.high, fmt::format("high {:.4g}", group.band.high));
  return axis;
}

void print_charts(const Plan& plan) {
  const GroupPlan& group = plan.groups[0];
  std::vector<double> finite;
  std::copy_if(group.pair_factors.begin(), group.pair_factors.end(), std::back_inserter(finite),
               [](double s) { return s < kNoRotation; });
  const double top = finite.empty() ? 1 : *std::max_element(finite.begin(), finite.end());
  if (group.radix.kind == Conversion::Kind::none || top <= 1) return;
  const std::string axis = pair_axis(group, 64);
  print("\n{}  how much each pair is slowed down (log scale; fast pairs left)\n{}", bold("s_i"),
        draw({.values = group.pair_factors, .min = 1, .max = top, .log_scale = true, .axis = axis}));
  if (group.radix.kind == Conversion::Kind::not_a_conversion || group.lambda.empty()) return;
  const double steepest = std::max(group.radix.edge_last, std::max(group.radix.lambda_first, group.radix.lambda_last));
  print("\n{}  growth of each digit's radix\n{}", bold("lambda_i"),
        draw({.values = group.lambda,
              .min = 1,
              .max = std::max({steepest, group.radix.edge_first, 1.0001}),
              .height = 3,
              .axis = axis}));
}

void print_comparison(const Plan& plan) {
  TextTable table({"method", "kind", "s mid", "s last", "scale", "unseen", "short drift"}, 2);
  const GroupPlan& chosen = plan.groups[0];
  const auto last = chosen.pair_factors.size() - 1;
  const auto middle =
      std::min<std::size_t>(last, static_cast<std::size_t>(std::lround((chosen.band.low + chosen.band.high) / 2)));
  std::vector<Method> methods = comparable_methods();
  if (std::find(methods.begin(), methods.end(), plan.method) == methods.end()) methods.push_back(plan.method);
  for (const Method& method : methods) {
    const bool here = method == plan.method;
    const Result<Plan> made = make_plan(plan.spec, plan.context_target, method, plan.length);
    if (!made) continue;  // the checks of the chosen plan have passed; only it can be unusual
    const GroupPlan& group = made->groups[0];
    const Exposure e = exposure(*made);
    const auto number = [](double s) { return s >= kNoRotation ? std::string("still") : fmt::format("{:.2f}", s); };
    table.add({short_name(method), short_kind(group.radix.kind), number(group.pair_factors[middle]),
               number(group.pair_factors[last]), fmt::format("{:.3f}", group.attention_scale),
               e.unseen_pairs == 0 ? "-" : fmt::format("{} x{:.3g}", e.unseen_pairs, e.unseen_ratio),
               fmt::format("{:.3g}", e.short_drift_turns)},
              here);
  }
  print("\n{}", table.text());
  print("{}\n",
        dim(fmt::format("  s mid: pair {}; unseen: pairs with new angles, and how far beyond training;", middle)));
  print("{}\n", dim("  short drift: turns that phases move from training within the trained length"));
}

bool same_choice(const Plan& a, const Plan& b) {
  return a.method == b.method && a.context_target == b.context_target && a.length == b.length;
}

// The command that keeps a plan which has no model file yet, or uses it if a file holds it already; nothing for a plan
// that came through a pipe.
std::string keep_command(const Options& options, const Model& model, const Plan& plan) {
  const std::string& file = options.model.file;
  if (file == "-") return "";
  if (model.plan && same_choice(*model.plan, plan)) return "mrrope extend MODEL --plan " + base::shell_quoted(file);
  std::string command = "mrrope plan ";
  command += options.model.spec.empty() ? base::shell_quoted(file) : "--spec " + base::shell_quoted(options.model.spec);
  command += " -c " + format_context(plan.context_target);
  if (!options.model.trained.empty()) command += " --trained " + base::shell_quoted(options.model.trained);
  if (!options.method.empty()) command += " --method " + base::shell_quoted(options.method);
  if (!options.length.empty()) command += " --length " + base::shell_quoted(options.length);
  // A shell empties the file it redirects to before anything is read
  const bool own_name = base::to_path(file).filename() == "plan.json";
  return command + " --json > " + (own_name ? fmt::format("plan-{}.json", plan.context_target) : "plan.json");
}

std::vector<Step> steps_for(const Options& options, const Model& model, const Plan& plan, const Known& known,
                            const Outlook& outlook) {
  if (!known.folder.empty() && options.method.empty()) {
    return {{"next", fmt::format("mrrope extend {} --plan {} -o {}", base::shell_quoted(options.model.file),
                                 base::shell_quoted(known.folder),
                                 base::shell_quoted(output_name(*model.file, plan.context_target)))}};
  }
  if (model.file && options.length.empty()) return outlook.steps;
  const std::string keep = keep_command(options, model, plan);
  if (keep.empty()) return {};
  return {{"next", keep}};
}

// Never wrapped: they are there to be copied.
void print_steps(const std::vector<Step>& steps, const std::string& better) {
  if (steps.empty()) return;
  print("\n");
  for (const Step& step : steps) print("{}{}\n", fact_label(step.label), step.command);
  if (!better.empty()) print("{}{}\n", fact_label("better"), better);
}

// A search of what llama.cpp can be told about this model; nothing where that is nothing.
std::string tune_command(const ModelFile& file, const ModelOptions& options, const Plan& plan) {
  const Result<tune::SpaceOptions> space = space_for("llama.cpp", file, plan.spec, plan.context_target);
  if (!space) return "";
  return fmt::format("mrrope tune {} -c {}{}{}", base::shell_quoted(options.file), format_context(plan.context_target),
                     options.trained.empty() ? "" : " --trained " + base::shell_quoted(options.trained),
                     space->family == tune::Family::any_table ? "" : " --target llama.cpp");
}

void print_csv(const Plan& plan) {
  const GroupPlan& group = plan.groups[0];
  const Spectrum learned = spectrum_of(plan.spec, 0);
  print("pair,trained_wavelength,turns,pair_factor,inv_freq,lambda\n");
  for (std::size_t i = 0; i < group.pair_factors.size(); ++i) {
    const int pair = static_cast<int>(i);
    print("{},{},{},{},{},{}\n", i, format_number(wavelength(learned, pair)), format_number(turns(learned, pair)),
          format_number(group.pair_factors[i]), format_number(group.inv_freq[i]),
          i < group.lambda.size() ? format_number(group.lambda[i]) : "");
  }
}

int run_plan(const Options& options) {
  // What to plan
  const Result<Model> model = load_model(options.model);
  if (!model) return fail(model.error());
  if (names_climb(options.method)) {
    if (options.csv || !options.length.empty() || !options.engine.empty()) {
      return fail({ErrorCode::invalid_argument, "takes no --csv, --length or --target", "--method climb"});
    }
    return print_climb(options.model, *model, options.method, options.json);
  }
  std::optional<Method> method;
  if (!options.method.empty()) {
    const Result<Method> parsed = parse_method(options.method);
    if (!parsed) return fail({parsed.error().code, to_string(parsed.error()), "--method"});
    method = *parsed;
  } else if (model->plan) {
    method = model->plan->method;
  }
  std::optional<std::int64_t> length;
  if (!options.length.empty()) {
    const Result<std::int64_t> tokens = parse_context(options.length);
    if (!tokens) return fail({tokens.error().code, tokens.error().message, "--length"});
    length = *tokens;
  } else if (model->plan) {
    length = model->plan->length;
  }

  // The plan; for one engine, what that runs
  Result<Plan> plan = method        ? make_plan(model->spec, model->context_target, *method, length)
                      : model->file ? recommend(*model->file, model->context_target)
                                    : recommend(model->spec, model->context_target);
  if (!plan) return fail({plan.error().code, to_string(plan.error()), method ? "--method" : "-c"});
  plan->source = model->source;
  if (!options.engine.empty() && !model->file) {
    return fail(
        {ErrorCode::invalid_argument, "asks what an engine makes of a model file, and none is named", "--target"});
  }
  Outlook outlook;
  if (model->file) {
    outlook = outlook_of(*model->file, *plan,
                         {.file = options.model.file,
                          .trained = options.model.trained,
                          .method = options.method,
                          .engine = options.engine});
  }
  if (!options.engine.empty() && plan->factor > 1) {
    if (!outlook.choice) {
      return fail({ErrorCode::unsupported, outlook.trouble, "--target"},
                  outlook.steps.empty() ? "" : outlook.steps.front().command);
    }
    plan = outlook.choice->plan;
  }

  if (options.json) {
    print("{}", to_json(*plan));
  } else if (options.csv) {
    print_csv(*plan);
  } else {
    print_head(*plan, method.has_value(), outlook);
    if (model->extended) print_fact("note", "mrrope extended this model before; the plan starts from what was trained");
    if (model->file) {
      const double bytes = cache_bytes(*model->file, plan->context_target);
      if (bytes > 0) print_fact("memory", cache_sentence(bytes, plan->context_target));
    }
    // Where only windows rotate, or nothing does, no table is to be explained
    const bool length_alone = outlook.choice ? outlook.choice->as_wanted() && !outlook.choice->why.empty()
                                             : model->file && rotation_in_llama_cpp(*model->file) == Rotation::none;
    if (!length_alone) print_explanation(*plan);
    // Only llama.cpp's files can be measured from here
    const GgufModel* gguf = model->file ? model->file->gguf() : nullptr;
    const Known known = gguf != nullptr ? known_about(*gguf, model->context_target) : Known{};
    print_outlook(*model, outlook);
    print_known(*plan, known, method.has_value() || length_alone);
    print_charts(*plan);
    print_comparison(*plan);
    const bool untuned = gguf != nullptr && plan->factor > 1 && known.folder.empty() && !method && !length_alone;
    print_steps(steps_for(options, *model, *plan, known, outlook),
                untuned ? tune_command(*model->file, options.model, *plan) : "");
  }
  return 0;
}

}  // namespace

void add_plan(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("plan",
                                             "how to reach a longer context: the plan, why, and the alternatives\n"
                                             "\n"
                                             "  mrrope plan Llama-3.1-8B.gguf -c 256k\n"
                                             "  mrrope plan --spec dim=128,base=10000,ctx=4096 -c 64k\n"
                                             "  mrrope plan --spec dim=128,base=5e5,ctx=8k -c 32k --json > plan.json\n"
                                             "  mrrope plan plan.json\n");
  add_model_options(*command, options->model);
  command
      ->add_option(
          "--method", options->method,
          "NAME[:key=value]...[+MODIFIER]..., see mrrope methods;\nclimb:METHOD: a table that grows with the text\n"
          "(default: the recommended one)")
      ->type_name("METHOD");
  command
      ->add_option("--length", options->length,
                   "for methods with a table per length: the text's length\n(default: the target)")
      ->type_name("N");
  command
      ->add_option("--target", options->engine,
                   "the plan that one engine runs, such as vllm\n(docs/engines.md; default: the best one)")
      ->type_name("ENGINE");
  auto* json = command->add_flag("--json", options->json, "the plan file");
  command->add_flag("--csv", options->csv, "one line per pair")->excludes(json);
  command->callback([options, &action] { action = [options] { return run_plan(*options); }; });
}

}  // namespace mrrope::cli
