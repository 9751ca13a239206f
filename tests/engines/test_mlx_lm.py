# SPDX-License-Identifier: MIT
"""What surprises people in mlx-lm, each as a test; the grid of configs is in test_conformance.py.

    $(tools/engine_env mlx_lm) -m pytest -rs tests/engines/test_mlx_lm.py
"""

import dataclasses
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

c.needs("mlx_lm", "mlx_lm")
from adapters import mlx_lm as adapter  # noqa: E402
from mlx_lm.utils import _get_classes  # noqa: E402
from transformers import AutoConfig  # noqa: E402


def test_a_config_that_transformers_5_saved_loses_base_and_scaling_on_llama(tmp_path):
    path = c.write_config(tmp_path, "llama", c.UNIVERSAL, "rope_parameters")
    plain = 1e4 ** (-np.arange(c.PAIRS) / c.PAIRS)
    speeds, scale = adapter.ask(tmp_path, c.CONTEXT)["all"]
    assert np.abs(speeds / plain - 1).max() < adapter.TOLERANCE and abs(scale - 1) < adapter.TOLERANCE
    assert any("takes 10000" in note for note in c.dump("effective", "mlx-lm", path)["notes"])


def test_both_spellings_together_work(tmp_path):
    c.write_config(tmp_path, "llama", c.UNIVERSAL, "both")
    wanted = [b / s for b, s in zip((c.BASE ** (-i / c.PAIRS) for i in range(c.PAIRS)), c.LONG)]
    assert np.abs(adapter.ask(tmp_path, c.CONTEXT)["all"][0] / wanted - 1).max() < adapter.TOLERANCE


def test_yarn_ignores_truncate(tmp_path):
    tables = []
    for rope in ("yarn", "yarn, no truncation"):
        c.write_config(tmp_path, "llama", c.ROPES[rope])
        tables.append(adapter.ask(tmp_path, c.CONTEXT)["all"][0])
    assert np.array_equal(*tables)


# ----------------------------------------------------------------------- every model that mrrope knows

# What mlx-lm wants where transformers writes something else, or nothing
FIELDS = {
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "exaone4": {"sliding_window_pattern": "LLLG"},
    "exaone_moe": {"is_moe_layer": [False] * 32},
    "glm4_moe": {"head_dim": 128},
    "glm4v_moe_text": {"head_dim": 128},
    "lfm2_moe": {"layer_types": ["full_attention"] * 32},
    "qwen3_next": {"partial_rotary_factor": 0.25},
    "qwen3_omni_moe_text": {"head_dim": 128},
    "qwen3_vl_text": {"tie_word_embeddings": False},
}
BY_TYPE = {"int": 2, "float": 0.5, "bool": False, "str": ""}
LEFT_OUT = {
    "codegen": "transformers takes no table for it",
    "gemma4_text": "transformers' defaults have layers of two sizes",
    "gemma4_unified_text": "as gemma4_text",
    "gptj": "as codegen",
    "minicpm": "its class comes with the checkpoint, and transformers has none",
    "ministral3": "its queries' temperature takes the place of L*: the scale is off",
    "olmo": "it ends the process where ai2-olmo is not installed",
    "olmo3": "transformers 4 does not take transformers 5's defaults",
}


def classes():
    source = (c.ROOT / "src/formats/hf_classes.cpp").read_text()
    return [name for name in re.findall(r'^\s+\{"(\w+)", \d', source, re.M) if name not in LEFT_OUT]


def ropes_of(config):
    """What its models rotate with: [(class, rotates interleaved pairs)]; empty if it does not build."""
    try:
        model_class, args_class = _get_classes(config)
        filled = dict(config)
        for field in dataclasses.fields(args_class):
            if field.default is field.default_factory is dataclasses.MISSING and config.get(field.name) is None:
                filled[field.name] = BY_TYPE.get(getattr(field.type, "__name__", field.type))
        modules = model_class(args_class.from_dict(filled)).named_modules()
    except (ValueError, TypeError, AttributeError, AssertionError):
        return []
    return [(type(m).__name__, getattr(m, "traditional", False)) for _, m in modules if "RoPE" in type(m).__name__]


@pytest.mark.parametrize("model_type", classes())
def test_a_model_is_promised_the_table_where_its_code_reads_it(model_type, tmp_path):
    config = {k: v for k, v in AutoConfig.for_model(model_type).to_dict().items() if "inf" not in repr(v).lower()}
    config |= {"rope_theta": (config.pop("rope_parameters", None) or {}).get("rope_theta", 1e4), **FIELDS.get(model_type, {})}
    if model_type.endswith("_text") and model_type not in ("gemma3_text", "llama4_text"):
        config = {"model_type": model_type.removesuffix("_text"), "text_config": config}  # there is no text part alone
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    length = config.get("text_config", config)["max_position_embeddings"]
    delivery = c.dump("deliver", "universal", path, 4 * length, "mrrope-pro")
    served = next(s["served"] for s in delivery["services"] if s["engine"] == "mlx-lm")
    before, after = ropes_of(config), ropes_of(json.loads(delivery["config"]))
    honoured = any(name == "SuScaledRoPE" for name, _ in after) and not any(pairs for _, pairs in before)
    assert served == honoured, (before, after)
