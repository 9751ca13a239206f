# SPDX-License-Identifier: MIT
"""What surprises people in SGLang, each as a test; the grid of configs is in test_conformance.py.

    $(tools/engine_env sglang) -m pytest -rs tests/engines/test_sglang.py
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

c.needs("sglang", "sglang")
from adapters import layers, sglang as adapter  # noqa: E402
from transformers import AutoConfig  # noqa: E402


def rotation(folder, positions):
    rotary = adapter.rotary_of(AutoConfig.from_pretrained(folder))
    return layers.unit_rotation(rotary, positions, c.PAIRS)[0]


def test_the_token_at_the_position_of_l_star_is_rotated_as_the_first(tmp_path):
    path = c.write_config(tmp_path, "llama", c.UNIVERSAL)
    assert np.abs(rotation(tmp_path, [c.STAR]) - rotation(tmp_path, [0])).max() < 1e-6
    for near in (c.STAR - 1, c.STAR + 1):
        assert np.abs(rotation(tmp_path, [near]) - rotation(tmp_path, [near, c.CONTEXT - 1])).max() < 1e-6
    notes = c.dump("effective", "sglang", path)["notes"]
    assert any(f"position {c.STAR} as position 0" in note for note in notes), notes


@pytest.mark.parametrize("method", ["mrrope-pro", "mrrope-uni", "yarn"])
def test_the_file_written_for_it_has_no_such_position(method, tmp_path):
    c.trained_config(tmp_path, "llama")
    c.mrrope("extend", tmp_path, "-c", c.CONTEXT, "--method", method, "--target", "sglang")
    for position in (c.STAR, c.TRAINED, c.CONTEXT - 2):
        assert np.abs(rotation(tmp_path, [position]) - rotation(tmp_path, [position, c.CONTEXT - 1])).max() < 1e-6


def test_yarn_takes_attn_factor_and_ignores_attention_factor(tmp_path):
    c.write_config(tmp_path, "llama", dict(c.YARN, attention_factor=1.3, attn_factor=1.1))
    assert adapter.ask(tmp_path, c.CONTEXT)["all"][1] == pytest.approx(1.1 * c.SCALE, rel=1e-6)


def test_dynamic_uses_the_table_of_the_full_length_for_short_texts(tmp_path):
    c.write_config(tmp_path, "llama", c.ROPES["dynamic"])
    short, full = (adapter.ask(tmp_path, n)["all"][0] for n in (16, c.CONTEXT))
    assert np.array_equal(short, full)
    assert short[-1] < 0.5 * c.BASE ** (-(c.PAIRS - 1) / c.PAIRS)


@pytest.mark.parametrize("model_type", ["cohere", "cohere2", "cohere2_moe", "ernie4_5", "ernie4_5_moe", "glm4"])
def test_models_with_interleaved_pairs_take_no_table_as_predicted(model_type, tmp_path):
    path, served = c.extended_config(tmp_path, model_type)
    with pytest.raises(ValueError, match="only supports neox_style"):
        adapter.rotary_of(AutoConfig.from_pretrained(tmp_path))
    assert "sglang" not in served
    assert not c.dump("effective", "sglang", path)["loads"]
