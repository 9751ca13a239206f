// SPDX-License-Identifier: MIT
//
// mrrope inspect: what a model is, how it rotates, what it can carry. Reads headers only.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/next.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

namespace {

using base::Json;

struct Options {
  std::vector<std::string> files;
  bool json = false;
};

constexpr std::array<int, 4> kTimes = {1, 2, 4, 8};  // the lengths that memory is told for

std::string count_text(double count) {
  for (const auto& [scale, suffix] : {std::pair{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}}) {
    if (count >= scale) return fmt::format("{:.3g}{}", count / scale, suffix);
  }
  return fmt::format("{:.0f}", count);
}

std::string bullet() { return terminal().unicode ? " · " : ", "; }

void fact(std::string_view label, const std::string& text) {
  if (!text.empty()) print("{}{}\n", bold(fmt::format("{:<18}", label)), wrap(text, 62, 18));
}

// "llama · 135M · 30 layers · 9 heads, 3 for keys · head 64"
std::string shape_text(const ModelFacts& f) {
  std::string text = f.architecture;
  if (f.parameters > 0) text += bullet() + count_text(static_cast<double>(f.parameters)) + " parameters";
  if (f.layers > 0) text += bullet() + fmt::format("{} layers", f.layers);
  if (f.heads > 0) {
    text += bullet() + fmt::format("{} heads", f.heads);
    if (f.kv_heads > 0 && f.kv_heads != f.heads) text += fmt::format(", {} for keys", f.kv_heads);
  }
  if (f.head_dim > 0) text += bullet() + fmt::format("head {}", f.head_dim);
  return text;
}

std::string rope_text(const RopeSpec& spec, std::size_t index) {
  const LayerGroup& g = spec.groups[index];
  std::string text = fmt::format("base {}{}{} pairs", format_number(g.base), bullet(), g.rotary_dim / 2);
  if (g.trained) {
    std::string method = spell(g.trained->method);
    const Law& law = g.trained->method.law;
    if (std::holds_alternative<LongRope>(law) || std::holds_alternative<Custom>(law)) {
      method = method.substr(0, method.find(':')) + " (a list)";
    }
    text += fmt::format("{}trained with {}, factor {:.4g}", bullet(), method, g.trained->factor);
    // A GGUF with nothing but factors does not say what they extended
    if (g.trained->context_original < spec.context_trained)
      text += fmt::format(" from {}", g.trained->context_original);
  } else {
    text += bullet() + std::string("no scaling");
  }
  if (!g.extended) text += bullet() + std::string("keeps its table");
  return text;
}

// The first Qwen 3 files declare 40960 tokens (model cards: "32,768 natively", and 8192 for the answer).
constexpr std::int64_t kQwen3Declared = 40960;
constexpr std::int64_t kQwen3Trained = 32768;

bool holds_room_for_an_answer(const ModelFacts& facts, const RopeSpec& spec) {
  return facts.architecture.rfind("qwen3", 0) == 0 && spec.context_trained == kQwen3Declared;
}

std::string turns_text(const Spectrum& s) {
  int complete = 0;
  for (int i = 0; i < s.pairs(); ++i) complete += turns(s, i) >= 1 ? 1 : 0;
  return fmt::format(
      "{:.4g} (fastest pair) to {:.3g}; {} of {} pairs see all angles in training, the others meet new "
      "ones beyond",
      turns(s, 0), turns(s, s.pairs() - 1), complete, s.pairs());
}

// What of base, linear and YaRN llama.cpp would take from keys: what extend would write, asked of the same code.
std::string by_keys(const ModelFile& model, const RopeSpec& spec) {
  std::vector<std::string_view> able;
  const std::vector<std::pair<std::string_view, Method>> ways = {
      {"base", {Ntk{}}}, {"linear", {Linear{}}}, {"YaRN", {Yarn{}}}};
  for (const auto& [name, method] : ways) {
    const Result<Plan> probe = make_plan(spec, spec.context_trained * 4, method);
    if (probe && deliver("llama.cpp", *probe, model)) able.push_back(name);
  }
  return able.empty() ? "" : base::join(able) + " by keys";
}

std::string carry_text(const ModelFile& model, const RopeSpec& spec) {
  if (model.gguf() == nullptr) return "any table, as rope_type longrope; engines differ: mrrope doctor";
  const Result<Plan> probe = make_plan(spec, spec.context_trained * 4, MrRopePro{});
  if (!probe) return "";
  const Result<Delivery> table = deliver("llama.cpp", *probe, model);
  if (table) return "any table: a factor tensor and attn_factor (llama.cpp)";
  const Rotation rotation = rotation_in_llama_cpp(model);
  if (rotation == Rotation::unknown) return "nothing: " + table.error().message;
  if (rotation == Rotation::none) return "nothing: no layer rotates in llama.cpp, so no table limits its length";
  const std::string keys = by_keys(model, spec);
  if (deliver("llama.cpp", *probe, model, {.relabel = true})) {
    return fmt::format("{}any table with extend --relabel (llama.cpp)", keys.empty() ? "" : keys + "; ");
  }
  if (!keys.empty()) return keys + "; no factor tensor (llama.cpp)";
  const Result<Choice> choice = choose(model, *probe);
  if (choice) return choice->words + " by keys; no factor tensor (llama.cpp)";
  return fmt::format("nothing: {}. The plug-in runs any table (docs/plugin.md)", table.error().message);
}

void print_cache(const ModelFile& model, std::int64_t context) {
  if (cache_text(model, context).empty()) return;
  const double per_token = kv_cache(model, context).bytes_per_token;
  fact("KV cache", per_token > 0 ? size_text(per_token) + " per token (f16, one sequence)" : "in f16, one sequence");
  std::string lengths;
  for (const int times : kTimes) {
    if (!lengths.empty()) lengths += bullet();
    lengths += format_context(context * times) + " " + cache_text(model, context * times);
  }
  fact("", lengths);
  for (const std::string& remark : cache_remarks(model, context * kTimes.back())) fact("", remark);
}

// How far a file reaches that mrrope extended.
std::optional<std::int64_t> extended_context(const ModelFile& model, const std::optional<Effective>& now) {
  if (!was_extended(model)) return std::nullopt;
  if (now) return now->context;
  const HfConfig* config = model.hf();
  const Result<RopeSpec> own = config != nullptr ? config->rope_spec() : rope_spec(model);
  if (!own) return std::nullopt;
  return own->context_trained;
}

std::string extended_text(const ModelFile& model, std::int64_t context) {
  const std::optional<Plan> plan = stored_plan(model);
  return fmt::format("by mrrope{} to {} tokens{}; mrrope extend --undo takes it back",
                     model.sidecar ? ", with a sidecar," : "", context, plan ? ", " + brief(plan->method) : "");
}

Json to_json(const ModelFile& model, const RopeSpec& spec, const ModelFacts& f, const std::optional<Effective>& now) {
  Json json{{"schema", "mrrope.inspect/1"}, {"path", model.path}, {"format", model.gguf() != nullptr ? "gguf" : "hf"}};
  const auto known = [](const auto& value) { return value == std::decay_t<decltype(value)>{} ? Json() : Json(value); };
  json["name"] = known(f.name);
  json["architecture"] = known(f.architecture);
  json["quantization"] = known(f.quantization);
  json["parameters"] = known(f.parameters);
  json["bytes"] = known(f.bytes);
  json["layers"] = known(f.layers);
  json["heads"] = known(f.heads);
  json["kv_heads"] = known(f.kv_heads);
  json["head_dim"] = known(f.head_dim);
  json["context_trained"] = spec.context_trained;
  const std::optional<std::int64_t> extended = extended_context(model, now);
  if (extended) json["context_extended"] = *extended;
  if (const std::optional<Plan> plan = stored_plan(model)) json["method_extended"] = spell(plan->method);
  if (model.sidecar) json["sidecar"] = model.sidecar->shard;
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const LayerGroup& group = spec.groups[g];
    const Table own = trained_table(spec, g);
    json["groups"].push_back({{"name", group.name},
                              {"rotary_dim", group.rotary_dim},
                              {"base", group.base},
                              {"extended", extended && group.extended},
                              {"keeps_table", !group.extended},
                              {"trained_factors", own.pair_factors},
                              {"attention_scale", own.attention_scale}});
  }
  json["kv_bytes_per_token_f16"] = kv_cache(model, spec.context_trained).bytes_per_token;
  for (const int times : kTimes) {
    const KvCache cache = kv_cache(model, spec.context_trained * times);
    json["kv_cache_f16"].push_back({{"tokens", spec.context_trained * times},
                                    {"bytes", bytes_json(cache.bytes)},
                                    {"recurrent_bytes", bytes_json(cache.recurrent_bytes)}});
  }
  if (now) {
    Json engine{{"name", "llama.cpp"},
                {"loads", now->loads},
                {"context", now->context},
                {"notes", now->notes},
                {"groups", Json::array()}};
    for (const EffectiveGroup& g : now->groups) {
      engine["groups"].push_back({{"name", g.name}, {"inv_freq", g.inv_freq}, {"attention_scale", g.attention_scale}});
    }
    json["effective"] = Json::array({engine});
  }
  return json;
}

// What is known of one file.
struct Inspected {
  ModelFile model;
  RopeSpec spec;
  ModelFacts facts;
  std::optional<Effective> now;  // in llama.cpp, for a GGUF
};

Result<Inspected> inspected(const std::string& file, std::string& hint) {
  Result<ModelFile> model = read_model(file);
  if (!model) return model.error();
  Result<RopeSpec> spec = rope_spec(*model);
  if (!spec) {
    hint = serve_command(*model, spec.error(), file);
    return Error{spec.error().code, to_string(spec.error()), file};
  }
  const ModelFacts facts = facts_of(*model);
  std::optional<Effective> now;
  if (model->gguf() != nullptr) {
    Result<Effective> found = effective("llama.cpp", *model);
    if (found) now = *std::move(found);
  }
  return Inspected{*std::move(model), *std::move(spec), facts, std::move(now)};
}

void print_block(const Inspected& found, const std::string& file, bool several) {
  const auto& [model, spec, facts, now] = found;
  std::string title = facts.name.empty() ? model.path : facts.name;
  if (!facts.quantization.empty()) title += " " + facts.quantization;
  if (facts.bytes > 0) title += bullet() + size_text(static_cast<double>(facts.bytes));
  print("{}\n", bold(title));
  if (several && !facts.name.empty()) fact("file", file);  // else it is the title
  fact("model", shape_text(facts));
  fact("trained context", std::to_string(spec.context_trained));
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const std::string layers = spec.groups.size() > 1 ? spec.groups[g].name + ": " : "";
    fact(g == 0 ? "rope" : "", layers + rope_text(spec, g));
  }
  fact("turns in training", turns_text(spectrum_of(spec, 0)));
  fact("can carry", carry_text(model, spec));
  print_cache(model, spec.context_trained);
  if (const auto context = extended_context(model, now)) fact("extended", extended_text(model, *context));
  if (now) {
    for (const std::string& note : now->notes) fact("note", note);
  }
  std::int64_t trained = spec.context_trained;
  std::string typed;
  if (holds_room_for_an_answer(facts, spec)) {
    trained = kQwen3Trained;
    typed = " --trained " + format_context(trained);
    fact("note", fmt::format("Qwen 3 was trained for {} of the {} tokens; the rest is room for an answer ({})", trained,
                             spec.context_trained, typed.substr(1)));
  }
  // Never wrapped: it is there to be copied
  print("{}mrrope plan {} -c {}{}\n", bold(fmt::format("{:<18}", "next")), base::shell_quoted(file),
        format_context(4 * trained), typed);
}

// A file that cannot be read does not keep the others from being shown.
int run_inspect(const Options& options) {
  const bool several = options.files.size() > 1;
  Json all = Json::array();
  int status = 0;
  std::size_t shown = 0;
  for (const std::string& file : options.files) {
    std::string hint;
    const Result<Inspected> found = inspected(file, hint);
    if (!found) {
      status = std::max(status, fail(found.error(), hint));
      continue;
    }
    if (options.json) {
      all.push_back(to_json(found->model, found->spec, found->facts, found->now));
      continue;
    }
    if (shown++ > 0) print("\n");
    print_block(*found, file, several);
  }
  if (options.json && several) print("{}", base::write_json(all));
  else if (options.json && !all.empty()) print("{}", base::write_json(all.front()));
  return status;
}

}  // namespace

void add_inspect(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("inspect",
                                             "what a model is, how it rotates, what it can carry\n"
                                             "\n"
                                             "  mrrope inspect model.gguf\n"
                                             "  mrrope inspect *.gguf\n"
                                             "  mrrope inspect path/to/Llama-3-8B --json\n");
  command->add_option("MODEL", options->files, "each a .gguf, a Hugging Face folder or config.json")->required();
  command->add_flag("--json", options->json, "for programs; of several files an array");
  command->callback([options, &action] { action = [options] { return run_inspect(*options); }; });
}

}  // namespace mrrope::cli
