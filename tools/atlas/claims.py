# SPDX-License-Identifier: MIT
"""Each claim of the paper as a difference that a cell shows or does not show, and the rule from cells to a verdict.

A cell stands for a claim's model and extension: the claim's two plans at its length. It is
  for         the better plan of the claim is better, and `mrrope compare` marks it as a difference
  against     the other one is
  tied        neither
Where there are too few sources or prompts to tell anything, or so few that the interval of a tie is wider than what matters, it does
not count. The verdict over the cells of all models, or of one:

  holds            every cell is for
  holds in part    some are for, the others tied
  depends          some are for and some against
  does not hold    some are against, none for
  tied             no cell is for or against
  too few to tell  no cell counts
  not measured     there is no cell
"""
import dataclasses

from .cells import AT_TRAINED, HALF, LONGEST

HOLDS, IN_PART, DOES_NOT, DEPENDS = "holds", "holds in part", "does not hold", "depends"
TIED, TOO_FEW, NOT_MEASURED, NOT_YET = "tied", "too few to tell", "not measured", "not in the atlas yet"


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str
    place: str  # in the paper
    measure: str
    better: str
    worse: str
    at: str = LONGEST  # AT_TRAINED: the cost at short lengths
    besides: str = ""  # what was measured, and is no cell: its records are not in the tree


TO_32K = "two texts of smollm2-135m x4 ([study](smollm2-135m.md))"
CLAIMS = (
    Claim("Pro reads better than YaRN as published", "Tables 1, 4", "ppl", "mrrope-pro", "yarn-rotations",
          besides=f"the other way round at 32k on {TO_32K}"),
    Claim("Pro reads better than YaRN as engines run it", "Tables 1, 4", "ppl", "mrrope-pro", "yarn"),
    Claim("Progressive before uniform: Pro reads better than Uni", "Tables 1, 4", "ppl", "mrrope-pro", "mrrope-uni",
          besides=f"the other way round at 32k on {TO_32K}"),
    Claim("Uni reads better than YaRN as published in the first half of the window", "Section 4.2", "ppl", "mrrope-uni",
          "yarn-rotations", HALF),
    Claim("and YaRN as published better than Uni at its end", "Section 4.2", "ppl", "yarn-rotations", "mrrope-uni"),
    Claim("Pro reads better than NTK at the longest length measured", "Tables 1, 4", "ppl", "mrrope-pro", "ntk"),
    Claim("Pro costs short texts less than YaRN as published", "Section 4.2", "ppl", "mrrope-pro", "yarn-rotations", AT_TRAINED),
    Claim("Pro costs short texts less than YaRN as engines run it", "Section 4.2", "ppl", "mrrope-pro", "yarn", AT_TRAINED),
    Claim("Pro costs short texts less than Uni", "Section 4.2", "ppl", "mrrope-pro", "mrrope-uni", AT_TRAINED),
    Claim("Pro finds more needles than YaRN as published", "Figure 4", "needles", "mrrope-pro", "yarn-rotations"),
    Claim("Pro finds more needles than YaRN as engines run it", "Figure 4", "needles", "mrrope-pro", "yarn"),
    Claim("Pro finds more passkeys and numbers than YaRN as published", "Table 3", "passkeys", "mrrope-pro", "yarn-rotations"),
    Claim("Pro finds more passkeys and numbers than YaRN as engines run it", "Table 3", "passkeys", "mrrope-pro", "yarn",
          besides="so at 8 times the length of tiny-512 under plans for 16 times ([tuning](../tune.md))"),
    Claim("Pro is better at RULER than YaRN as published", "Table 2", "ruler", "mrrope-pro", "yarn-rotations"),
    Claim("Pro is better at RULER than YaRN as engines run it", "Table 2", "ruler", "mrrope-pro", "yarn"),
    Claim("Pro is better at LongBench-v2 than YaRN", "Table 5", "longbench2", "mrrope-pro", "yarn"),
)
# What no cell of the atlas is about
NOT_ASKED = (("Edges of the band near the default read as well as it", "Figures 7, 8"),
             ("Pro finds over 85 % of needles at 15 times the trained length", "Figure 4"),
             ("Pro doubles YaRN's accuracy on InfiniteBench's key-value retrieval and dialogue at 128k", "Table 3"))  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Found:
    """A cell that a claim is about."""

    model: str
    factor: float
    difference: object  # cells.Difference
    tasks: int  # whose mean it is


def found_of(claim, models):
    """Every cell of the claim, by model and extension."""
    for cells in models:
        for measure, factor in cells.measures():
            if measure == claim.measure and (difference := cells.meeting(measure, factor, claim.better, claim.worse, claim.at)):
                yield Found(cells.name, factor, difference, len(cells.tasks(measure, factor)))


def verdict(found):
    """Of cells: one word for all of them."""
    sides = [one.difference.better for one in found if one.difference.counts]
    if not sides:
        return TOO_FEW if found else NOT_MEASURED
    if all(side > 0 for side in sides):
        return HOLDS
    if any(side < 0 for side in sides):
        return DEPENDS if any(side > 0 for side in sides) else DOES_NOT
    return IN_PART if any(side > 0 for side in sides) else TIED
