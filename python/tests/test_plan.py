# SPDX-License-Identifier: MIT
"""Plans from Python: right numbers, no copies, values that behave."""
import copy
import gc
import json
import pickle
import weakref

import numpy as np
import pytest

import mrrope

LLAMA2 = mrrope.Spec(dim=128, base=10000, context=4096)


def test_tables_are_those_of_the_papers_authors(root):
    """Their code in float32: each speed is off by its own rounding and that of a few operations, 8 of 2^-24."""
    for case in json.loads((root / "tests/vectors/authors.json").read_text())["vectors"]:
        spec = mrrope.Spec(dim=case["rotary_dim"], base=case["base"], context=case["context_trained"])
        plan = mrrope.plan(spec, round(case["context_trained"] * case["factor"]), case["method"])
        np.testing.assert_allclose(plan.inv_freq, case["inv_freq_f32"], rtol=8 * 2**-24)


def test_tables_are_those_of_a_60_digit_implementation(root):
    """4 ulp is what methods.h promises; one more for the division."""
    ran = 0
    for case in json.loads((root / "tests/vectors/methods.json").read_text())["cases"]:
        spec = mrrope.Spec(dim=case["rotary_dim"], base=case["base"], context=case["context_trained"])
        if case.keys() - {"method", "rotary_dim", "base", "context_trained", "context_target", "pair_factors", "inv_freq",
                          "attention_scale"}:
            continue  # with a scaling of its own, or a length: covered in C++
        plan = mrrope.plan(spec, case["context_target"], case["method"])
        wanted = np.array(case["pair_factors"], dtype=float)
        np.testing.assert_allclose(plan.pair_factors, wanted, rtol=5 * 2**-53)
        ran += 1
    assert ran > 50


def test_arrays_are_read_only_views_into_the_plan():
    plan = mrrope.plan(LLAMA2, "64k")
    array = plan.inv_freq
    assert array.dtype == np.float64 and array.shape == (64,)
    assert not array.flags.writeable and not array.flags.owndata
    assert array.__array_interface__["data"][0] == plan.inv_freq.__array_interface__["data"][0]
    assert array.__array_interface__["data"][0] == plan.groups[0].inv_freq.__array_interface__["data"][0]
    with pytest.raises(ValueError):
        array[0] = 2


def test_an_array_keeps_what_it_points_into_alive():
    arrays = [mrrope.plan(LLAMA2, 8192 + i, "mrrope-pro").pair_factors for i in range(1000)]
    group = mrrope.plan(LLAMA2, "64k").groups[0]
    gc.collect()
    for i, array in enumerate(arrays):
        assert array[0] == 1 and array[-1] == pytest.approx((8192 + i) / 4096, rel=1e-14)
    assert group.inv_freq[0] == 1


def test_numbers_come_in_as_arrays_lists_and_other_types():
    factors = np.linspace(1, 4, 64)
    wanted = mrrope.plan(LLAMA2, "16k", mrrope.Method.custom(factors, attention_scale=1.25))
    np.testing.assert_array_equal(wanted.pair_factors, factors)
    assert wanted.attention_scale == 1.25
    assert mrrope.plan(LLAMA2, "16k", mrrope.Method.custom(list(factors), attention_scale=1.25)) == wanted
    assert mrrope.plan(LLAMA2, "16k", mrrope.Method.custom(np.repeat(factors, 2)[::2], attention_scale=1.25)) == wanted
    single = mrrope.Method.custom(factors.astype("float32"))
    np.testing.assert_array_equal(mrrope.plan(LLAMA2, "16k", single).pair_factors, factors.astype("float32"))
    with pytest.raises(mrrope.Error) as error:
        mrrope.plan(LLAMA2, "16k", mrrope.Method.custom(factors[:-1]))
    assert error.value.code in ("invalid argument", "inconsistent") and "64" in str(error.value)


def test_without_a_method_the_recommended_one_is_taken():
    plan = mrrope.plan(LLAMA2, "64k")
    assert str(plan.method) == "mrrope-pro" and plan.factor == 16 and plan.context == 65536
    assert plan.attention_scale == pytest.approx(0.1 * np.log(16) + 1, rel=1e-15)
    assert plan.conversion.kind == "progressive" and (plan.band.low, plan.band.high) == (20, 46)
    assert mrrope.plan(LLAMA2, 4096).factor == 1
    assert "Factor 16" in str(plan.explain()) and plan.exposure.unseen_pairs == 0


def test_a_model_may_be_words_a_config_a_file_or_a_folder(gguf, folder):
    config = json.loads((folder / "config.json").read_text())
    llama3 = mrrope.Spec(dim=128, base=500000, context=8192)
    for model in (config, folder, str(folder), folder / "config.json", mrrope.inspect(folder)):
        assert mrrope.spec(model).groups[0].base == llama3.base
        assert np.array_equal(mrrope.plan(model, "32k").inv_freq, mrrope.plan(llama3, "32k").inv_freq)
    assert mrrope.spec("dim=128,base=5e5,ctx=8k") == llama3
    assert mrrope.spec(gguf).context == 8192 and mrrope.plan(gguf, "32k").source == str(gguf)


def test_a_model_with_a_scaling_of_its_own_is_extended_from_it(root):
    config = json.loads((root / "tests/formats/configs/llama-3.1-8b.json").read_text())
    by_hand = mrrope.Spec(dim=128, base=5e5, context="128k", scaling=mrrope.Method("llama3"), scaling_factor=8,
                          scaling_context="8k")
    plan = mrrope.plan(config, "512k")
    assert np.array_equal(plan.inv_freq, mrrope.plan(by_hand, "512k").inv_freq)
    assert plan.trained_factors[-1] == 8 and plan.pair_factors[-1] == 32


def test_groups_of_layers_keep_their_names_and_tables(root):
    plan = mrrope.plan(root / "tests/formats/configs/gemma-3-4b.json", "512k")
    assert [group.name for group in plan.groups] == ["full_attention", "sliding_attention"]
    assert [group.extended for group in plan.groups] == [True, False]
    assert np.array_equal(plan.groups[1].inv_freq, plan.spec.groups[1].inv_freq)


def test_plans_are_values():
    plan = mrrope.plan(LLAMA2, "64k", "yarn:beta_fast=16+resonance")
    again = mrrope.Plan.from_json(plan.to_json())
    assert again == plan and hash(again) == hash(plan) and again.to_json() == plan.to_json()
    assert pickle.loads(pickle.dumps(plan)) == plan and copy.deepcopy(plan) == plan
    assert plan != mrrope.plan(LLAMA2, "32k", "yarn:beta_fast=16+resonance") and plan != "a plan"
    assert pickle.loads(pickle.dumps(plan.method)) == plan.method == mrrope.Method("yarn:beta_fast=16+resonance")
    assert len({plan, again, plan.spec, mrrope.Spec(dim=128, context=4096)}) == 2


def test_the_spec_of_a_plan_outlives_the_plan():
    spec = mrrope.plan(LLAMA2, "64k").spec
    gc.collect()
    assert spec == LLAMA2 and spec.turns[0] == pytest.approx(4096 / (2 * np.pi), rel=1e-15)


def test_nothing_is_leaked():
    """The extension reports leaks at exit; this one fails nearer to its cause."""
    class Owner(list):
        pass

    owner = Owner([np.ones(64)])
    gone = weakref.ref(owner)
    method = mrrope.Method.custom(owner[0])
    del owner
    gc.collect()
    assert gone() is None and method.name == "custom"


def test_errors_have_a_code_and_a_place():
    for make, code, where in (
        (lambda: mrrope.Spec(dim=127, context=4096), "invalid argument", "groups[0].rotary_dim"),
        (lambda: mrrope.plan(LLAMA2, 0), "invalid argument", "context"),
        (lambda: mrrope.plan(LLAMA2, "32q"), None, "context"),
        (lambda: mrrope.Method("yran"), "invalid argument", None),
        (lambda: mrrope.Plan.from_json("{}"), None, None),
        (lambda: mrrope.Plan.from_json("not json"), "malformed", None),
    ):
        with pytest.raises(mrrope.Error) as error:
            make()
        assert code in (None, error.value.code), error.value
        assert where in (None, error.value.where), error.value
        assert error.value.message in str(error.value)
    with pytest.raises(mrrope.Error, match="did you mean"):
        mrrope.Method("yran")
    assert pickle.loads(pickle.dumps(error.value)).code == "malformed"


def test_every_method_is_listed_and_has_a_plan():
    names = [info.name for info in mrrope.methods()]
    assert len(names) == 20 and names[0] == "none" and "cope" in names
    for info in mrrope.methods():
        if not info.needs_parameters:
            assert mrrope.plan(LLAMA2, "16k", info.name).factor == 4
        assert info.summary and info.formula
