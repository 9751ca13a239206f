# SPDX-License-Identifier: MIT
"""The atlas as pages, claims and correlations look it up: what was measured, and which way each difference points."""
import dataclasses
import json

from . import DATA, READING, order
from .items import read_lines, read_runs

FEWEST = 3  # sources of texts, or prompts
SEEN = {READING: 5.0, "answers": 10.0}  # half an interval, percent or points: a wider one would miss what matters
# Parts of the window from the trained length to the target: its second half, the rest, and where it begins
LONGEST, HALF, AT_TRAINED = "longest", "half", "trained"


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of `plan` to `against`. Perplexities in percent, answers in points of 100, likelihoods of right answers in nats a token."""

    length: int
    count: int  # sources of texts, or prompts
    value: float
    low: float
    high: float
    differs: bool
    too_few: bool  # whatever they say may be chance
    blind: bool  # no difference, but one that matters could have been missed
    better: int  # +1: plan is better, -1: worse, 0: tied

    @property
    def counts(self):
        return not self.too_few and not self.blind


def judged(length, count, percent, differs, too_few, sign, measure):
    """`sign`: of a better value. A single text may differ for `mrrope compare`, by its stretches; it is no evidence about others."""
    value, low, high = percent
    too_few = too_few or count < FEWEST
    differs = differs and not too_few
    blind = not differs and (high - low) / 2 > SEEN[measure]
    return Difference(length, count, value, low, high, differs, too_few, blind, 0 if not differs else 1 if sign * value > 0 else -1)


def reading_difference(row):
    length, count, ratio, low, high, differs, too_few = row
    return judged(length, count, [100 * (one - 1) for one in (ratio, low, high)], differs, too_few, -1, READING)


def answer_difference(row):
    length, count, value, low, high, differs, too_few, *_ = row
    return judged(length, count, (value, low, high), differs, too_few, +1, "answers")


def likelihood_difference(row):
    length, count, _, _, _, _, too_few, value, low, high, differs = row
    if None in (value, low, high):  # a server does not tell, or one prompt was all
        return None
    too_few = too_few or count < FEWEST
    differs = differs and not too_few
    return Difference(length, count, value, low, high, differs, too_few, False, 0 if not differs else 1 if value < 0 else -1)


class Cells:
    """Of one model: its facts, its runs, its values and differences."""

    def __init__(self, folder):
        head = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        self.name, self.facts = head["name"], head
        self.runs = read_runs(folder)
        self.theory = json.loads((folder / "theory.json").read_text(encoding="utf-8"))
        self._texts = {}
        for line in read_lines(folder / "items.jsonl"):
            if "text" in line:
                self._texts.setdefault(line["factor"], set()).add(line["text"])
        self._values, self._differences, self._likelihoods = {}, {}, {}
        for line in read_lines(folder / "verdicts.jsonl"):
            place = (line["measure"], line["factor"], line["task"])
            if "values" in line:
                self._values.setdefault(place, {})[line["plan"]] = {row[0]: row[1:] for row in line["values"]}
            else:
                pair = (*place, line["plan"], line["against"])
                made = reading_difference if line["measure"] == READING else answer_difference
                self._differences[pair] = {row[0]: made(row) for row in line["differences"]}
                if line["measure"] != READING:
                    self._likelihoods[pair] = {row[0]: likelihood_difference(row) for row in line["differences"]}

    @property
    def trained(self):
        return self.facts["context_trained"]

    def measures(self):
        """[(measure, factor)], perplexities first."""
        return sorted({place[:2] for place in self._values}, key=lambda one: (one[0] != READING, one))

    def factors(self):
        return sorted({factor for _, factor in self.measures()})

    def texts(self, factor):
        """Names of what was read for perplexities."""
        return sorted(self._texts.get(factor, ()))

    def tasks(self, measure, factor):
        """Names of the tasks whose mean the measure is; none: perplexities, and a single task."""
        found = sorted({task for name, s, task in self._values if (name, s) == (measure, factor) and task})
        return found if len(found) > 1 else []

    def plans(self, measure, factor):
        return sorted(self._values.get((measure, factor, None), {}), key=order)

    def values(self, measure, factor, plan, task=None):
        """{length: [value, …]} as verdicts.jsonl has them."""
        return self._values.get((measure, factor, task), {}).get(plan, {})

    def lengths(self, measure, factor):
        return sorted({length for plan in self.plans(measure, factor) for length in self.values(measure, factor, plan)})

    def difference(self, measure, factor, plan, against, length, task=None):
        """A Difference of perplexities or hits, whichever of the two the file has as the baseline; None: not measured."""
        if found := self._differences.get((measure, factor, task, plan, against), {}).get(length):
            return found
        other = self._differences.get((measure, factor, task, against, plan), {}).get(length)
        return turned_ratio(other) if other and measure == READING else turned(other) if other else None

    def lengths_in(self, measure, factor, part):
        """The lengths in a part of the window: its second half, what is between the trained length and that, or the trained one."""
        half = factor * self.trained / 2
        first, last = {AT_TRAINED: (self.trained, self.trained), HALF: (self.trained + 1, half),
                       LONGEST: (max(self.trained, half) + 1, 2 * half)}[part]  # fmt: skip
        return [length for length in self.lengths(measure, factor) if first <= length <= last]

    def meeting(self, measure, factor, plan, against, part):
        """The Difference of two plans at the longest length that both have in a part of the window; None: there is none."""
        found = (self.difference(measure, factor, plan, against, length) for length in reversed(self.lengths_in(measure, factor, part)))
        return next(filter(None, found), None)

    def likelihood(self, measure, factor, plan, against, length, task=None):
        """The same of -ln p of the right answers."""
        if found := self._likelihoods.get((measure, factor, task, plan, against), {}).get(length):
            return found
        other = self._likelihoods.get((measure, factor, task, against, plan), {}).get(length)
        return turned(other) if other else None


def turned(one):
    """The same difference, seen from the other plan."""
    return dataclasses.replace(one, value=-one.value, low=-one.high, high=-one.low, better=-one.better)


def turned_ratio(one):
    low, value, high = (100 * (1 / (1 + side / 100) - 1) for side in (one.high, one.value, one.low))
    return dataclasses.replace(one, value=value, low=low, high=high, better=-one.better)


def all_models(data=DATA):
    return [Cells(file.parent) for file in sorted(data.glob("*/model.json"))]


def number(value, digits=1):
    """"+0.3", "-1.2", and never "-0.0"."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def shown(one, unit="", digits=1):
    """"-1.8 ± 0.6 % *", "+12.0 ± 4.1 ?", "3.4x, 3.2 to 3.5"; a star where it is a difference. unit: " %" of perplexities."""
    if one is None:
        return ""
    star = " \\*" if one.differs else " ?" if one.blind else ""
    if one.too_few:
        return f"{number(one.value, digits)}{unit}, n = {one.count}"
    if unit and max(abs(one.low), abs(one.high)) > 50:
        return f"{1 + one.value / 100:.2g}x, {1 + one.low / 100:.2g} to {1 + one.high / 100:.2g}{star}"
    half = (one.high - one.low) / 2
    if abs((one.high - one.value) - (one.value - one.low)) > 0.4 * half:
        return f"{number(one.value, digits)}{unit}, {number(one.low, digits)} to {number(one.high, digits)}{star}"
    return f"{number(one.value, digits)} ± {half:.{digits}f}{unit}{star}"
