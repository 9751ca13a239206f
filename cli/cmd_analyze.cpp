// SPDX-License-Identifier: MIT
//
// mrrope analyze: methods side by side by the theory, and the data of the paper's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "base/json.h"
#include "cli/chart.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

using base::Json;

struct Options {
  ModelOptions model;
  std::string methods;
  std::string figure;
  std::string limit = "1M";
  std::vector<double> bases;
  std::size_t points = 512;
  bool json = false;
  bool csv = false;
};

struct Row {
  Plan plan;
  BoundZeros zeros;
};

std::string zero_text(const std::optional<std::int64_t>& zero) { return zero ? std::to_string(*zero) : "none"; }

Json zero_json(const std::optional<std::int64_t>& zero) { return zero ? Json(*zero) : Json(nullptr); }

Json to_json(const Row& row) {
  const GroupPlan& group = row.plan.groups[0];
  const Exposure e = exposure(row.plan);
  Json json;
  json["name"] = spell(row.plan.method);
  json["kind"] = to_string(group.radix.kind);
  json["band"] = {{"low", group.band.low}, {"high", group.band.high}};
  json["attention_scale"] = group.attention_scale;
  json["bound"] = {{"first_zero", zero_json(row.zeros.first_zero)},
                   {"band_first_zero", zero_json(row.zeros.band_first_zero)},
                   {"smoothed_first_zero", zero_json(row.zeros.smoothed_first_zero)}};
  json["unseen"] = {{"pairs", e.unseen_pairs}, {"largest_ratio", e.unseen_ratio}};
  json["short_drift"] = {{"turns", e.short_drift_turns}, {"pair", e.short_drift_pair}};
  json["radix"] = {{"edge_first", group.radix.edge_first},
                   {"lambda_first", group.radix.lambda_first},
                   {"lambda_last", group.radix.lambda_last},
                   {"edge_last", group.radix.edge_last},
                   {"range", range(row.plan.spec.groups[0].base, group.pair_factors)}};
  json["pair_factors"] = group.pair_factors;
  return json;
}

Json to_json(const Figure& figure) {
  Json json{{"name", figure.name}, {"caption", figure.caption}, {"x_label", figure.x_label}, {"x", figure.x}};
  for (const Series& series : figure.series) json["series"].push_back({{"name", series.name}, {"y", series.y}});
  return json;
}

void print_csv(const Figure& figure) {
  print("{}", figure.x_label);
  for (const Series& series : figure.series) print(",{}", series.name);
  print("\n");
  for (std::size_t i = 0; i < figure.x.size(); ++i) {
    print("{}", format_number(figure.x[i]));
    for (const Series& series : figure.series) print(",{}", format_number(series.y[i]));
    print("\n");
  }
}

void print_csv(const std::vector<Row>& rows) {
  print(
      "method,kind,attention_scale,first_zero,band_first_zero,smoothed_first_zero,unseen_pairs,unseen_ratio,"
      "short_drift_turns\n");
  for (const Row& row : rows) {
    const auto zero = [](const std::optional<std::int64_t>& z) { return z ? std::to_string(*z) : std::string(); };
    const GroupPlan& group = row.plan.groups[0];
    const Exposure e = exposure(row.plan);
    print("{},{},{},{},{},{},{},{},{}\n", spell(row.plan.method), to_string(group.radix.kind),
          format_number(group.attention_scale), zero(row.zeros.first_zero), zero(row.zeros.band_first_zero),
          zero(row.zeros.smoothed_first_zero), e.unseen_pairs, format_number(e.unseen_ratio),
          format_number(e.short_drift_turns));
  }
}

// One line per series on a common scale. Factors are drawn on a log scale, everything else as it is.
void print_figure(const Figure& figure) {
  const bool log_scale = figure.name == "scale";
  double low = log_scale ? 0 : 1e300;
  double high = -1e300;
  std::vector<std::vector<double>> drawn;
  for (const Series& series : figure.series) {
    std::vector<double> y;
    for (const double v : series.y) y.push_back(log_scale ? std::log(v) : v);
    for (const double v : y) {
      if (log_scale && v > std::log(kMaxFactor)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
    drawn.push_back(std::move(y));
  }
  if (figure.name == "bound") low = 0;  // blank = at or below zero, which is the point of the picture
  print("{}\n\n", wrap(figure.caption, 80, 0));
  for (std::size_t s = 0; s < drawn.size(); ++s) {
    std::string name = figure.series[s].name;
    if (name.size() > 24) name = name.substr(0, 21) + "...";
    print("{:<24} {}\n", name, sparkline(drawn[s], low, high, 54));
  }
  print("{}\n", dim(fmt::format("{:<24} {} {} .. {}; height {:.4g} .. {:.4g}{}", "", figure.x_label,
                                format_number(figure.x.front()), format_number(figure.x.back()),
                                log_scale ? std::exp(low) : low, log_scale ? std::exp(high) : high,
                                log_scale ? " (log)" : "")));
  print("\nThe numbers: add --csv or --json.\n");
}

void print_rows(const std::vector<Row>& rows, const Model& model, std::int64_t limit) {
  const LayerGroup& group = model.spec.groups[0];
  print("{} pairs, base {}, trained for {} tokens; target {}, factor {:.6g}\n\n", group.rotary_dim / 2,
        format_number(group.base), model.spec.context_trained, model.context_target, rows[0].plan.factor);
  TextTable table({"method", "kind", "B zero", "band zero", "smoothed", "unseen", "short drift"}, 2);
  for (const Row& row : rows) {
    const Exposure e = exposure(row.plan);
    table.add({short_name(row.plan.method), short_kind(row.plan.groups[0].radix.kind), zero_text(row.zeros.first_zero),
               zero_text(row.zeros.band_first_zero), zero_text(row.zeros.smoothed_first_zero),
               e.unseen_pairs == 0 ? "-" : std::to_string(e.unseen_pairs), fmt::format("{:.3g}", e.short_drift_turns)});
  }
  print("{}", table.text());
  print("{}\n",
        dim(wrap(fmt::format("B(m) = sum cos(m theta_i): first distance up to {} where it is <= 0; of the band's "
                             "pairs only; of its mean over 512 distances (the trend).",
                             limit),
                 80, 0)));
  print("\nFigures: --figure scale|bound|position|decay, with --csv or --json for the data.\n");
}

Result<std::vector<Row>> analyse(const Options& options, const Model& model, std::int64_t limit) {
  std::vector<Method> methods = comparable_methods();
  if (!options.methods.empty()) {
    Result<std::vector<Method>> given = parse_methods(options.methods);
    if (!given) return given.error();
    methods = *std::move(given);
  } else if (model.plan && std::find(methods.begin(), methods.end(), model.plan->method) == methods.end()) {
    methods.push_back(model.plan->method);
  }
  std::vector<Row> rows;
  for (const Method& method : methods) {
    Result<Plan> plan = make_plan(model.spec, model.context_target, method);
    if (!plan) return Error{plan.error().code, to_string(plan.error()), "--methods"};
    rows.push_back({*std::move(plan), {}});
  }
  // The band of the picture is the model's, the same for every method, as in the paper's figure 5b
  const Band band_pairs = band(spectrum_of(model.spec, 0));
  if (options.figure.empty()) {
    for (Row& row : rows) row.zeros = bound_zeros(row.plan.groups[0].inv_freq, band_pairs, limit);
  }
  return rows;
}

Figure make_figure(const Options& options, const Model& model, const std::vector<Row>& rows) {
  std::vector<Plan> plans;
  plans.reserve(rows.size());
  for (const Row& row : rows) plans.push_back(row.plan);
  if (options.figure == "scale") return scale_figure(plans);
  if (options.figure == "bound") return bound_figure(plans, options.points);
  if (options.figure == "decay") return decay_figure(plans, options.points);
  std::vector<double> bases = options.bases;
  if (bases.empty()) {
    bases = {100, 1000, 10000, 100000, 1000000, model.spec.groups[0].base};
    std::sort(bases.begin(), bases.end());
    bases.erase(std::unique(bases.begin(), bases.end()), bases.end());
  }
  return position_figure(model.spec, model.context_target, bases, options.points);
}

int run_analyze(const Options& options) {
  const Result<Model> model = load_model(options.model);
  if (!model) return fail(model.error());
  const Result<std::int64_t> limit = parse_context(options.limit);
  if (!limit || *limit > (std::int64_t{1} << 26)) {
    return fail(
        {ErrorCode::invalid_argument, "expected a distance up to 64M, found \"" + options.limit + "\"", "--limit"});
  }
  const Result<std::vector<Row>> rows = analyse(options, *model, *limit);
  if (!rows) return fail(rows.error());

  std::optional<Figure> figure;
  if (!options.figure.empty()) figure = make_figure(options, *model, *rows);
  if (options.json) {
    Json json{{"schema", "mrrope.analysis/1"}};
    const LayerGroup& group = model->spec.groups[0];
    json["spec"] = {
        {"rotary_dim", group.rotary_dim}, {"base", group.base}, {"context_trained", model->spec.context_trained}};
    json["context_target"] = model->context_target;
    json["factor"] = (*rows)[0].plan.factor;
    if (figure) {
      json["figure"] = to_json(*figure);
    } else {
      json["bound_limit"] = *limit;
      for (const Row& row : *rows) json["methods"].push_back(to_json(row));
    }
    print("{}", base::write_json(json));
  } else if (options.csv) {
    figure ? print_csv(*figure) : print_csv(*rows);
  } else {
    figure ? print_figure(*figure) : print_rows(*rows, *model, *limit);
  }
  return 0;
}

}  // namespace

void add_analyze(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("analyze",
                             "what the theory says of each method, and the paper's figures\n"
                             "\n"
                             "  mrrope analyze --spec dim=128,base=10000,ctx=4096 -c 64k\n"
                             "  mrrope analyze --spec dim=128,base=10000,ctx=4096 -c 64k --figure bound --csv\n"
                             "  mrrope analyze --attention -m model.gguf -f text.txt --factor 4\n");
  add_model_options(*command, options->model);
  command
      ->add_option("--methods", options->methods, "which, separated by commas\n(default: all that need no parameters)")
      ->type_name("LIST");
  command->add_option("--figure", options->figure, "scale (the paper's figure 3), bound (5), position (2)\nor decay")
      ->type_name("NAME")
      ->check(CLI::IsMember({"scale", "bound", "position", "decay"}));
  command->add_option("--limit", options->limit, "largest distance scanned for zeros of B (default 1M)")
      ->type_name("N");
  command->add_option("--bases", options->bases, "bases of the position figure, separated by commas")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(number_between(1.0001, 1e15));
  command->add_option("--points", options->points, "points per curve (default 512)")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 20));
  auto* json = command->add_flag("--json", options->json, "for programs");
  command->add_flag("--csv", options->csv, "for spreadsheets and plots")->excludes(json);
  command->callback([options, &action] { action = [options] { return run_analyze(*options); }; });
}

}  // namespace mrrope::cli
