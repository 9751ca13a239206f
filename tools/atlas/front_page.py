# SPDX-License-Identifier: MIT
"""docs/results/README.md: which plan to take, the paper's claims, what the theory predicts, what there is."""
from . import FRONT, READING, length_text
from .cells import shown
from .choice import answer
from .claims import CLAIMS, NOT_ASKED, NOT_MEASURED, NOT_YET, found_of, verdict
from .model_page import anchor, table
from .theory import OUTCOMES, PREDICTORS, correlation

HEAD = """# Results

Made by `tools/atlas.py pages` from the records in [atlas](atlas); nothing here is typed. `tools/atlas.py --check` derives it again.
"""
CHOICE = """## Which plan should I take?

We compare every two plans at the longest and at the trained length, in perplexity and in each kind of answers, by `mrrope compare`. The plan
to take is the one with the most wins after its losses are subtracted. **Sure**: it never loses, and wins against each other plan at least
once. **Likely**: it wins against each more often than it loses. **A guess**: it leads overall, but not against each. **Open**: nobody leads.
"""
CHOICE_END = """
This is about models as small as these; `mrrope tune` measures yours ([tune](../tune.md)).
"""
CLAIMS_TEXT = """## The paper's claims

A cell is a model at an extension. **Holds**: every cell shows a difference in the claimed direction. **Does not hold**: no cell does, and some
show one in the other direction. **Depends**: some do. **Tied**: no cell shows a difference; its interval says how large a difference could
have been missed. "n = 2" marks too few texts or prompts to decide; such a cell does not count. Perplexity is in percent (less is better),
answers in points of 100. \\* marks a difference: for perplexity a 95 % interval without zero, for answers p < 0.05 in the paired test, so that an
interval of answers may exclude zero without a star. Links lead to the cells.
"""
THEORY = """## Does the theory predict?

Spearman's rank correlation between what `mrrope analyze` says of a plan and what we measured, over the plans of a model at an extension
(without `none`), averaged over models, extensions and measures. +1 means exactly the theory's order. ± is where 95 % of such averages would
lie if the theory said nothing and cells were independent. They are not: cells of one model share its weights, plans and texts, so a figure
somewhat beyond ± is a hint and no more. The range is the lowest and highest.
"""
MAKE = """## To make it

    mrrope campaign campaigns/atlas/tiny-512-x16.yaml    # measures; the same command goes on
    tools/atlas.py collect runs/atlas/*                  # into atlas, with the verdicts of mrrope compare
    tools/atlas.py pages                                 # these pages
    tools/atlas.py --check                               # are the pages what atlas says? with mrrope: and the verdicts?
    tools/atlas.py rerun --cells 10 --seed 1             # ten cells at random, from scratch
    tools/atlas.py archive atlas.tar.gz runs/atlas/*     # all records, for others
"""


def take_rows(models):
    factors = sorted({factor for cells in models for factor in cells.factors()})
    groups = [(f"{factor:g}", [(cells, factor) for cells in models if factor in cells.factors()]) for factor in factors]
    if len(factors) > 1:
        groups.append(("all of these", [(cells, factor) for cells in models for factor in cells.factors()]))
    for name, group in groups:
        found = answer(group)
        if found:
            first = f"{found.plans[0]} against " if found.meetings else ""
            meetings = first + "; ".join(f"{other} {b} : {w} : {t}" for other, (b, w, t) in sorted(found.meetings.items()))
            take = found.plans[0] if len(found.plans) == 1 else f"level: {', '.join(found.plans)}"
            yield [name, take, found.certainty, meetings, str(found.models)]


def claim_rows(models):
    for claim in CLAIMS:
        cells = list(found_of(claim, models))
        texts = []
        for name in sorted({one.model for one in cells}):
            mine = [one for one in cells if one.model == name]
            texts.append(f"{name} {verdict(mine)}: {', '.join(cell_text(claim, one) for one in mine)}")
        counting = sum(not one.difference.too_few for one in cells)
        said = f"**{verdict(cells)}**, {counting} cell{'s' if counting != 1 else ''}" if cells else NOT_YET
        yield [claim.text, claim.place, said, "; ".join(texts)]
    for text, place in NOT_ASKED:
        yield [text, place, NOT_MEASURED, ""]


def cell_text(claim, one):
    link = f"atlas/{one.model}/README.md{anchor(claim.measure, one.factor)}"
    unit = " %" if claim.measure == READING else ""
    return f"[x{one.factor:g} at {length_text(one.difference.length)}]({link}) {shown(one.difference, unit)}"


def theory_rows(models):
    for predictor in PREDICTORS:
        row = [predictor.text]
        for outcome in OUTCOMES:
            found = correlation(models, predictor, outcome)
            row.append(correlation_text(found) if found else "")
        yield row


def correlation_text(found):
    mean, lowest, highest = (f"{round(value, 2) + 0.0:+.2f}" for value in (found.mean, found.lowest, found.highest))
    return f"{mean} (± {found.half:.2f})" + (f", {lowest} to {highest} of {found.groups}" if found.groups > 1 else "")


def model_rows(models):
    for cells in models:
        measures = {}
        for measure, factor in cells.measures():
            measures.setdefault(measure, []).append(f"x{factor:g}")
        dates = sorted({run["date"] for run in cells.runs})
        yield [f"[{cells.name}](atlas/{cells.name}/README.md)", str(cells.trained),
               "; ".join(f"{measure} {', '.join(factors)}" for measure, factors in measures.items()), dates[-1]]  # fmt: skip


def page(models):
    lines = [HEAD, CHOICE, *table(["S", "take", "how sure", "better : worse : tied", "models"], list(take_rows(models)), 4),
             CHOICE_END, CLAIMS_TEXT, *table(["claim", "in the paper", "verdict", "cells"], list(claim_rows(models)), 4), "",
             THEORY, *table(["", *(outcome[0] for outcome in OUTCOMES)], list(theory_rows(models))), "",
             "## Models", "", *table(["model", "trained for", "measured at", "last"], list(model_rows(models)), 4), "",
             *older(), MAKE]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def older():
    """What other tools or people wrote; the latter until their cells are in the atlas."""
    pages = sorted(path for path in FRONT.parent.glob("*.md") if path != FRONT)
    return ["## Other pages", "", "With more prompts and texts than the atlas has so far, and tasks that it has not: "
            + ", ".join(f"[{path.stem}]({path.name})" for path in pages) + ".", ""]
