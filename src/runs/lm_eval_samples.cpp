// SPDX-License-Identifier: MIT
#include "runs/lm_eval_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "runs/json_line.h"

namespace mrrope::eval {

namespace {

// A rule of one of these names would take the place of what the format has there; no rule of ours has.
constexpr std::array<std::string_view, 11> kTaken = {"doc_id",         "doc",    "target",  "arguments", "resps",
                                                     "filtered_resps", "filter", "metrics", "doc_hash",  "prompt_hash",
                                                     "target_hash"};

void append_list(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  for (const std::string& text : texts) {
    if (out.back() != '[') out += ',';
    append_json(out, text);
  }
  out += ']';
}

}  // namespace

SampleLines::SampleLines(const std::vector<std::int64_t>& lengths) : lengths_(lengths.size()) {
  for (const std::int64_t length : lengths) metrics_.push_back({.name = std::to_string(length)});
}

void SampleLines::put_value(const std::string& name, double value) {
  if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end()) return;
  const auto found =
      std::find_if(metrics_.begin(), metrics_.end(), [&](const Metric& metric) { return metric.name == name; });
  if (found != metrics_.end()) found->value = value;
  else metrics_.push_back({name, value});
}

const std::string& SampleLines::line(const Record& record) {
  metrics_.resize(lengths_);
  for (Metric& metric : metrics_) metric.value = -1;
  doc_ = R"({"document":)";
  append_json(doc_, record.document);
  response_.clear();
  target_.clear();
  if (const Answer* a = record.answer()) {
    append_list(target_, a->references);
    fmt::format_to(std::back_inserter(doc_), R"(,"index":{},"outputs":{},"length":{},"max_length":{},"depth":)",
                   a->index, target_, a->prompt_tokens, a->length);
    append_json(doc_, a->depth);
    fmt::format_to(std::back_inserter(doc_), R"(,"new_tokens":{},"finish":)", a->new_tokens);
    append_json(doc_, a->finish);
    append_json(response_, a->text);
    put_value(std::to_string(a->length), a->score);
    for (const auto& [rule, value] : a->others) put_value(rule, value);
  } else {
    std::string last;
    for (const Reading::Point& p : record.reading()->points) {
      if (p.predicted <= 0) continue;
      put_value(std::to_string(p.length), std::exp(p.nll / static_cast<double>(p.predicted)));
      last = fmt::format("{}", -p.nll);
    }
    append_json(response_, last);
  }
  doc_ += '}';

  line_.clear();
  fmt::format_to(std::back_inserter(line_), R"({{"doc_id":{},"doc":{},"target":)", number_++, doc_);
  append_json(line_, target_);
  fmt::format_to(
      std::back_inserter(line_),
      R"(,"arguments":{{"gen_args_0":{{"arg_0":""}}}},"resps":[[{0}]],"filtered_resps":[{0}],"filter":"none",)"
      R"("metrics":[)",
      response_);
  for (const Metric& metric : metrics_) {
    if (line_.back() != '[') line_ += ',';
    append_json(line_, metric.name);
  }
  fmt::format_to(std::back_inserter(line_), R"(],"doc_hash":"{}","prompt_hash":)", content_hash(doc_));
  append_json(line_, record.document_hash);
  fmt::format_to(std::back_inserter(line_), R"(,"target_hash":"{}")", content_hash(target_));
  for (const Metric& metric : metrics_) {
    line_ += ',';
    append_json(line_, metric.name);
    line_ += ':';
    if (metric.value == -1) line_ += "-1.0";
    else append_json(line_, metric.value);
  }
  line_ += '}';
  return line_;
}

}  // namespace mrrope::eval
