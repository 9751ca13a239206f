# SPDX-License-Identifier: MIT
"""Does the theory predict? What `mrrope analyze` says of a plan against what was measured under it.

    DATA/MODEL/theory.json   {factor: {plan: {"kind", "drift", "unseen", "bound"}}}

Within a model and an extension the plans are ranked twice, by the theory and by the measurement, and the two orders
correlated (Spearman). Ranks of different models or extensions have nothing to do with each other, so correlations are taken
one by one and averaged: first within a model, whose extensions and measures repeat nearly one order of the same plans, then over
models. Under chance the correlation of n plans has the variance 1 / (n - 1); a model counts as one such.
"""
import dataclasses
import json
import math
import subprocess

from gap_study import spearman

from . import READING
from .cells import AT_TRAINED, FEWEST, LONGEST
from .items import rounded

KINDS = ("regressive", "uniform", "progressive")  # the paper's order; other kinds have no place in it
FEWEST_PLANS = 4


@dataclasses.dataclass(frozen=True)
class Predictor:
    name: str
    text: str
    sign: int  # +1: more of it should be better


PREDICTORS = (
    Predictor("drift", "drift: how far phases move from training within the trained length", -1),
    Predictor("bound", "bound: distance at which B(m), smoothed, is first not positive", +1),
    Predictor("kind", "kind: regressive, uniform, progressive", +1),
)
# Name, measure (None: every measure with answers), which value of its rows, whether more of it is better, and where
OUTCOMES = (
    ("perplexity, longest", READING, 0, -1, LONGEST),
    ("perplexity, trained length", READING, 0, -1, AT_TRAINED),
    ("answers found, longest", None, 0, +1, LONGEST),
    ("-ln p of right answers, longest", None, 3, -1, LONGEST),
)


def analyzed(program, model_file, model):
    """What theory.json holds of the model's plans."""
    found, methods = {}, model.methods()
    for factor in sorted({factor for _, factor in methods} - {1}):
        plans = [plan for plan, s in methods if s == factor and ":cache=" not in plan]
        words = [program, "analyze", str(model_file), "-c", str(int(factor * model.facts["context_trained"])), "--json", "--methods"]
        said = subprocess.run([*words, ",".join(methods[plan, factor] for plan in plans)], capture_output=True, text=True, check=False)
        if said.returncode != 0:
            raise RuntimeError(f"mrrope analyze: {said.stderr.strip()}")
        rows = json.loads(said.stdout)["methods"]
        found[f"{factor:g}"] = {plan: numbers(row) for plan, row in zip(plans, rows, strict=True)}
    return found


def numbers(row):
    bound = row["bound"]["smoothed_first_zero"]
    return {"kind": row["kind"], "drift": rounded(row["short_drift"]["turns"], 5), "unseen": rounded(row["unseen"]["largest_ratio"], 5),
            "bound": bound}  # fmt: skip


def predicted(said, predictor):
    """The number that plans are ranked by; None: the theory says nothing."""
    if predictor.name == "kind":
        return KINDS.index(said["kind"]) if said["kind"] in KINDS else None
    if predictor.name == "bound" and said["bound"] is None:
        return math.inf  # positive as far as was looked
    return said[predictor.name]


def pairs_of(cells, factor, predictor, outcome):
    """[(predicted, measured)] by plan, for each measure of the outcome."""
    _, wanted, column, _, where = outcome
    for measure, s in cells.measures():
        if s != factor or (measure != wanted if wanted else measure == READING):
            continue
        length = max(cells.lengths_in(measure, factor, where), default=None)
        most = most_texts(cells, factor, length) if measure == READING else 0
        pairs = []
        for plan, said in sorted(cells.theory.get(f"{factor:g}", {}).items()):
            values = cells.values(measure, factor, plan).get(length)
            number = predicted(said, predictor)
            if values and measure == READING and (values[2] < most or most < FEWEST):
                continue  # the mean of other texts than those of the other plans, or of too few
            if values and values[column] is not None and number is not None:
                pairs.append((number, values[column]))
        yield pairs


def most_texts(cells, factor, length):
    rows = (cells.values(READING, factor, plan).get(length) for plan in cells.plans(READING, factor))
    return max((row[2] for row in rows if row), default=0)


@dataclasses.dataclass(frozen=True)
class Correlation:
    """Of all models and extensions. Positive: as the theory says."""

    mean: float
    half: float  # of the interval in which 95 % of such means lie by chance
    groups: int
    models: int
    lowest: float
    highest: float


def correlation(models, predictor, outcome):
    """A Correlation, or None where no group has plans enough that differ."""
    found, each = [], []  # per model: mean and mean weight; all correlations
    for cells in models:
        mine = []
        for factor in cells.factors():
            for pairs in pairs_of(cells, factor, predictor, outcome):
                theory, measured = zip(*pairs) if pairs else ((), ())
                if len(pairs) >= FEWEST_PLANS and len(set(theory)) > 1 and len(set(measured)) > 1:
                    mine.append((predictor.sign * outcome[3] * spearman(theory, measured), len(pairs) - 1))
        if mine:
            each += [rho for rho, _ in mine]
            found.append((sum(rho for rho, _ in mine) / len(mine), sum(one for _, one in mine) / len(mine)))
    if not found:
        return None
    weight = sum(one for _, one in found)
    mean = sum(rho * one for rho, one in found) / weight
    return Correlation(mean, 1.96 / math.sqrt(weight), len(each), len(found), min(each), max(each))
