// SPDX-License-Identifier: MIT
//
// The parts of a page, each made from what the runs hold; a part without data is not there. A new kind of picture is a
// new function here and a line in report.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/figure.h"
#include "report/look.h"
#include "report/runs.h"

namespace mrrope::report {

struct Context {
  const Runs& runs;
  Look look;
  std::string baseline;  // as asked for
};

// What mrrope tune searched and found, and the verdict on what it had not seen. section_tune.cpp, tune_words.cpp
std::optional<Section> tune_section(const Context& context);
std::vector<std::string> tune_verdict(const Context& context);

// Perplexity: by length, against the baseline, by position, on short texts. section_ppl.cpp, section_ppl_more.cpp
std::optional<Section> ppl_section(const Context& context);
std::vector<std::string> ppl_verdict(const Context& context);
std::optional<Figure> position_figure(const Context& context);
std::optional<Figure> short_figure(const Context& context);

// Perplexity by distance, of gap runs. section_ppl.cpp
std::optional<Section> gap_section(const Context& context);

// Tasks with answers: by length, needles by depth, the table of tasks. section_scores.cpp, section_needles.cpp
std::optional<Section> score_section(const Context& context);
std::vector<std::string> score_verdict(const Context& context);
std::vector<Figure> needle_figures(const Context& context);

// Perplexity over the edges of the band, the paper's figures 7 and 8. section_band.cpp
std::optional<Section> band_section(const Context& context);

// What the band adds to attention scores, the paper's figure 6. section_attention.cpp
std::optional<Section> attention_section(const Context& context);

// What others published beside what was measured. section_published.cpp
std::optional<Section> published_section(const Context& context);

// What each plan does to the table. section_plans.cpp
std::optional<Section> plan_section(const Context& context);

// Makes a line of each plan over x the picture of a figure, whose conclusion and data are there: `points` to a line.
// section_plans.cpp
void draw_lines(Figure& figure, const Context& context, std::span<const eval::PlanName> shown, const base::Json& x,
                const base::Json& y, std::size_t points);

// Where every number comes from. section_provenance.cpp
Section provenance_section(const Context& context);

// The longest length that most plans have: the one to judge them at while a run is under way. `measured`: one length
// for each plan and length. Domain: not empty.
std::int64_t common_length(const std::vector<std::int64_t>& measured);

// The baseline of these plans; the first of them if the wish is for another kind of run.
eval::PlanName baseline_of(const Context& context, const std::vector<eval::PlanName>& plans);

}  // namespace mrrope::report
