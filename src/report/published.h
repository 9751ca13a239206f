// SPDX-License-Identifier: MIT
//
// Values that others published, as data: they stand on a page beside what was measured (docs/reproduce.md).
//
//   {"schema": "mrrope.published/1", "source": "…", "values": [
//     {"model": "llama3-8b", "method": "yarn", "length": 131072, "metric": "ppl", "value": 2.38, "place": "Table 1"},
//     {"model": "llama3-8b", "method": "ntk", "length": 131072, "metric": "ppl", "above": 10, "place": "Table 1 (a)"},
//     {"model": "llama3-8b", "method": "yarn", "length": 131072, "metric": "score", "task": "kv_retrieval", …}]}
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "mrrope/result.h"

namespace mrrope::report {

struct PublishedValue {
  enum class Metric { ppl, score };  // a perplexity; percent right

  std::string model;
  std::string method;  // as a plan is called here
  std::int64_t length = 0;
  Metric metric = Metric::ppl;
  std::string task = {};                           // of a score; empty: the mean over the tasks of the table
  std::map<std::string, std::string> labels = {};  // of the items it is a mean of: {"domain": …}; empty: all
  double value = 0;
  bool above = false;  // all that is said is that it is more than `value`
  std::string place;   // in the publication
};

struct PublishedFile {
  std::string source;
  std::vector<PublishedValue> values;
};

// Whether a JSON document says it is one.
bool is_published(const base::Json& json);
// Errors: a field that is missing, unknown or not what it should be; more than 10 000 values.
Result<PublishedFile> read_published(const base::Json& json);

}  // namespace mrrope::report
