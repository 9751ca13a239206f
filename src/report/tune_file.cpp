// SPDX-License-Identifier: MIT
#include "report/tune_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "files/file.h"
#include "report/html.h"

namespace mrrope::report {

namespace {

using base::Json;
using base::ObjectReader;

constexpr std::uint64_t kMaxFile = std::uint64_t{16} << 20;
constexpr std::size_t kMostTables = 10'000;  // a page shows each; a night's search measures hundreds
constexpr std::size_t kMostDifferences = 10'000;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 50;
constexpr double kMostNats = 300;         // of a token; percentages of such losses are still doubles
constexpr double kMostDifference = 1e15;  // of perplexities: e^34, the interval of two texts that disagree

constexpr std::array<std::pair<std::string_view, TuneFile::Metric>, 4> kMetrics = {
    {{"ppl_long", TuneFile::Metric::ppl_long},
     {"ppl_short", TuneFile::Metric::ppl_short},
     {"answer_nll", TuneFile::Metric::answer_nll},
     {"score", TuneFile::Metric::score}}};

double number_between(ObjectReader& reader, std::string_view key, double low, double high) {
  const double value = reader.number(key);
  if (!(value >= low && value <= high)) {
    reader.reject(key, ErrorCode::invalid_argument,
                  fmt::format("expected a number between {} and {}, found {}", low, high, value));
  }
  return value;
}

std::string name(ObjectReader& reader, std::string_view key) {
  std::string text = printable(reader.text(key));
  if (text.empty()) reader.reject(key, ErrorCode::malformed, "expected a name, found nothing");
  return text;
}

TuneFile::Table read_table(ObjectReader reader) {
  TuneFile::Table out;
  out.method = name(reader, "method");
  out.fixed = reader.boolean("fixed");
  out.tokens = reader.integer("tokens", 0, kMostTokens);
  out.beyond = number_between(reader, "beyond", 0, kMostNats);
  out.within = number_between(reader, "within", 0, kMostNats);
  out.objective = number_between(reader, "objective", 0, kMostNats);
  out.front = reader.boolean("front");
  return out;
}

TuneFile::Difference read_difference(ObjectReader reader) {
  TuneFile::Difference out;
  out.against = name(reader, "against");
  const std::string metric = reader.text("metric");
  const auto* const known =
      std::find_if(kMetrics.begin(), kMetrics.end(), [&](const auto& m) { return m.first == metric; });
  if (known == kMetrics.end()) {
    reader.reject("metric", ErrorCode::invalid_argument,
                  fmt::format("expected ppl_long, ppl_short, answer_nll or score, found {}", printable(metric)));
  }
  out.metric = known->second;
  out.difference = number_between(reader, "difference", -kMostDifference, kMostDifference);
  out.low = number_between(reader, "low", -kMostDifference, kMostDifference);
  out.high = number_between(reader, "high", out.low, kMostDifference);
  out.items = reader.integer("items", 0, kMostTokens);
  out.better = reader.boolean("better");
  out.worse = reader.boolean("worse");
  return out;
}

// `read` of every object of a list.
template <class T>
std::vector<T> list_of(ObjectReader& reader, std::string_view key, std::size_t most, T (*read)(ObjectReader)) {
  const Json& list = reader.array(key);
  if (list.size() > most) {
    reader.reject(key, ErrorCode::invalid_argument, fmt::format("more than {} of them", most));
  }
  std::vector<T> out;
  out.reserve(list.size());
  for (const Json& element : list) {
    out.push_back(read(ObjectReader(element, fmt::format("{}[{}]", reader.path(key), out.size()))));
  }
  return out;
}

std::size_t place_in(const std::vector<TuneFile::Table>& search, ObjectReader& reader, std::string_view key) {
  const std::string wanted = name(reader, key);
  const auto found = std::find_if(search.begin(), search.end(), [&](const auto& t) { return t.method == wanted; });
  if (found == search.end()) {
    reader.reject(key, ErrorCode::inconsistent, fmt::format("{} is not among the tables of \"search\"", wanted));
  }
  return static_cast<std::size_t>(found - search.begin());
}

TuneFile read(const Json& json) {
  ObjectReader reader(json, "");
  if (const std::string schema = reader.text("schema"); schema != "mrrope.tune/1") {
    reader.reject("schema", ErrorCode::unsupported, fmt::format("expected mrrope.tune/1, found {}", printable(schema)));
  }
  TuneFile out;
  out.model_hash = reader.text("model_hash");
  reader.text("model");   // on the page from run.json
  reader.object("plan");  // and from the records
  out.context_trained = reader.integer("context_trained", 1, kMostTokens);
  out.context = reader.integer("context", 1, kMostTokens);
  out.read_tokens = reader.integer("read_tokens", 1, kMostTokens);
  out.prefer = reader.text("prefer");
  if (out.prefer != "long" && out.prefer != "balanced" && out.prefer != "short") {
    reader.reject("prefer", ErrorCode::invalid_argument,
                  fmt::format("expected long, balanced or short, found {}", printable(out.prefer)));
  }
  out.built_in_texts = reader.boolean("built_in_texts");
  out.held_out_texts = reader.integer("held_out_texts", 0, kMostTokens);
  out.held_out_prompts = reader.integer("held_out_prompts", 0, kMostTokens);
  out.label = name(reader, "label");
  out.evaluations = reader.integer("evaluations", 0, kMostTokens);
  out.tokens = reader.integer("tokens", 0, kMostTokens);

  out.search = list_of(reader, "search", kMostTables, read_table);
  const auto earlier = [](const TuneFile::Table& a, const TuneFile::Table& b) { return a.tokens < b.tokens; };
  if (!std::is_sorted(out.search.begin(), out.search.end(), earlier)) {
    reader.reject("search", ErrorCode::inconsistent, "expected tokens that grow from table to table");
  }
  out.tuned = place_in(out.search, reader, "tuned");
  out.best_fixed = place_in(out.search, reader, "best_fixed");
  if (!out.best_fixed_table().fixed) {
    reader.reject("best_fixed", ErrorCode::inconsistent, "expected a fixed method, found one that was found");
  }
  out.verdict = list_of(reader, "verdict", kMostDifferences, read_difference);
  const std::string recommended = name(reader, "recommended");
  out.tuned_is_recommended = recommended == "tuned";
  if (!out.tuned_is_recommended && recommended != out.best_fixed_table().method) {
    reader.reject("recommended", ErrorCode::inconsistent,
                  fmt::format("expected tuned or {}, found {}", out.best_fixed_table().method, recommended));
  }
  return out;
}

}  // namespace

const TuneFile::Difference* TuneFile::find(std::string_view against, Metric metric) const {
  const auto found = std::find_if(verdict.begin(), verdict.end(),
                                  [&](const Difference& d) { return d.against == against && d.metric == metric; });
  return found != verdict.end() ? &*found : nullptr;
}

Result<TuneFile> tune_from_json(std::string_view text) {
  const Result<Json> json = base::parse_json(text);
  if (!json) return json.error();
  try {
    return read(*json);
  } catch (const base::Rejected& rejected) {
    return rejected.error;
  }
}

Result<std::optional<TuneFile>> read_tune(const std::string& folder) {
  const std::string path = folder + "/tune.json";
  if (!base::identity_of(path)) return std::optional<TuneFile>();
  const Result<std::string> text = base::read_file(path, kMaxFile);
  if (!text) return text.error();
  Result<TuneFile> tune = tune_from_json(*text);
  if (!tune) return Error{tune.error().code, to_string(tune.error()), path};
  return std::optional(*std::move(tune));
}

}  // namespace mrrope::report
