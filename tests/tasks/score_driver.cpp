// SPDX-License-Identifier: MIT
//
// Not a test: scores what it is given, for scoring_test.py and rouge_test.py. Each line of standard input is
// {"rule": …, "references": […], "answer": …}; each line of standard output the value as JSON.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/unicode.h"
#include "mrrope/scoring.h"
#include "tasks/scoring/porter.h"

namespace {

using nlohmann::json;

json score(const std::string& rule, const std::vector<std::string>& references, const std::string& answer) {
  using namespace mrrope;
  using namespace mrrope::eval;
  const auto letter = [](std::optional<char> c) { return c ? json(std::string(1, *c)) : json(); };
  if (rule == "without_thinking") return without_thinking(answer);
  if (rule == "clean_prediction") return clean_prediction(answer);
  if (rule == "string_match_all") return string_match_all(references, answer);
  if (rule == "string_match_part") return string_match_part(references, answer);
  if (rule == "passkey") return passkey(references.at(0), answer);
  if (rule == "kv_retrieval") return kv_retrieval(references.at(0), answer);
  if (rule == "math_find") return math_find(references.at(0), answer);
  if (rule == "code_debug") return code_debug(references.at(0).at(0), references.at(1), answer);
  if (rule == "longdialogue_qa") return longdialogue_qa(references.at(0), answer);
  if (rule == "longbook_qa") return longbook_qa(references, answer);
  if (rule == "longbook_qa_chinese") return longbook_qa_chinese(references, answer);
  if (rule == "longbook_sum") return longbook_sum(references, answer);
  if (rule == "longbook_choice") return longbook_choice(references.at(0).at(0), references.at(1), answer);
  if (rule == "code_run") return code_run(references.at(0), answer);
  if (rule == "math_calc") return math_calc(references, answer);
  if (rule == "longbench2_letter") return letter(longbench2_letter(answer));
  if (rule == "rouge1") {
    const Rouge rouge = rouge1(references.at(0), answer);
    return {rouge.precision, rouge.recall, rouge.f1};
  }
  if (rule == "stem") return scoring::porter_stem(answer);
  if (rule == "lower_case") return base::lower_case(answer);
  return "no such rule";
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const json in = json::parse(line);
    const json out = score(in.at("rule"), in.at("references"), in.at("answer"));
    std::puts(out.dump().c_str());
  }
}
