# SPDX-License-Identifier: MIT
"""The search for a server's table, without a model: what it is told comes from a formula."""
import math

import pytest

import mrrope
from mrrope.probing import Fingerprint, Row, Statement, Suspect, suspects

SPEC = mrrope.Spec(dim=32, context=512)


def log_p(plan, at):
    """As if attention saw every pair at one distance: four tokens, and how far each pair has turned by then."""
    turned = [plan.attention_scale * math.cos(speed * at + k) for k, speed in enumerate(plan.inv_freq)]
    logits = [sum(turned[k::4]) for k in range(4)]
    total = math.log(sum(map(math.exp, logits)))
    return [logit - total for logit in logits]


def said(plan):
    places = [[1]] * 3 + [[32 * k + i for i in range(1, 9)] for k in range(1, 16)]
    rows = [[Row(at, [0, 1, 2, 3], log_p(plan, at) if at > 1 else [math.log(0.25)] * 4) for at in some] for some in places]
    return [Statement([0] * some[-1].at, some) for some in rows]


def searched(served, tried):
    statements = said(served)
    search = Fingerprint(tried, statements)
    while question := search.ask():
        plan, which = question
        search.tell([[log_p(plan, r.at) if r.at > 1 else r.log_p for r in statements[s].rows] for s in which])
    return search


@pytest.mark.parametrize("method, factor", [("mrrope-pro", 4), ("yarn", 8), ("none", 1)])
def test_the_plan_that_says_the_same_is_named(method, factor):
    served = mrrope.plan(SPEC, factor * 512, method)
    search = searched(served, suspects(SPEC, "2k"))
    found = search.verdict()
    assert (found.kind, str(found.plan.method), found.factor) == ("named", method, factor), found.why
    assert search.alive >= 1 and found.rivals[0].name == found.name and not found.rivals[0].out and found.noise == 0


def test_suspects_are_the_published_methods_and_what_is_brought():
    own = Suspect("mine", mrrope.plan(SPEC, "4k", "mrrope-power:p=2"))
    names = [one.name for one in suspects(SPEC, 1536, [own])]
    assert names[:2] == ["mine", "none"] and {"yarn x3", "mrrope-pro x4", "linear x16"} <= set(names)


def test_what_was_not_asked_for_is_refused():
    statements = said(mrrope.plan(SPEC, "2k"))
    search = Fingerprint(suspects(SPEC), statements)
    _, which = search.ask()
    right = [[row.log_p for row in statements[s].rows] for s in which]
    for wrong in ([], right[1:], [right[0][1:], *right[1:]], [[[0.0]], *right[1:]],
                  [[[math.nan] * 4, *right[0][1:]], *right[1:]], [[[0.5] * 4, *right[0][1:]], *right[1:]]):
        with pytest.raises(mrrope.Error):
            search.tell(wrong)
    for make in (lambda: Row(0, [1], [-1]), lambda: Row(1, [], []), lambda: Row(1, [1], [-1, -2]), lambda: Row(1, [1], [0.1]),
                 lambda: Statement([1], []), lambda: Statement([1], [Row(2, [1], [-1])]),
                 lambda: Statement([1, 2], [Row(2, [1], [-1]), Row(1, [1], [-1])]), lambda: Fingerprint([], statements),
                 lambda: Fingerprint([*suspects(SPEC), *suspects(mrrope.Spec(dim=64, context=512))], statements)):
        with pytest.raises(mrrope.Error):
            make()
