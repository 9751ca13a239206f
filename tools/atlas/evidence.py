# SPDX-License-Identifier: MIT
"""src/plan/evidence_table.h: what `mrrope plan` says was measured of a method, from the differences of the atlas.

Plans meet in perplexity at the longest and at the trained length, and in each kind of answers at its longest; the recommended method is held against the YaRN that engines
run, every other one against the recommended.
"""
from . import READING, ROOT
from .cells import AT_TRAINED, LONGEST

FILE = ROOT / "src" / "plan" / "evidence_table.h"
RECOMMENDED, DEPLOYED = "mrrope-pro", "yarn"
METHODS = ("ntk", "yarn-rotations", "yarn", "mrrope-uni", "mrrope-pro")
KINDS = ("longest", "trained", "answers")

HEAD = """// SPDX-License-Identifier: MIT
//
// Made by `tools/atlas.py pages` from docs/results/atlas. A tally counts where a method was better than another one,
// worse or tied: perplexity at the longest and at the trained length by models, answers by models and kinds of prompts.
#pragma once

#include <string_view>

namespace mrrope::plan {

struct Tally {
  int better, worse, tied;
};

struct Meeting {
  double factor;
  std::string_view method, against;
  int models;
  Tally longest, trained, answers;
};

inline constexpr Meeting kMeetings[] = {
"""


def places(cells, factor):
    """(measure, part of the window) of each place in which plans meet."""
    for measure, s in cells.measures():
        if s == factor:
            yield from ((measure, part) for part in ((LONGEST, AT_TRAINED) if measure == READING else (LONGEST,)))


def kind_of(measure, part):
    return "answers" if measure != READING else "trained" if part == AT_TRAINED else "longest"


def tallies(models, factor, method, against):
    """{kind: [better, worse, tied]} and the number of models."""
    found, seen = {kind: [0, 0, 0] for kind in KINDS}, set()
    for cells in models:
        for measure, part in places(cells, factor):
            difference = cells.meeting(measure, factor, method, against, part)
            if difference and difference.counts:
                found[kind_of(measure, part)][{1: 0, -1: 1, 0: 2}[difference.better]] += 1
                seen.add(cells.name)
    return found, len(seen)


def rows(models):
    for factor in sorted({factor for cells in models for factor in cells.factors()}):
        for method in METHODS:
            against = DEPLOYED if method == RECOMMENDED else RECOMMENDED
            found, count = tallies(models, factor, method, against)
            if count:
                counts = ", ".join("{" + ", ".join(map(str, found[kind])) + "}" for kind in KINDS)
                yield f'    {{{factor:g}, "{method}", "{against}", {count}, {counts}}},\n'


def header(models):
    return HEAD + "".join(rows(models)) + "};\n\n}  // namespace mrrope::plan\n"
