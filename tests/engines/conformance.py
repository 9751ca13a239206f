# SPDX-License-Identifier: MIT
"""What the tests with engines share: mrrope's predictions, the grid of configs, and how tables are compared.

The case: a model trained at 8192 tokens with base 1e5 and heads of 64, extended to 32768, in the shapes of six families.
Sizes that the table does not depend on are as small as the engines take.

Environment: MRROPE_BIN, MRROPE_TARGET_DUMP (default: those of build/release), MRROPE_REQUIRE_ENGINES=1 (a missing
engine is a failure, not a skip).
"""

import importlib
import json
import math
import os
import subprocess
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

ROOT = Path(__file__).resolve().parents[2]
DUMP = Path(os.environ.get("MRROPE_TARGET_DUMP", ROOT / "build/release/hf_target_dump")).absolute()
MRROPE = Path(os.environ.get("MRROPE_BIN", ROOT / "build/release/mrrope")).absolute()


def needs(module, environment):
    """The module of an engine. Without it the tests are skipped with a reason, or fail in CI."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        reason = f"{module} is not usable in this python ({error}); see tools/engine_env {environment}"
        if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason, allow_module_level=True)


# ------------------------------------------------------------------------------- predictions


def dump(*args):
    if not DUMP.exists():
        pytest.fail(f"{DUMP} does not exist; build it or set MRROPE_TARGET_DUMP", pytrace=False)
    run = subprocess.run([DUMP, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def mrrope(*args, check=True):
    run = subprocess.run([MRROPE, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert not check or run.returncode == 0, run.stderr
    return run


# -------------------------------------------------------------------------------------- grid

TRAINED, CONTEXT, BASE, PAIRS = 8192, 32768, 1e5, 32
LONG = [1 + 3 * i / 31 + 0.09 * (i % 3) for i in range(PAIRS)]
SHORT = [1 + 0.03 * (i % 5) for i in range(PAIRS)]
SCALE = 0.1 * math.log(CONTEXT / TRAINED) + 1
STAR = round(CONTEXT ** (1 / SCALE**2))  # L* of docs/engines.md: a length whose formula gives SCALE

SIZES = dict(
    hidden_size=128,
    intermediate_size=96,
    num_attention_heads=2,
    num_key_value_heads=2,
    head_dim=64,
    num_hidden_layers=1,
    max_position_embeddings=CONTEXT,
    rope_theta=BASE,
    rms_norm_eps=1e-5,
    vocab_size=320,
    tie_word_embeddings=False,
    hidden_act="silu",
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    torch_dtype="float32",
)
GEMMA = dict(
    num_hidden_layers=6,  # one global layer in six
    rope_local_base_freq=10000.0,
    sliding_window=64,
    sliding_window_pattern=6,
    layer_types=["sliding_attention"] * 5 + ["full_attention"],
    query_pre_attn_scalar=64,
    hidden_activation="gelu_pytorch_tanh",
    attn_logit_softcapping=None,
    final_logit_softcapping=None,
)


def shape(model_type, architecture, **more):
    return dict(SIZES, model_type=model_type, architectures=[architecture], **more)


SHAPES = {
    "llama": shape("llama", "LlamaForCausalLM"),
    "qwen2": shape("qwen2", "Qwen2ForCausalLM"),
    "qwen3": shape("qwen3", "Qwen3ForCausalLM"),
    "mistral": shape("mistral", "MistralForCausalLM", sliding_window=None),
    "gemma3_text": shape("gemma3_text", "Gemma3ForCausalLM", **GEMMA),
    "phi3": shape("phi3", "Phi3ForCausalLM", original_max_position_embeddings=TRAINED, resid_pdrop=0.0),
}

ORIGINAL = {"original_max_position_embeddings": TRAINED}
YARN = {"rope_type": "yarn", "factor": 4.0, **ORIGINAL}
LONGROPE = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "factor": 4.0, **ORIGINAL}
ONE_LIST = dict(LONGROPE, short_factor=LONG)
MSCALES = {"short_mscale": SCALE, "long_mscale": SCALE}
UNIVERSAL = dict(ONE_LIST, original_max_position_embeddings=STAR, attention_factor=SCALE, **MSCALES)
ROPES = {
    "plain": None,
    "linear": {"rope_type": "linear", "factor": 4.0},
    "linear, legacy key": {"type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "yarn": YARN,
    "yarn, attention_factor": dict(YARN, attention_factor=1.3),
    "yarn, mscales": dict(YARN, mscale=0.7, mscale_all_dim=1.0),
    "yarn, betas": dict(YARN, beta_fast=16.0, beta_slow=2.0),
    "yarn, no truncation": dict(YARN, truncate=False),
    "yarn, another factor": dict(YARN, factor=3.0),
    "llama3": dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **ORIGINAL),
    "longrope": LONGROPE,
    "longrope, attention_factor": dict(LONGROPE, attention_factor=1.25),
    "longrope, mscales": dict(LONGROPE, short_mscale=1.05, long_mscale=1.2),
    "longrope, one list": ONE_LIST,
    "longrope, L*": UNIVERSAL,
}


def write_config(folder, name, rope, spelling="rope_scaling"):
    """A config.json of the shape `name`; `spelling`: the key of transformers 4, or that of 5, or both."""
    config = dict(SHAPES[name])
    if rope is not None and spelling in ("rope_scaling", "both"):
        config["rope_scaling"] = rope
    if spelling in ("rope_parameters", "both"):
        rope = dict(rope or {"rope_type": "default"}, rope_theta=BASE)
        if name == "gemma3_text":
            rope = {"full_attention": rope, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
        config["rope_parameters"] = rope
    if spelling == "rope_parameters":
        del config["rope_theta"]
    path = Path(folder) / "config.json"
    path.write_text(json.dumps(config))
    return path


# Models that see pictures: a token has three positions, and mrope_section says which pairs turn by which. Of text the
# three are the same. As they were released: all in one object; with a text_config; with rope_parameters.
VISION = dict(depth=1, hidden_size=32, num_heads=2, intermediate_size=32, out_hidden_size=128)
SECTIONED = {
    "qwen2_5_vl": {"mrope_section": [8, 12, 12]},
    "qwen3_vl": {"mrope_section": [12, 10, 10], "mrope_interleaved": True},
    "qwen3_5": {"mrope_section": [11, 11, 10], "mrope_interleaved": True},
}


def sectioned_models(names):
    """Their model types, of the whole and of the text part."""
    return set(names) | {f"{name}_text" for name in names if name != "qwen2_5_vl"}


def write_sectioned(folder, name, rope, context=CONTEXT):
    """A config.json of a model with sections; `rope`: a scaling beside them, or None."""
    text = dict(SIZES, max_position_embeddings=context)
    architecture = {"qwen2_5_vl": "Qwen2_5_VL", "qwen3_vl": "Qwen3VL", "qwen3_5": "Qwen3_5"}[name]
    config = dict(model_type=name, architectures=[f"{architecture}ForConditionalGeneration"], vision_config=dict(VISION))
    if name == "qwen2_5_vl":
        del text["head_dim"]
        config["vision_config"] |= dict(patch_size=14, window_size=112, fullatt_block_indexes=[0])
        config |= dict(text, rope_scaling=dict(rope or {"type": "mrope"}, **SECTIONED[name]))
    elif name == "qwen3_vl":
        config["vision_config"] |= dict(deepstack_visual_indexes=[0], num_position_embeddings=16)
        scaling = dict(rope or {"rope_type": "default"}, **SECTIONED[name])
        config["text_config"] = dict(text, model_type="qwen3_vl_text", rope_scaling=scaling)
    else:
        config["vision_config"] |= dict(num_position_embeddings=16)
        del text["rope_theta"]
        parameters = dict(rope or {"rope_type": "default"}, **SECTIONED[name], rope_theta=BASE, partial_rotary_factor=0.25)
        linear = dict(linear_num_key_heads=1, linear_num_value_heads=1, linear_key_head_dim=16, linear_value_head_dim=16)
        text |= dict(head_dim=256, num_hidden_layers=4, full_attention_interval=4, rope_parameters=parameters, **linear)
        config["text_config"] = dict(text, model_type="qwen3_5_text")
    path = Path(folder) / "config.json"
    path.write_text(json.dumps(config))
    return path


def trained_config(folder, name):
    """The shape as released: 8192 tokens, no scaling."""
    config = dict(SHAPES[name], max_position_embeddings=TRAINED)
    config.pop("original_max_position_embeddings", None)
    path = Path(folder) / "config.json"
    path.write_text(json.dumps(config))
    return path


def extended_config(folder, model_type, **more):
    """The universal file for a model outside SHAPES, and the engines that it is said to serve."""
    path = Path(folder) / "config.json"
    path.write_text(json.dumps(dict(SIZES, model_type=model_type, max_position_embeddings=TRAINED) | more))
    delivery = dump("deliver", "universal", path, CONTEXT, "mrrope-pro")
    assert "error" not in delivery, delivery
    path.write_text(delivery["config"])
    return path, {s["engine"] for s in delivery["services"] if s["served"]}


# Configs of released models (tests/formats/configs) whose tables are compared in test_targets.py.
FIXTURES = [
    "llama-2-7b",
    "llama-3.1-8b",
    "llama-3.2-1b-v5",
    "qwen2.5-7b",
    "qwen2.5-7b-yarn",
    "qwen3-8b",
    "gemma-3-1b",
    "gemma-3-4b",
    "gemma-3-4b-v5",
    "phi-3-mini-128k",
    "mistral-7b-v0.1",
    "stablelm-2-1.6b",
    "pythia-1.4b",
    "glm-4-9b",
    "gpt-oss-20b",
    "olmo-3-7b",
    "smollm3-3b",
    "vicuna-7b-16k",
]


def fixture_models():
    """Their model types; of a picture model, the whole's and the text part's."""
    found = set()
    for name in FIXTURES:
        config = json.loads((ROOT / f"tests/formats/configs/{name}.json").read_text())
        text = config.get("text_config", config)
        found |= {config.get("model_type", "gemma3_text"), text.get("model_type", "gemma3_text")}
    return found


# -------------------------------------------------------------------------------- comparison


def table_from(cosine, sine):
    """(speeds, scale) from what a rotation makes of unit vectors at position 1."""
    import numpy as np  # pylint: disable=import-outside-toplevel

    cosine, sine = np.asarray(cosine, dtype=np.float64), np.asarray(sine, dtype=np.float64)
    return np.arctan2(sine, cosine), float(np.median(np.hypot(cosine, sine)))


def same_rotation(groups, found, tolerance, scale_tolerance=None):
    """None, or what differs between predicted groups and {name: (speeds, scale)}."""
    import numpy as np  # pylint: disable=import-outside-toplevel

    if {g["name"] for g in groups} != set(found):
        return f"groups {[g['name'] for g in groups]} and {sorted(found)}"
    for group in groups:
        speeds, scale = found[group["name"]]
        ours = np.asarray(group["inv_freq"], dtype=np.float64)
        speeds = np.asarray(speeds, dtype=np.float64)
        if ours.shape != speeds.shape:
            return f"{group['name']}: {ours.shape[0]} pairs predicted, {speeds.shape[0]} found"
        error = np.abs(speeds / ours - 1)
        if error.max() > tolerance:
            return f"{group['name']}: pair {error.argmax()} off by {error.max():.2e}"
        if abs(scale / group["attention_scale"] - 1) > (scale_tolerance or tolerance):
            return f"{group['name']}: scale {group['attention_scale']:.6f} predicted, {scale:.6f} found"
    return None
