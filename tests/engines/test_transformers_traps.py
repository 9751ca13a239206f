# SPDX-License-Identifier: MIT
"""What surprises people in transformers 4 and 5, each as a test; grids are in test_conformance.py and test_targets.py.

    $(tools/engine_env transformers5) -m pytest -rs tests/engines/test_transformers_traps.py
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

transformers = c.needs("transformers", "transformers5")
import torch  # noqa: E402
from adapters import transformers as adapter  # noqa: E402

FIVE = adapter.NAME == "transformers5"
TABLE = np.array([c.BASE ** (-i / c.PAIRS) / s for i, s in enumerate(c.LONG)])


def model_of(folder):
    return transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.from_pretrained(folder))


def error_after(model, length):
    rotary = model.model.rotary_emb
    rotary(torch.zeros(1, 1), torch.tensor([[1, length - 1]]))
    return np.abs(rotary.inv_freq.double().numpy() / TABLE - 1).max()


def test_casting_a_loaded_model_to_bfloat16_rounds_the_table(tmp_path):
    c.write_config(tmp_path, "llama", c.UNIVERSAL)
    model = model_of(tmp_path).to(torch.bfloat16)
    # 5 keeps the short table as a buffer, which is cast too; beyond L both compute the long one anew
    assert (error_after(model, 100) > 1e-3) == FIVE
    assert error_after(model, c.CONTEXT) < 1e-6


def test_a_dtype_chosen_when_loading_leaves_the_table_alone(tmp_path):
    c.write_config(tmp_path, "llama", c.UNIVERSAL)
    model_of(tmp_path).save_pretrained(tmp_path / "saved")
    key = "dtype" if FIVE else "torch_dtype"
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved", **{key: torch.bfloat16})
    assert model.model.embed_tokens.weight.dtype == torch.bfloat16
    for length in (100, c.CONTEXT):
        assert error_after(model, length) < 1e-6


def test_a_saved_config_keeps_only_the_spelling_of_its_version(tmp_path):
    c.write_config(tmp_path, "llama", c.UNIVERSAL)
    transformers.AutoConfig.from_pretrained(tmp_path).save_pretrained(tmp_path / "saved")
    saved = json.loads((tmp_path / "saved" / "config.json").read_text())
    assert ("rope_parameters" in saved, "rope_scaling" in saved, "rope_theta" in saved) == (FIVE, not FIVE, not FIVE)


@pytest.mark.skipif(FIVE, reason="transformers 4 is the one that does not see it")
def test_a_config_that_transformers_5_saved_loses_base_and_scaling_in_4(tmp_path):
    path = c.write_config(tmp_path, "llama", c.UNIVERSAL, "rope_parameters")
    speeds, scale = adapter.ask(tmp_path, c.CONTEXT)["all"]
    assert np.abs(speeds / 1e4 ** (-np.arange(c.PAIRS) / c.PAIRS) - 1).max() < adapter.TOLERANCE and scale == 1
    notes = c.dump("effective", adapter.NAME, path)["notes"]
    assert any("takes 10000" in note for note in notes), notes


def test_a_factor_without_attention_factor_gives_another_scale_in_each_version(tmp_path):
    rope = {key: value for key, value in c.UNIVERSAL.items() if key != "attention_factor"}
    c.write_config(tmp_path, "llama", rope)
    expected = np.sqrt(1 + np.log(4) / np.log(c.STAR if FIVE else c.CONTEXT))
    assert adapter.ask(tmp_path, c.CONTEXT)["all"][1] == pytest.approx(expected, rel=1e-6)
    assert expected < c.SCALE - 0.05


def test_gemma_3_with_longrope_runs_again_and_again_beyond_its_length(tmp_path):
    config = dict(c.SHAPES["gemma3_text"], rope_scaling=dict(c.UNIVERSAL, original_max_position_embeddings=64))
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = model_of(tmp_path).eval()
    with torch.no_grad():
        for length in (100, 30, 100):
            assert torch.isfinite(model(torch.arange(length)[None] % 300 + 3).logits).all()


@pytest.mark.parametrize("model_type", ["mistral", "mixtral", "qwen3"])
def test_a_missing_head_dim_is_foreseen(model_type, tmp_path):
    config = {k: v for k, v in c.SHAPES["mistral"].items() if k != "head_dim"}
    config |= {"model_type": model_type, "rope_scaling": c.UNIVERSAL, "num_local_experts": 2}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    prediction = c.dump("effective", adapter.NAME, path)
    try:
        adapter.ask(tmp_path, c.CONTEXT)
        loads = True
    except Exception:  # whatever it is, it must be foreseen
        loads = False
    assert loads == ("error" not in prediction and prediction["loads"]), prediction
