# SPDX-License-Identifier: MIT
"""The search from Python, without a model: a synthetic objective, the verdict by hand, prompts, and records on disk."""
import json
import math
import random

import pytest

import mrrope
from mrrope import _core, tuning
from mrrope.tuning_record import Record

SPEC = mrrope.Spec(dim=64, base=10000, context=512)
ITEMS, TOKENS = 6, 1000  # of one method


def loss_of(method, item):
    """A bowl around factor 6, in the logarithm, whatever the method's own kind: items differ by a constant only."""
    plan = mrrope.plan(SPEC, "4k", method)
    slowest = plan.pair_factors[-1]
    return tuning.Loss(beyond=1 + 0.1 * item + abs(math.log(slowest / 6)), within=0.5 + 0.01 * item)


def new_search(**options):
    return tuning.Search(tuning.Space(SPEC, "4k"), **{"items": ITEMS, "tokens": TOKENS, "token_budget": 60_000, **options})


def searched(budget=60_000, objective=loss_of, **options):
    search = new_search(token_budget=budget, **options)
    while method := search.ask():
        assert search.ask() == method  # until it is told
        search.tell([objective(method, item) for item in range(ITEMS)])
    return search


def test_a_search_finds_the_bottom_of_a_bowl_that_no_published_method_reaches():
    search = searched()
    assert search.best_fixed.fixed and not search.best.fixed
    # Every fixed method slows the last pair 8 times or not at all near that: ln(8/6) is what there is to gain
    gained = search.best_fixed.mean.beyond - search.best.mean.beyond
    assert gained > 0.9 * math.log(8 / 6)
    factor = mrrope.plan(SPEC, "4k", search.best.method).pair_factors[-1]
    assert factor == pytest.approx(6, rel=0.05)


def test_the_fixed_methods_come_first_and_a_draw_is_theirs():
    search = searched(objective=lambda method, item: tuning.Loss(1.0, 1.0))
    names = [c.name for c in search.candidates]
    assert names[:5] == [str(m) for m in tuning.Space(SPEC, "4k").fixed]
    assert names[:5] == ["yarn", "mrrope-pro", "mrrope-uni", "ntk", "yarn-rotations"]
    assert search.best.name == search.best_fixed.name == "yarn"


def test_the_fixed_methods_are_measured_whatever_the_budget():
    search = searched(budget=1)
    assert [len(c.losses) for c in search.candidates if c.losses] == [ITEMS] * 5
    assert search.tokens == 5 * TOKENS


def test_the_same_seed_is_the_same_search_and_a_search_goes_on_from_what_was_told():
    told = {}

    def remembered(method, item):
        return told.setdefault((str(method), item), loss_of(method, item))

    first = searched(objective=remembered)
    again = searched(objective=lambda method, item: told[str(method), item])  # KeyError if it asks for others
    assert [c.name for c in first.candidates] == [c.name for c in again.candidates]
    assert [c.name for c in searched(seed=2).candidates] != [c.name for c in first.candidates]


def test_preference_weighs_the_two_sides():
    def conflict(method, item):
        factor = mrrope.plan(SPEC, "4k", method).pair_factors[-1]
        return tuning.Loss(beyond=abs(math.log(factor / 12)), within=abs(math.log(factor / 6)))

    def slowest(prefer):
        search = searched(objective=conflict, prefer=prefer)
        return mrrope.plan(SPEC, "4k", search.best.method).pair_factors[-1]

    assert slowest("long") == pytest.approx(12, rel=0.05) and slowest("short") == pytest.approx(6, rel=0.05)


def test_the_front_holds_what_nothing_beats():
    search = searched()
    front = tuning.front(search.candidates)
    means = [(c.mean.beyond, c.mean.within) for c in search.candidates if c.losses]
    for index in front:
        mine = search.candidates[index].mean
        assert not any(b < mine.beyond and w <= mine.within for b, w in means)


def test_points_of_the_space_are_methods():
    space = tuning.Space(SPEC, "4k")
    assert [axis.name for axis in space.axes] == ["p", "low", "high", "attention_scale", "factor"]
    method = space.at(space.point_of(mrrope.Method("mrrope-pro")))
    assert method.name == "mrrope-power" and space.point_of(mrrope.Method("ntk")) is None
    ours, pro = mrrope.plan(SPEC, "4k", method), mrrope.plan(SPEC, "4k", "mrrope-pro")
    assert abs(ours.pair_factors / pro.pair_factors - 1).max() < 0.05  # at() rounds to what a loss can tell apart
    assert space.at([2.0] * 5) == space.at([1.0] * 5)


@pytest.mark.parametrize("wrong", [
    lambda: tuning.Space(SPEC, 512),
    lambda: tuning.Space(SPEC, "4k").at([0.5]),
    lambda: tuning.Space(SPEC, "4k").at([math.nan] * 5),
    lambda: new_search(items=0),
    lambda: new_search(tokens=0),
    lambda: new_search(prefer="wide"),
    lambda: new_search().best,
    lambda: new_search().best_fixed,
    lambda: new_search().tell([tuning.Loss(1, 1)]),
    lambda: searched(1).tell([]),
    lambda: tuning.Loss(math.inf, 0),
    lambda: tuning.verdict(measured("tuned", [1.0, 2.0]), [measured("yarn", [1.0])], "yarn"),
    lambda: tuning.verdict(measured("tuned", [1.0, 2.0]), [measured("yarn", [1.0, 2.0])], "ntk"),
    lambda: tuning.verdict(measured("tuned", [1.0, 2.0]), [measured("yarn", [1.0, 2.0])], "yarn", "speed"),
])
def test_what_the_headers_leave_to_callers_is_an_error_here(wrong):
    with pytest.raises(mrrope.Error):
        wrong()


# ---- The verdict ---------------------------------------------------------------------------------------------------


def measured(name, ppl, answers=(), score=()):
    return tuning.Measured(name, ppl_long=list(ppl), ppl_short=[], answer_nll=list(answers), score=list(score))


def test_a_difference_is_the_mean_of_paired_differences_and_must_be_beyond_doubt():
    chance = random.Random(3)
    texts = [chance.uniform(2, 4) for _ in range(6)]  # texts differ far more than methods do
    better = [t - 0.05 + chance.gauss(0, 0.005) for t in texts]
    same = [t + chance.gauss(0, 0.05) for t in texts]
    verdict = tuning.verdict(measured("t", better), [measured("yarn", texts)], "yarn")
    (difference,) = verdict.differences
    by_hand = math.expm1(sum(b - t for b, t in zip(better, texts)) / 6)
    assert difference.difference == pytest.approx(by_hand, abs=1e-12)
    assert difference.low < by_hand < difference.high < 0 and difference.better and verdict.recommended == "tuned"
    assert tuning.verdict(measured("t", same), [measured("yarn", texts)], "yarn").recommended == "yarn"


def test_worse_answers_are_not_recommended():
    texts = [2.0, 3.0, 2.5, 2.2, 2.8, 3.1]
    tuned = measured("t", [t - 0.05 for t in texts], [1.0, 1.1, 1.2, 0.9])
    fixed = measured("yarn", texts, [0.5, 0.6, 0.7, 0.4])
    verdict = tuning.verdict(tuned, [fixed], "yarn")
    assert [(d.metric, d.better, d.worse) for d in verdict.differences] == [
        ("ppl_long", True, False), ("answer_nll", False, True)]
    assert verdict.recommended == "yarn"


# ---- Prompts -------------------------------------------------------------------------------------------------------


def words(text):
    return len(text.split())


def test_a_sample_fills_the_length_that_python_counts():
    story = _core.built_in_story(20_000)
    sample = _core.make_sample("niah_single_2", story, 1000, 7, 0, 10, words)
    used = words(sample.prompt + sample.answer_prefix)
    # 10 for the frame, 128 for an answer; what is left over is less than a sentence
    assert 1000 - 10 - 128 - 30 < used <= 1000 - 10 - 128
    assert sample.score(sample.answers[0]) == 1 and sample.score("no idea") == 0
    assert sample.answers[0].strip() in sample.prompt
    again = _core.make_sample("niah_single_2", story, 1000, 7, 0, 10, words)
    assert again.prompt == sample.prompt
    assert _core.make_sample("niah_single_2", story, 1000, 8, 0, 10, words).prompt != sample.prompt


def test_what_a_tokenizer_raises_arrives():
    def broken(text):
        raise KeyError(text[:3])

    with pytest.raises(KeyError):
        _core.make_sample("passkey", "", 1000, 1, 0, 0, broken)
    with pytest.raises(mrrope.Error, match="there is no task"):
        _core.make_sample("nothing", "", 1000, 1, 0, 0, words)
    with pytest.raises(mrrope.Error, match="questions"):
        _core.make_sample("qa_1", "", 1000, 1, 0, 0, words)
    with pytest.raises(mrrope.Error):
        _core.make_sample("passkey", "", 20, 1, 0, 0, words)


# ---- Records -------------------------------------------------------------------------------------------------------


def test_a_record_remembers_and_drops_a_line_that_was_cut_off(tmp_path):
    path = tmp_path / "tuned.jsonl"
    record = Record(path)
    record.add("yarn", "a", "text", [1.5, 2.25])
    record.add("mrrope-power:p=2", "a", "text", [1 / 3, 0.1])
    assert len(path.read_text().splitlines()) == 2  # on disk before close
    record.close()
    for cut in (1, 5, 30):
        whole = path.read_bytes()
        path.write_bytes(whole + whole.splitlines(keepends=True)[-1][:-cut])
        again = Record(path)
        assert again.find("yarn", "a", 2) == [1.5, 2.25]
        assert again.find("mrrope-power:p=2", "a", 2) == [1 / 3, 0.1]  # the same bits
        assert again.find("yarn", "b", 2) is None and again.find("yarn", "a", 1) is None
        again.close()
        assert path.read_bytes() == whole


@pytest.mark.parametrize("line", [
    b"\xff\xfe", b"{}", b"[]", b"7", b'{"method": "yarn", "item": "a"}', b'{"method": "yarn", "item": "a", "values": 5}',
    b'{"method": "yarn", "item": "a", "values": [NaN]}', b'{"method": "yarn", "item": "a", "values": [1e999]}',
    b'{"method": "yarn", "item": "a", "values": [null]}', b"[" * 100_000,
])
def test_a_damaged_record_is_refused_with_its_line(tmp_path, line):
    path = tmp_path / "tuned.jsonl"
    good = json.dumps({"method": "yarn", "item": "a", "values": [1.0]}).encode()
    path.write_bytes(good + b"\n" + line + b"\n" + good + b"\n")
    before = path.read_bytes()
    with pytest.raises(mrrope.Error, match="line 2") as error:
        Record(path)
    assert error.value.code == "malformed" and path.read_bytes() == before


def test_a_record_has_one_writer(tmp_path):
    record = Record(tmp_path / "tuned.jsonl")
    with pytest.raises(mrrope.Error, match="another process"):
        Record(tmp_path / "tuned.jsonl")
    record.close()
    Record(tmp_path / "tuned.jsonl").close()
    with pytest.raises(mrrope.Error) as error:
        Record(tmp_path / "nowhere" / "tuned.jsonl")
    assert error.value.code == "input/output"


def test_numbers_that_are_none_are_not_recorded(tmp_path):
    record = Record(tmp_path / "tuned.jsonl")
    with pytest.raises(mrrope.Error, match="not numbers"):
        record.add("yarn", "a", "text", [math.nan])
    record.close()
    assert (tmp_path / "tuned.jsonl").read_text() == ""
