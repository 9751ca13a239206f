# SPDX-License-Identifier: MIT
"""Which plan should I take? The answer, and how sure it is, by counting differences.

The plans of one model and extension meet in every measure: perplexity at the longest length and at the trained one, and
every kind of answers at its longest. Two plans meet once in each, and one is better there, or they are tied
(`mrrope compare`). The plan to take is the one that is better most often, less the times that it is worse, over all its
meetings. It is
  sure      never worse than any other, and better than each other one at least once
  likely    against each other one better more often than worse
  a guess   ahead over all, but some other plan is better than it as often or more often than worse
  open      no plan is ahead of all others
"""
import dataclasses

from . import READING

SURE, LIKELY, GUESS, OPEN = "sure", "likely", "a guess", "open"


@dataclasses.dataclass(frozen=True)
class Answer:
    plans: tuple  # to take; several: nobody is ahead
    certainty: str
    meetings: dict  # {other: (better, worse, tied)} of the first
    models: int


def places(cells, factor):
    """(measure, length) of each place in which plans meet."""
    for measure, s in cells.measures():
        if s != factor:
            continue
        lengths = [length for length in cells.lengths(measure, factor) if length <= factor * cells.trained]
        found = {max(lengths)} if lengths else set()
        if measure == READING and cells.trained in lengths:
            found.add(cells.trained)
        for length in sorted(found):
            yield measure, length


def met(groups):
    """{(plan, other): [better, worse, tied]} over all groups, (cells, factor)."""
    counts = {}
    for cells, factor in groups:
        for measure, length in places(cells, factor):
            plans = [plan for plan in cells.plans(measure, factor) if plan != "none" and ":cache=" not in plan]
            for plan in plans:
                for other in plans:
                    found = None if plan == other else cells.difference(measure, factor, plan, other, length)
                    if not found or found.too_few:
                        continue
                    counts.setdefault((plan, other), [0, 0, 0])[0 if found.better > 0 else 1 if found.better < 0 else 2] += 1
    return counts


def answer(groups):
    """An Answer, or None where fewer than two plans were compared."""
    counts = met(groups)
    if not counts:
        return None
    plans = sorted({plan for plan, _ in counts})
    ahead = {plan: sum(b - w for (one, _), (b, w, _) in counts.items() if one == plan) for plan in plans}
    best = [plan for plan in plans if ahead[plan] == max(ahead.values())]
    against = {other: tuple(count) for (plan, other), count in counts.items() if plan == best[0]}
    if len(best) > 1:
        certainty = OPEN
    elif all(worse == 0 and better > 0 for better, worse, _ in against.values()):
        certainty = SURE
    else:
        certainty = LIKELY if all(better > worse for better, worse, _ in against.values()) else GUESS
    return Answer(tuple(best), certainty, against, len({cells.name for cells, _ in groups}))
