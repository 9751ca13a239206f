// SPDX-License-Identifier: MIT
//
// Runs become a page: verdicts in words, pictures with captions, tables, and where every number comes from.
//
//   Result<Report> report = make_report({"run"});
//   report->html;                 // one file that needs nothing else: no network, no folder beside it
//   report->pictures[0].spec;     // the same picture as Vega-Lite JSON, for a paper or another tool
//   report->pictures[0].csv;      // its data
//
// Measures nothing and guesses nothing: numbers are those of the records, verdicts are those of mrrope/statistics.h.
// The same records give the same bytes. Texts from records (names of models, of files) stay text: they are escaped, and
// the page's Content-Security-Policy lets no script run but its own.
// Memory: records of documents whole, of answers some 40 bytes each. A million answers take some three seconds.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope {

struct Picture {
  std::string name;     // "ppl": unique in the report, good as a file's name
  std::string title;    // "Perplexity by length"
  std::string caption;  // what to conclude, then how to read it
  std::string spec;     // Vega-Lite 6, data included
  std::string csv;      // the data
};

struct Report {
  std::string html;
  std::vector<std::string> verdict;  // sentences, the most important one first
  std::vector<Picture> pictures;     // in the order of the page
  std::size_t records = 0;           // each once, even if several runs have it
  std::vector<std::string> torn;     // runs whose last line is damaged and was left out
};

struct ReportOptions {
  std::string baseline = {};  // see choose_baseline()
};

// `paths`: folders that `mrrope eval` wrote, of one model; plan files, for the pages on plans alone; what
// `mrrope analyze --attention --json` wrote; and published values (mrrope.published/1, docs/reproduce.md).
// Errors: nothing to report; runs of different models; a damaged run or plan file; an unknown baseline.
Result<Report> make_report(std::span<const std::string> paths, const ReportOptions& options = {});

// Whether this build carries Vega. Without it a page has every table and caption, and no picture.
bool report_draws() noexcept;

}  // namespace mrrope
