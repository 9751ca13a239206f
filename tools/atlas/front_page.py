# SPDX-License-Identifier: MIT
"""docs/results/README.md: how methods compare, the paper's claims, what the theory predicts, what there is."""
from . import FRONT, READING, length_text
from .cells import FEWEST, SEEN, shown
from .claims import CLAIMS, NOT_ASKED, NOT_MEASURED, NOT_YET, found_of, verdict
from .evidence import METHODS, RECOMMENDED, tallies
from .model_page import anchor, table
from .theory import OUTCOMES, PREDICTORS, correlation

OTHERS = [method for method in METHODS if method != RECOMMENDED]
HEAD = """# Results

Made by `tools/atlas.py pages` from what is in [atlas](atlas): every text and every prompt under every plan, in some bytes each; no figure
of a cell is typed. `tools/atlas.py --check` derives figures and pages again, `rerun` measures cells again from scratch.
"""
METHODS_TEXT = """## How do the methods compare?

S is the factor, target length / trained length. Each cell counts where {RECOMMENDED} is better : worse : tied against another method: in
perplexity at the trained length and at the longest (in the second half of the window), and in each kind of answers at its longest. Cells of
one model share its weights and texts, and one difference in twenty is chance, so these counts do not say which plan to take. `mrrope tune`
measures your model ([tune](../tune.md)).
"""
CLAIMS_TEXT = """## The paper's claims

A cell is a model at an extension. **Holds**: every cell shows a difference in the claimed direction. **Holds in part**: some do, the others
are tied. **Depends**: some do, and some show one in the other direction. **Does not hold**: some show one in the other direction, none in the
claimed. **Tied**: no cell shows a difference. Perplexity is in percent (less is better), answers in points of 100; perplexity at a length is
that of all tokens up to there, those within the trained length included.

\\* marks a difference: for perplexity a 95 % interval without zero, for answers p < 0.05 in the paired test, whatever the interval. One star
in twenty is chance, and cells of one model share its weights and texts. Texts count by source: chapters of one book are one text, their
mean. Not counted: fewer than {FEWEST} sources or prompts ("n = 2"), and ties whose interval is wider than ± {ppl:g} % or ± {answers:g} points
("?"). **Too few to tell**: no cell counts. Links lead to the cells. *Besides*: measured elsewhere, not in the verdict.
"""
THEORY = """## Does the theory predict?

Spearman's rank correlation between what `mrrope analyze` says of a plan and what we measured, over the plans of a model at an extension
(without `none`), averaged over extensions and measures, then over models. +1 means exactly the theory's order. ± is where 95 % of such
averages would lie if the theory said nothing; a model counts once, because its cells share weights, plans and texts. Behind it: the lowest
and the highest correlation, and how many there are. Unseen angles are no order of these plans: only ntk has any.
"""
MAKE = """## To make it

    mrrope campaign campaigns/atlas/tiny-512-x16.yaml    # measures; the same command goes on
    tools/atlas.py collect runs/atlas/*                  # into atlas, with the verdicts of mrrope compare
    tools/atlas.py pages                                 # these pages
    tools/atlas.py --check                               # are the pages what atlas says? with mrrope: and the verdicts?
    tools/atlas.py rerun --cells 10 --seed 1             # ten cells at random, from scratch
    tools/atlas.py archive atlas.tar.gz runs/atlas/*     # all records, for others
"""


def method_rows(models):
    for factor in sorted({factor for cells in models for factor in cells.factors()}):
        found = [tallies(models, factor, RECOMMENDED, other) for other in OTHERS]
        sums = [[sum(counts) for counts in zip(*kinds.values())] for kinds, _ in found]
        yield [f"{factor:g}", *("{} : {} : {}".format(*one) if any(one) else "" for one in sums), str(max(count for _, count in found))]


def claim_rows(models):
    for claim in CLAIMS:
        cells = list(found_of(claim, models))
        texts = []
        for name in sorted({one.model for one in cells}):
            mine = [one for one in cells if one.model == name]
            texts.append(f"{name} {verdict(mine)}: {', '.join(cell_text(claim, one) for one in mine)}")
        counting = sum(one.difference.counts for one in cells)
        said = f"**{verdict(cells)}**, {counting} cell{'s' if counting != 1 else ''}" if cells else NOT_YET
        yield [claim.text, claim.place, said, "; ".join(texts) + (f"; besides: {claim.besides}" if claim.besides else "")]
    for text, place in NOT_ASKED:
        yield [text, place, NOT_MEASURED, ""]


def cell_text(claim, one):
    link = f"atlas/{one.model}/README.md{anchor(claim.measure, one.factor)}"
    unit = " %" if claim.measure == READING else ""
    tasks = f" ({one.tasks} tasks)" if one.tasks else ""
    return f"[x{one.factor:g} at {length_text(one.difference.length)}]({link}) {shown(one.difference, unit)}{tasks}"


def theory_rows(models):
    for predictor in PREDICTORS:
        row = [predictor.text]
        for outcome in OUTCOMES:
            found = correlation(models, predictor, outcome)
            row.append(correlation_text(found) if found else "")
        yield row


def correlation_text(found):
    mean, lowest, highest = (f"{round(value, 2) + 0.0:+.2f}" for value in (found.mean, found.lowest, found.highest))
    models = f"{found.models} model{'s' if found.models > 1 else ''}"
    return f"{mean} (± {found.half:.2f}), {models}" + (f"; {lowest} to {highest} of {found.groups}" if found.groups > 1 else "")


def model_rows(models):
    for cells in models:
        measures = {}
        for measure, factor in cells.measures():
            measures.setdefault(measure, []).append(f"x{factor:g}")
        dates = sorted({run["date"] for run in cells.runs})
        yield [f"[{cells.name}](atlas/{cells.name}/README.md)", str(cells.trained),
               "; ".join(f"{measure} {', '.join(factors)}" for measure, factors in measures.items()), dates[-1]]  # fmt: skip


def page(models):
    lines = [HEAD, METHODS_TEXT.format(RECOMMENDED=RECOMMENDED), *table(["S", *OTHERS, "models"], list(method_rows(models))), "", CLAIMS_TEXT.format(FEWEST=FEWEST, **SEEN), *table(["claim", "in the paper", "verdict", "cells"], list(claim_rows(models)), 4), "",
             THEORY, *table(["", *(outcome[0] for outcome in OUTCOMES)], list(theory_rows(models))), "",
             "## Models", "", *table(["model", "trained for", "measured at", "last"], list(model_rows(models)), 4), "",
             *older(), MAKE]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def older():
    """What other tools or people wrote."""
    pages = sorted(path for path in FRONT.parent.glob("*.md") if path.stem not in ("README", "fuzzing"))
    return ["## Other pages", "", "Studies with texts, prompts or questions of their own: "
            + ", ".join(f"[{path.stem}]({path.name})" for path in pages) + ".", ""]
