# SPDX-License-Identifier: MIT
"""Which plan should I take? The answer, and how sure it is, by counting differences.

The plans of one model and extension meet in places: in perplexity at the longest and at the trained length, and in every kind of
answers at its longest. In a place one of two plans is better, or they are tied (`mrrope compare`); what cannot be told does not
count. Only plans that were measured in every place are ranked, so that no plan leads by what another was not asked. The plan to
take is the one that is better most often, less the times that it is worse. It is
  sure      never worse than any other, and better than each other one at least once
  likely    against each other one better more often than worse
  a guess   ahead over all, but some other plan is better than it as often or more often than worse
  open      no plan is ahead of all others
"""
import dataclasses

from . import READING
from .cells import AT_TRAINED, LONGEST

SURE, LIKELY, GUESS, OPEN = "sure", "likely", "a guess", "open"


@dataclasses.dataclass(frozen=True)
class Answer:
    plans: tuple  # to take; several: nobody is ahead
    certainty: str
    meetings: dict  # {other: (better, worse, tied)} of the first
    left_out: tuple  # plans that were not measured everywhere
    models: int


def places(cells, factor):
    """(measure, part of the window) of each place in which plans meet."""
    for measure, s in cells.measures():
        if s == factor:
            yield from ((measure, part) for part in ((LONGEST, AT_TRAINED) if measure == READING else (LONGEST,)))


def met(cells, factor, measure, part):
    """{(plan, other): cells.Difference} of a place; none where nothing can be told."""
    plans = [plan for plan in cells.plans(measure, factor) if plan != "none" and ":cache=" not in plan]
    found = {(plan, other): cells.meeting(measure, factor, plan, other, part) for plan in plans for other in plans if plan != other}
    found = {pair: one for pair, one in found.items() if one and not one.too_few}
    return found if any(one.counts for one in found.values()) else {}


def certainty(best, against):
    if len(best) > 1:
        return OPEN
    if all(worse == 0 and better > 0 for better, worse, _ in against.values()):
        return SURE
    return LIKELY if all(better > worse for better, worse, _ in against.values()) else GUESS


def answer(groups):
    """An Answer, or None where no two plans were compared in every place."""
    found = [(cells.name, met(cells, factor, *place)) for cells, factor in groups for place in places(cells, factor)]
    found = [(name, place) for name, place in found if place]
    measured = [{plan for plan, _ in place} for _, place in found]
    ranked = set.intersection(*measured) if measured else set()
    counts = {}
    for _, place in found:
        for (plan, other), one in place.items():
            if plan in ranked and other in ranked and one.counts:
                counts.setdefault((plan, other), [0, 0, 0])[(2, 0, 1)[one.better]] += 1
    if not counts:
        return None
    ahead = {plan: sum(b - w for (one, _), (b, w, _) in counts.items() if one == plan) for plan in sorted(ranked)}
    best = tuple(plan for plan in ahead if ahead[plan] == max(ahead.values()))
    against = {other: tuple(counts.get((best[0], other), (0, 0, 0))) for other in sorted(ranked - {best[0]})}
    left_out = tuple(sorted(set.union(*measured) - ranked))
    return Answer(best, certainty(best, against), against, left_out, len({name for name, _ in found}))
