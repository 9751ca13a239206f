# SPDX-License-Identifier: MIT
"""Ladders as values: rungs, which of them takes a text, JSON."""
import copy
import json
import pickle

import pytest

import mrrope

LLAMA2 = mrrope.Spec(dim=128, base=10000, context=4096)


@pytest.fixture
def ladder():
    return mrrope.ladder(LLAMA2, ["4k", "8k", 16384], reserve=100)


def test_rungs_within_the_trained_length_are_the_model_and_the_others_plans(ladder):
    assert [(rung.name, rung.length, str(rung.plan.method)) for rung in ladder.rungs] == [
        ("4k", 4096, "none"), ("8k", 8192, "mrrope-pro"), ("16k", 16384, "mrrope-pro")]
    assert ladder.rungs[1].plan == mrrope.plan(LLAMA2, "8k")
    assert all(rung.why for rung in ladder.rungs)
    assert repr(ladder) == "<ladder 4k none, 8k mrrope-pro, 16k mrrope-pro>"
    assert repr(ladder.rungs[1]) == "<rung 8k, mrrope-pro>"


def test_a_length_alone_chooses_rungs_that_end_there():
    rungs = mrrope.ladder(LLAMA2, "32k").rungs
    assert rungs[0].length == 4096 and rungs[-1].length == 32768 and len(rungs) <= 4
    assert {str(rung.plan.method) for rung in mrrope.ladder(LLAMA2, "32k", "yarn").rungs[1:]} == {"yarn"}


@pytest.mark.parametrize("prompt, answer, name", [
    (0, 0, "4k"), (4096, 0, "4k"), (4097, 0, "8k"), (4000, 96, "4k"), (4000, 97, "8k"), (3996, None, "4k"), (3997, None, "8k"),
    (16284, None, "16k"), (16383, None, "16k"), (16384, None, None), (1, 16384, None),
])
def test_a_text_goes_to_the_lowest_rung_that_holds_prompt_and_answer(ladder, prompt, answer, name):
    rung = ladder.rung_for(prompt, answer)
    assert (rung and rung.name) == name


def test_rungs_outlive_their_ladder():
    rung = mrrope.ladder(LLAMA2, ["4k", "8k"]).rungs[1]
    table = rung.plan.inv_freq
    del rung
    assert (table == mrrope.plan(LLAMA2, "8k").inv_freq).all()


def test_ladders_are_values_and_files(ladder, tmp_path):
    text = ladder.to_json()
    assert json.loads(text)["schema"] == "mrrope.ladder/1"
    assert mrrope.Ladder.from_json(text) == ladder and mrrope.Ladder.from_json(text).to_json() == text
    for other in (copy.deepcopy(ladder), pickle.loads(pickle.dumps(ladder))):
        assert other == ladder and hash(other) == hash(ladder)
    assert ladder != mrrope.ladder(LLAMA2, ["4k", "8k"]) and ladder.rungs[0] != ladder.rungs[1]
    assert ladder.reserve == 100


def test_plans_make_a_ladder():
    plans = [mrrope.plan(LLAMA2, "4k", "none"), mrrope.plan(LLAMA2, "8k", "yarn"), mrrope.plan(LLAMA2, "16k", "mrrope-power:p=2")]
    ladder = mrrope.Ladder.of_plans(plans, reserve=7)
    assert [rung.plan for rung in ladder.rungs] == plans and ladder.reserve == 7
    with pytest.raises(mrrope.Error):
        mrrope.Ladder.of_plans(plans[::-1])
    with pytest.raises(mrrope.Error):
        mrrope.Ladder.of_plans([plans[0], mrrope.plan(mrrope.Spec(dim=64, context=4096), "8k")])


def test_what_is_wrong_is_an_error(ladder):
    for wrong in ([], ["8k", "4k"], ["4k", "4k"], ["long"], [0], "long", 0):
        with pytest.raises(mrrope.Error):
            mrrope.ladder(LLAMA2, wrong)
    for wrong in (-1, 2**41, 4096):
        with pytest.raises(mrrope.Error):
            mrrope.ladder(LLAMA2, ["4k", "8k"], reserve=wrong)
    for prompt, answer in ((-1, 0), (0, -1), (2**60, 0)):
        with pytest.raises(mrrope.Error):
            ladder.rung_for(prompt, answer)
    with pytest.raises(TypeError):
        ladder.rung_for("4k")
    broken = json.loads(ladder.to_json())
    broken["rungs"][1]["length"] = 10**9
    with pytest.raises(mrrope.Error) as error:
        mrrope.Ladder.from_json(json.dumps(broken))
    assert error.value.where.startswith("rungs[1]")
