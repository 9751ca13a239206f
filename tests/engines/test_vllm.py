# SPDX-License-Identifier: MIT
"""What surprises people in vLLM, each as a test; the grid of configs is in test_conformance.py.

    $(tools/engine_env vllm) -m pytest -rs tests/engines/test_vllm.py
"""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

c.needs("vllm", "vllm")
import torch  # noqa: E402
from adapters import layers, vllm as adapter  # noqa: E402
from vllm.transformers_utils.config import get_config  # noqa: E402


def scale(folder, rope):
    c.write_config(folder, "llama", rope)
    return adapter.ask(folder, c.CONTEXT)["all"][1]


def test_yarn_honours_attention_factor(tmp_path):
    assert scale(tmp_path, dict(c.YARN, attention_factor=1.3)) == pytest.approx(1.3, rel=1e-6)


def test_yarn_ignores_attn_factor_and_apply_yarn_scaling(tmp_path):
    assert scale(tmp_path, dict(c.YARN, attn_factor=1.3, apply_yarn_scaling=False)) == pytest.approx(c.SCALE, rel=1e-6)


def test_longrope_ignores_attention_factor_and_takes_the_mscales(tmp_path):
    assert scale(tmp_path, dict(c.ONE_LIST, attention_factor=9.0, **c.MSCALES)) == pytest.approx(c.SCALE, rel=1e-6)


def test_dynamic_does_nothing(tmp_path):
    c.write_config(tmp_path, "llama", c.ROPES["dynamic"])
    plain = c.BASE ** (-np.arange(c.PAIRS) / c.PAIRS)
    assert np.abs(adapter.ask(tmp_path, c.CONTEXT)["all"][0] / plain - 1).max() < adapter.TOLERANCE


@pytest.mark.parametrize(
    ("rope", "top", "longest"),
    [
        (c.UNIVERSAL, {}, c.CONTEXT),
        (c.UNIVERSAL, c.ORIGINAL, c.TRAINED),  # taken for the length: the short list is all it ever uses
        (c.ROPES["linear"], {}, 4 * c.CONTEXT),  # the factor multiplies a length that has it already
        (c.YARN, {"max_position_embeddings": c.TRAINED}, c.TRAINED),  # and here it does not
    ],
    ids=["universal", "original at the top level", "linear", "yarn at the trained length"],
)
def test_the_length_it_offers(rope, top, longest, tmp_path):
    path = c.write_config(tmp_path, "llama", rope)
    path.write_text(json.dumps(json.loads(path.read_text()) | top))
    assert adapter.length(tmp_path) == longest
    assert c.dump("effective", "vllm", path)["context"] == longest


def test_a_bfloat16_model_rounds_angles_and_scale(tmp_path):
    c.write_config(tmp_path, "llama", c.UNIVERSAL)
    rotary = adapter.rotary_of(tmp_path, c.CONTEXT, dtype=torch.bfloat16)
    cosine, sine = (x.astype(np.float64) for x in layers.unit_rotation(rotary, [1], c.PAIRS))
    exact = adapter.ask(tmp_path, c.CONTEXT)["all"]
    assert 1e-3 < np.abs(np.arctan2(sine, cosine) / exact[0] - 1).max() < 2**-7
    assert 1e-4 < np.abs(np.hypot(cosine, sine) / exact[1] - 1).max() < 2**-7


def test_far_positions_carry_the_rounding_of_a_float32_angle(tmp_path):
    c.write_config(tmp_path, "llama", c.UNIVERSAL)
    rotary = adapter.rotary_of(tmp_path, c.CONTEXT)
    cosine, _ = layers.unit_rotation(rotary, [c.CONTEXT - 1], c.PAIRS)
    speeds = c.dump("effective", "vllm", tmp_path / "config.json")["groups"][0]["inv_freq"]
    exact = c.SCALE * np.cos((c.CONTEXT - 1) * np.asarray(speeds))
    error = np.abs(cosine - exact).max()
    assert 1e-5 < error < (c.CONTEXT - 1) * 2**-23  # the angle of the fastest pair, rounded in its speed and in itself


@pytest.mark.parametrize("shape", c.SHAPES)
def test_the_overrides_that_extend_prints_make_the_plan_without_a_file(shape, tmp_path):
    path = c.trained_config(tmp_path, shape)
    delivery = c.dump("deliver", "vllm", path, c.CONTEXT, "mrrope-pro")
    words = shlex.split(next(command for command in delivery["commands"] if "--hf-overrides" in command))
    overrides = json.loads(words[words.index("--hf-overrides") + 1])
    original = get_config(tmp_path, trust_remote_code=False)
    config = get_config(tmp_path, trust_remote_code=False, hf_overrides_kw=overrides)
    assert config.to_dict() != original.to_dict()
    assert path.read_text() == json.dumps(json.loads(path.read_text()))
    found = adapter.ask_config(config, c.CONTEXT)
    assert c.same_rotation(delivery["groups"], found, adapter.TOLERANCE, 2e-4) is None


@pytest.mark.parametrize(
    ("model_type", "error"),
    [
        ("cohere", "only supports neox_style"),
        ("cohere2", "only supports neox_style"),
        ("cohere2_moe", "only supports neox_style"),
        ("ernie4_5_moe", "only supports neox_style"),
        ("glm4", "only supports neox_style"),
        ("gpt_oss", "beta_fast"),
    ],
)
def test_models_whose_code_takes_no_table_stop_as_predicted(model_type, error, tmp_path):
    path, served = c.extended_config(tmp_path, model_type)
    with pytest.raises((ValueError, KeyError), match=error):
        adapter.rotary_of(tmp_path, c.CONTEXT)
    assert "vllm" not in served
    assert not c.dump("effective", "vllm", path)["loads"]
