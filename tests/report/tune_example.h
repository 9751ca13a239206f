// SPDX-License-Identifier: MIT
//
// A small search with numbers that can be followed by hand, and the folder that holds it.
#pragma once

#include <fstream>
#include <string>

#include "base/json.h"
#include "tests/report/runs.h"

namespace mrrope::test {

inline const std::string kTunedLaw = "mrrope-power:p=1.5:low=3:high=11:attention_scale=1.1:factor=3";

// Six tables on everything. By objective tuned is 1.875 - 1.91 = -0.035 nats below mrrope-pro; the front is ntk, the
// fourth table and tuned.
inline base::Json tune_example() {
  const auto table = [](const std::string& method, bool fixed, std::int64_t tokens, double beyond, double within,
                        double objective, bool front) {
    return base::Json{{"method", method}, {"fixed", fixed},         {"tokens", tokens}, {"beyond", beyond},
                      {"within", within}, {"objective", objective}, {"front", front}};
  };
  const auto difference = [](const std::string& against, const std::string& metric, double d, double half,
                             std::int64_t items, bool better, bool worse) {
    return base::Json{{"against", against}, {"metric", metric}, {"difference", d},  {"low", d - half},
                      {"high", d + half},   {"items", items},   {"better", better}, {"worse", worse}};
  };
  base::Json json{{"schema", "mrrope.tune/1"},
                  {"model", "model.gguf"},
                  {"model_hash", eval::content_hash("model.gguf")},
                  {"context_trained", 512},
                  {"context", 2048},
                  {"read_tokens", 2048},
                  {"prefer", "balanced"},
                  {"built_in_texts", false},
                  {"held_out_texts", 4},
                  {"held_out_prompts", 12},
                  {"plan", base::Json::object()},
                  {"tuned", kTunedLaw},
                  {"label", "tuned-0a53"},
                  {"best_fixed", "mrrope-pro"},
                  {"evaluations", 13},
                  {"tokens", 330'000}};
  json["search"] = base::Json::array(
      {table("yarn", true, 40'000, 2.31, 1.52, 1.915, false),
       table("mrrope-pro", true, 80'000, 2.29, 1.53, 1.91, false), table("ntk", true, 120'000, 2.80, 1.49, 2.145, true),
       table("mrrope-power:p=2:low=3:high=12", false, 170'000, 2.27, 1.505, 1.8875, true),
       table(kTunedLaw, false, 240'000, 2.24, 1.51, 1.875, true),
       table("mrrope-power:p=1:low=4:high=11", false, 300'000, 2.25, 1.52, 1.885, false)});
  json["verdict"] = base::Json::array({difference("mrrope-pro", "ppl_long", -0.036, 0.006, 4, true, false),
                                       difference("mrrope-pro", "ppl_short", -0.063, 0.025, 4, true, false),
                                       difference("mrrope-pro", "answer_nll", -0.030, 0.018, 12, true, false),
                                       difference("mrrope-pro", "score", 0.016, 0.023, 12, false, false),
                                       difference("none", "ppl_long", -0.5, 0.1, 4, true, false),
                                       difference("none", "ppl_short", 0.032, 0.009, 4, false, true)});
  json["recommended"] = "tuned";
  return json;
}

// Writes what mrrope tune leaves: the records of the verdict, and tune.json.
inline void tune_run(const std::string& folder, const base::Json& tune) {
  {
    Result<eval::RunFolder> run = eval::RunFolder::open(folder, run_info("tune", "model.gguf"));
    if (!run) std::abort();
    const RopeSpec spec = *parse_spec("dim=32,base=10000,ctx=512");
    for (int text = 0; text < 4; ++text) {
      for (const std::string name : {"none", "mrrope-pro", "tuned-0a53"}) {
        const Plan plan =
            *make_plan(spec, name == "none" ? 512 : 2048, *parse_method(name == "tuned-0a53" ? kTunedLaw : name));
        eval::Record r;
        r.task = "ppl";
        r.method = name;
        r.factor = plan.factor;
        r.document = r.document_hash = fmt::format("text {}", text);
        r.key = eval::content_hash(r.document + name);
        r.reading()->points = {{512, 511, 511 * 1.5}};
        if (name != "none") r.reading()->points.push_back({2048, 2047, 2047 * (name == "mrrope-pro" ? 1.7 : 1.6)});
        r.reading()->inv_freq = plan.groups[0].inv_freq;
        r.reading()->attention_scale = plan.groups[0].attention_scale;
        if (!run->append(r)) std::abort();
      }
    }
  }
  std::ofstream(folder + "/tune.json") << base::write_json(tune);
}

}  // namespace mrrope::test
