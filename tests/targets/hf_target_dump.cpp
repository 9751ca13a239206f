// SPDX-License-Identifier: MIT
//
// Drives targets/ from Python (tests/engines/test_targets.py, tools/engines_table.py). Prints JSON.
//
//   hf_target_dump effective ENGINE CONFIG [CONTEXT]
//   hf_target_dump deliver   ENGINE CONFIG TARGET METHOD     the plan, the edited config, residuals, notes
//   hf_target_dump engines                                   names, versions, evidence, exceptions
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mrrope/catalogue.h"
#include "mrrope/model_file.h"
#include "mrrope/targets.h"
#include "targets/hf_rules.h"

namespace {

using namespace mrrope;
using Json = nlohmann::ordered_json;

int fail(const Error& error) {
  std::printf("%s\n", Json{{"error", to_string(error)}, {"code", to_string(error.code)}}.dump().c_str());
  return 0;
}

int print(const Json& json) {
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

Json to_json(const Effective& e) {
  Json out{{"loads", e.loads}, {"context", e.context}, {"notes", e.notes}, {"groups", Json::array()}};
  for (const EffectiveGroup& g : e.groups) {
    out["groups"].push_back({{"name", g.name}, {"inv_freq", g.inv_freq}, {"attention_scale", g.attention_scale}});
  }
  return out;
}

int run_effective(const std::vector<std::string>& args) {
  const Result<ModelFile> model = read_model(args.at(2));
  if (!model) return fail(model.error());
  const std::optional<std::int64_t> context =
      args.size() > 3 ? std::optional<std::int64_t>(std::stoll(args[3])) : std::nullopt;
  const Result<Effective> found = effective(args.at(1), *model, context);
  if (!found) return fail(found.error());
  return print(to_json(*found));
}

int run_deliver(const std::vector<std::string>& args) {
  const Result<ModelFile> model = read_model(args.at(2));
  if (!model) return fail(model.error());
  const Result<RopeSpec> spec = rope_spec(*model);
  if (!spec) return fail(spec.error());
  const Result<Method> method = parse_method(args.at(4));
  if (!method) return fail(method.error());
  const Result<Plan> plan = make_plan(*spec, std::stoll(args.at(3)), *method);
  if (!plan) return fail(plan.error());
  const Result<Delivery> delivery = deliver(args.at(1), *plan, *model);
  if (!delivery) return fail(delivery.error());
  HfConfig edited = *model->hf();
  if (const auto ok = edited.apply(delivery->hf); !ok) return fail(ok.error());
  Json out{{"context", plan->context_target}, {"config", edited.text()},
           {"residual", delivery->residual},  {"scale_residual", delivery->scale_residual},
           {"services", Json::array()},       {"notes", delivery->notes},
           {"commands", delivery->commands},  {"groups", Json::array()}};
  for (const Service& s : delivery->services) {
    out["services"].push_back(
        {{"engine", s.engine}, {"served", s.served}, {"checked", s.checked}, {"own_file", s.own_file}, {"why", s.why}});
  }
  for (std::size_t g = 0; g < plan->groups.size(); ++g) {
    out["groups"].push_back({{"name", plan->spec.groups[g].name},
                             {"inv_freq", plan->groups[g].inv_freq},
                             {"attention_scale", plan->groups[g].attention_scale}});
  }
  return print(out);
}

int run_engines() {
  Json out = Json::array();
  for (const targets::HfEngine& engine : targets::hf_engines()) {
    Json row{{"name", engine.info.name},         {"title", engine.info.title},
             {"versions", engine.info.versions}, {"evidence", to_string(engine.info.evidence)},
             {"verified", engine.info.verified}, {"models", engine.info.models},
             {"source", engine.info.source},     {"remark", engine.remark},
             {"exceptions", Json::array()}};
    for (const targets::HfException& e : engine.exceptions) {
      if (e.says.empty()) continue;
      row["exceptions"].push_back({{"models", e.models},
                                   {"says", e.says},
                                   {"source", e.source},
                                   {"checked", e.outcome != targets::Outcome::unchecked}});
    }
    out.push_back(std::move(row));
  }
  return print(out);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const std::string command = args.empty() ? "" : args[0];
  if (command == "effective" && args.size() >= 3) return run_effective(args);
  if (command == "deliver" && args.size() == 5) return run_deliver(args);
  if (command == "engines") return run_engines();
  std::fprintf(stderr, "usage: hf_target_dump effective|deliver|engines …\n");
  return 2;
}
