// SPDX-License-Identifier: MIT
//
// mrrope analyze --attention: what the band's pairs add to attention scores, by distance (the paper's figure 6).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cli/chart.h"
#include "cli/commands.h"
#include "cli/eval/eval.h"
#include "cli/eval/session.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/attention.h"
#include "mrrope/mrrope.h"
#include "mrrope/perplexity.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

namespace {

using base::Json;

struct Options {
  EvalOptions eval;
  bool attention = false;
  bool csv = false;
  std::string limit = "128k";
  std::string tokens = "1k";
  std::vector<int> layers;
  eval::AttentionOptions sampling;
  int points = 200;
};

struct Curve {
  eval::PlanName plan;
  eval::AttentionCurve values;
};

// Evenly spread on a log scale, whole numbers, from 1 on.
std::vector<double> distances_up_to(double limit, int points) {
  std::vector<double> out;
  for (int i = 0; i < points; ++i) {
    const double d = std::round(std::pow(limit, static_cast<double>(i) / (points - 1)));
    if (out.empty() || d > out.back()) out.push_back(d);
  }
  return out;
}

// A quarter, half and three quarters up the layers that see the whole text.
std::vector<int> spread_layers(const RopeSpec& spec, int n_layer) {
  std::vector<int> all = spec.groups[0].layers;
  if (all.empty()) {
    all.resize(static_cast<std::size_t>(n_layer));
    std::iota(all.begin(), all.end(), 0);
  }
  std::vector<int> out;
  for (const std::size_t quarter : {1U, 2U, 3U}) out.push_back(all[quarter * all.size() / 4]);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void print_json(const Options& options, const eval::Document& text, const Band& pairs,
                std::span<const double> distances, std::span<const Curve> curves) {
  Json json{{"schema", "mrrope.attention/1"},
            {"model", options.eval.model},
            {"text", {{"name", text.name}, {"hash", text.hash}, {"tokens", text.tokens.size()}}},
            {"layers", options.layers},
            {"pairs", {{"first", pairs.low}, {"last", pairs.high}}},
            {"samples", options.sampling.samples},
            {"distances", distances}};
  for (const Curve& c : curves) {
    json["methods"].push_back({{"method", c.plan.method},
                               {"factor", c.plan.factor},
                               {"mean", c.values.mean},
                               {"deviation", c.values.deviation},
                               {"lower", c.values.lower},
                               {"upper", c.values.upper}});
  }
  print("{}", base::write_json(json));
}

void print_csv(std::span<const double> distances, std::span<const Curve> curves) {
  print("distance,method,mean,deviation,lower,upper\n");
  for (const Curve& c : curves) {
    for (std::size_t i = 0; i < distances.size(); ++i) {
      print("{},{},{},{},{},{}\n", format_number(distances[i]), c.plan.text(), format_number(c.values.mean[i]),
            format_number(c.values.deviation[i]), format_number(c.values.lower[i]), format_number(c.values.upper[i]));
    }
  }
}

void print_text(const Options& options, const Band& pairs, std::int64_t trained, std::span<const double> distances,
                std::span<const Curve> curves) {
  double low = 1e300;
  double high = -1e300;
  for (const Curve& c : curves) {
    low = std::min(low, *std::min_element(c.values.mean.begin(), c.values.mean.end()));
    high = std::max(high, *std::max_element(c.values.mean.begin(), c.values.mean.end()));
  }
  print("Mean contribution of pairs {} to {} to attention scores, {} pairs of query and key\n\n",
        static_cast<int>(pairs.low), static_cast<int>(pairs.high), options.sampling.samples);
  for (const Curve& c : curves) print("{:<24} {}\n", c.plan.text(), sparkline(c.values.mean, low, high, 54));
  print("{}\n\n", dim(fmt::format("{:<24} distance 1 .. {:.0f} (log); height {:.3g} .. {:.3g}", "", distances.back(),
                                  low, high)));
  std::vector<std::string> head = {"mean ± spread at distance"};
  std::vector<std::size_t> at;
  for (const double share : {0.05, 0.5, 1.0, 4.0, 16.0}) {
    const double wanted = share * static_cast<double>(trained);
    if (wanted > distances.back() * 1.001) break;
    at.push_back(static_cast<std::size_t>(std::lower_bound(distances.begin(), distances.end(), wanted * 0.999) -
                                          distances.begin()));
    head.push_back(fmt::format("{:.0f}", distances[at.back()]));
  }
  TextTable table(head, 1);
  for (const Curve& c : curves) {
    std::vector<std::string> row = {c.plan.text()};
    for (const std::size_t i : at)
      row.push_back(fmt::format("{:.2f} ± {:.2f}", c.values.mean[i], c.values.deviation[i]));
    table.add(row);
  }
  print("{}\nThe numbers: add --csv or --json. What is computed: docs/attention.md\n", table.text());
}

int run_attention(Options& options) {
  const Result<std::int64_t> limit = parse_context(options.limit);
  if (!limit || *limit < 16) return fail({ErrorCode::invalid_argument, "expected a distance such as 128k", "--limit"});
  const Result<std::int64_t> tokens = parse_context(options.tokens);
  if (!tokens || *tokens < 16 || *tokens > 65536) {
    return fail({ErrorCode::invalid_argument, "expected 16 to 64k tokens", "--tokens"});
  }
  const Result<std::vector<eval::Candidate>> candidates = candidates_of(options.eval);
  if (!candidates) return fail(candidates.error());
  const Result<ModelFile> file = open_model(options.eval.model, options.eval.trained);
  if (!file) return fail(file.error());
  const Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) return fail(spec.error());
  const Result<LlamaModel> model = LlamaModel::load(options.eval.model, options.eval.load);
  if (!model) return fail(model.error());
  const Result<std::vector<eval::Document>> texts = eval::load_documents(*model, options.eval.texts, *tokens);
  if (!texts) return fail(texts.error());
  const eval::Document& text = texts->front();
  options.eval.context.ctx_size = std::ssize(text.tokens);
  Result<LlamaContext> context = LlamaContext::create(*model, options.eval.context);
  if (!context) return fail(context.error());
  if (options.layers.empty()) options.layers = spread_layers(*spec, model->n_layer());
  const Result<std::vector<LayerVectors>> vectors = context->read_vectors(text.tokens, options.layers);
  if (!vectors) return fail(vectors.error());

  const Band whole = band(spectrum_of(*spec, 0));
  const int pairs = spec->groups[0].rotary_dim / 2;
  const int first = std::clamp(static_cast<int>(whole.low), 0, pairs - 1);
  const int last = std::clamp(static_cast<int>(whole.high), first, pairs - 1);
  for (const LayerVectors& layer : *vectors) {
    if (layer.pairs != pairs)
      return fail({ErrorCode::unsupported, "these layers keep a table of their own", "--layers"});
  }
  const std::vector<double> distances = distances_up_to(static_cast<double>(*limit), options.points);
  std::vector<Curve> curves;
  for (const eval::Candidate& candidate : *candidates) {
    if (candidate.climb) {
      return fail({ErrorCode::unsupported, "a text that climbs has a table for each length; name the method alone",
                   "--methods " + candidate.method});
    }
    const Result<Plan> plan =
        candidate.plan ? Result<Plan>(*candidate.plan) : make_plan(*spec, spec->context_trained, None{});
    if (!plan) return fail(plan.error());
    curves.push_back(
        {{candidate.method, candidate.factor},
         eval::attention_by_distance(*vectors, plan->groups[0], first, last, distances, options.sampling)});
  }
  const Band shown{.low = static_cast<double>(first), .high = static_cast<double>(last)};
  if (options.eval.json) print_json(options, text, shown, distances, curves);
  else if (options.csv) print_csv(distances, curves);
  else print_text(options, shown, spec->context_trained, distances, curves);
  return 0;
}

}  // namespace

void add_attention(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  EvalOptions& eval = options->eval;
  CLI::App& command =
      *program.add_subcommand("analyze",
                              "what the pairs of the band add to attention scores\n"
                              "\n"
                              "  mrrope analyze --attention -m model.gguf -f text.txt --factor 4\n"
                              "  mrrope analyze --attention -m model.gguf -f text.txt --factor 4 --csv\n");
  command.add_flag("--attention", options->attention, "what the band's pairs add to attention scores");
  command.add_option("-m,--model", eval.model, "a .gguf; it is not changed")->required()->type_name("FILE");
  command.add_option("-f,--file", eval.texts, "a text; its first tokens are run once")->required()->type_name("TEXT");
  add_plan_options(command, eval, true);
  command.add_option("--layers", options->layers, "which (a quarter, half and three quarters up)")
      ->delimiter(',')
      ->type_name("LIST");
  command.add_option("--limit", options->limit, "largest distance (128k); nothing that long is run")->type_name("N");
  command.add_option("--tokens", options->tokens, "of the text (1k)")->type_name("N");
  command.add_option("--samples", options->sampling.samples, "pairs of a query and a key (2000)")
      ->check(CLI::Range(10, 1000000))
      ->type_name("N");
  command.add_option("--seed", options->sampling.seed, "that chooses them (42)")->type_name("N");
  auto* json = command.add_flag("--json", eval.json, "for programs");
  command.add_flag("--csv", options->csv, "for spreadsheets and plots")->excludes(json);
  add_llama_options(command, eval);
  command.callback([options, &action] { action = [options] { return run_attention(*options); }; });
}

}  // namespace mrrope::cli
