// SPDX-License-Identifier: MIT
#include "report/published.h"

#include <fmt/format.h>

#include <cmath>

namespace mrrope::report {

namespace {

constexpr const char* kSchema = "mrrope.published/1";
constexpr std::size_t kMostValues = 10'000;
constexpr std::int64_t kLongest = std::int64_t{1} << 40;

std::string named(base::ObjectReader& in, std::string_view key) {
  std::string text = in.text(key);
  if (text.empty()) in.reject(key, ErrorCode::malformed, "expected a text that is not empty");
  return text;
}

PublishedValue read_value(const base::Json& json, const std::string& place) {
  base::ObjectReader in(json, place);
  PublishedValue out{.model = named(in, "model"),
                     .method = named(in, "method"),
                     .length = in.integer("length", 1, kLongest),
                     .metric = PublishedValue::Metric::ppl,
                     .place = named(in, "place")};
  const std::string metric = in.text("metric");
  if (metric != "ppl" && metric != "score") in.reject("metric", ErrorCode::malformed, "expected ppl or score");
  if (metric == "score") out.metric = PublishedValue::Metric::score;
  if (metric == "score" && in.has("task")) out.task = named(in, "task");
  if (metric == "score" && in.has("labels")) {
    base::ObjectReader labels = in.object("labels");
    for (const auto& [name, value] : in.any("labels").items()) out.labels[name] = named(labels, name);
  }
  out.above = in.has("above");
  const char* key = out.above ? "above" : "value";
  out.value = in.number(key);
  const double most = metric == "score" ? 100 : 1e9;
  if (!(out.value >= 0 && out.value <= most)) {
    in.reject(key, ErrorCode::malformed, fmt::format("expected 0 to {:g}", most));
  }
  in.finish();
  return out;
}

}  // namespace

bool is_published(const base::Json& json) { return json.is_object() && json.value("schema", base::Json()) == kSchema; }

Result<PublishedFile> read_published(const base::Json& json) {
  try {
    base::ObjectReader in(json, "");
    in.text("schema");
    PublishedFile file{.source = named(in, "source"), .values = {}};
    const base::Json& values = in.array("values");
    in.finish();
    if (values.size() > kMostValues) {
      in.reject("values", ErrorCode::malformed, fmt::format("expected at most {}", kMostValues));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      file.values.push_back(read_value(values[i], fmt::format("values[{}]", i)));
    }
    return file;
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

}  // namespace mrrope::report
