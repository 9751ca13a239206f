# SPDX-License-Identifier: MIT
"""The config.json that mrrope writes, and its predictions, against real transformers.

    $(tools/engine_env transformers5) -m pytest -rs tests/engines/test_targets.py

Runs unchanged under transformers 4 and 5. Written configs: the real model class is built from the
file with tiny sizes, on a CPU, and asked for cos and sin beyond the trained length; the table and
the magnitude must be those of the plan. Predictions: for a grid of configs, traps included,
`effective()` must say what transformers builds, or that it fails.

transformers computes in float32, mrrope in float64: 1e-6 is the rounding of the former. The scale
of Phi-3 comes out of a formula of whole numbers (2e-4).
Environment: MRROPE_TARGET_DUMP (default build/release/hf_target_dump), MRROPE_REQUIRE_ENGINES=1 (a
missing engine is a failure, not a skip).
"""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from conformance import FIXTURES, MRROPE, ROOT, dump, needs  # noqa: E402  pylint: disable=wrong-import-position

transformers = needs("transformers", "transformers5")
import torch  # noqa: E402
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM  # noqa: E402

MAJOR = int(transformers.__version__.split(".")[0])
ENGINE = f"transformers{MAJOR}"
TOLERANCE = 1e-6
CONFIGS = ROOT / "tests/formats/configs"
transformers.logging.set_verbosity_error()

LAYERS = 6  # Gemma 3 has one global layer in six
METHODS = ["mrrope-pro", "yarn", "linear", "ntk"]


# ------------------------------------------------------------------------------ transformers


def text_part(config):
    for key in ("text_config", "llm_config"):
        if key in config:
            return config[key]
    return config


def tiny(config):
    """The same heads, fewer of them: what the rotary table depends on stays."""
    config = copy.deepcopy(text_part(config))
    heads = config.get("num_attention_heads", 8)
    hidden = config.get("hidden_size", 2304)
    head_dim = config.get("head_dim") or hidden // heads
    config.setdefault("model_type", "gemma3_text")
    for key in ("layer_types", "no_rope_layers"):
        if key in config:
            config[key] = config[key][:LAYERS]
    config.update(
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        num_key_value_heads=1,
        hidden_size=2 * head_dim,
        intermediate_size=32,
        vocab_size=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    config.pop("quantization_config", None)
    return config


def build(config, folder):
    """The rotary module(s) of the model that transformers builds from a config.json."""
    (folder / "config.json").write_text(json.dumps(tiny(config)))
    loaded = AutoConfig.from_pretrained(folder)
    with torch.device("cpu"):
        return AutoModelForCausalLM.from_config(loaded, attn_implementation="eager").eval()


def ask(model, length):
    """Per group of layers the table, the scale, and cos, sin of position 1 in a text of `length`."""
    positions = torch.tensor([[1, length - 1]])
    x = torch.zeros(1, 1)
    body = getattr(model, "model", None) or model.gpt_neox
    found = {}
    modules = dict(getattr(body, "rotary_embs", {}))  # OLMo 3 in transformers 4
    if hasattr(body, "rotary_emb_local"):  # Gemma 3 in transformers 4
        modules = {"full_attention": body.rotary_emb, "sliding_attention": body.rotary_emb_local}
    if modules:
        for name, module in modules.items():
            cos, _ = module(x, positions)
            found[name] = (module.inv_freq.double(), float(module.attention_scaling), cos)
        return found
    module = body.rotary_emb
    if isinstance(getattr(module, "rope_type", None), dict):  # Gemma 3 in transformers 5
        for name in module.rope_type:
            cos, _ = module(x, positions, layer_type=name)
            table = getattr(module, f"{name}_inv_freq").double()
            found[name] = (table, float(getattr(module, f"{name}_attention_scaling")), cos)
        return found
    cos, _ = module(x, positions)
    return {"all": (module.inv_freq.double(), float(module.attention_scaling), cos)}


def compare(groups, found, scale_tolerance=TOLERANCE):
    assert {g["name"] for g in groups} == set(found)
    for group in groups:
        theirs, scale, cos = found[group["name"]]
        ours = torch.tensor(group["inv_freq"], dtype=torch.float64)
        assert ours.shape == theirs.shape
        # A pair that stands still is exactly 0 here and 1e-36 there
        still = ours == 0
        assert (theirs[still] < 1e-29).all()
        error = torch.where(still, 0.0, (ours / theirs - 1).abs()).max()
        assert error <= TOLERANCE, f"{group['name']}: {error:.2e}"
        assert group["attention_scale"] == pytest.approx(scale, rel=scale_tolerance)
        a = group["attention_scale"]
        first = cos[0, 0, : len(ours)].double()
        assert torch.allclose(first, a * ours.cos(), rtol=0, atol=max(TOLERANCE, 2 * scale_tolerance))


# ------------------------------------------------------------------------- written configs


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fixture", FIXTURES)
@pytest.mark.parametrize("target", ["universal", ENGINE])
def test_the_written_config_builds_the_table_of_the_plan(target, fixture, method, tmp_path):
    path = CONFIGS / f"{fixture}.json"
    trained = dump("effective", "transformers5", path)["context"]
    delivery = dump("deliver", target, path, 4 * trained, method)
    assert "error" not in delivery, delivery
    config = json.loads(delivery["config"])
    model = build(config, tmp_path)
    scale = 2e-4 if text_part(config).get("model_type") == "phi3" else TOLERANCE
    for length in (delivery["context"], trained // 2, delivery["context"]):
        compare(delivery["groups"], ask(model, length), scale)


@pytest.mark.parametrize("fixture", ["llama-2-7b", "qwen3-8b", "gemma-3-1b", "mistral-7b-v0.1"])
def test_the_table_survives_a_round_trip_through_transformers(fixture, tmp_path):
    path = CONFIGS / f"{fixture}.json"
    delivery = dump("deliver", "universal", path, 131072 * 2, "mrrope-pro")
    model = build(json.loads(delivery["config"]), tmp_path)
    saved = tmp_path / "saved"
    model.config.save_pretrained(saved)
    again = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(saved))
    compare(delivery["groups"], ask(again, delivery["context"]))


@pytest.mark.parametrize("fixture", ["deepseek-v2-lite", "deepseek-v3"])
def test_latent_attention_keeps_the_scale_of_its_scores(fixture, tmp_path):
    path = CONFIGS / f"{fixture}.json"
    written = json.loads(dump("deliver", "universal", path, 327680, "mrrope-pro")["config"])
    before, after = (build(config, tmp_path).model.layers[0].self_attn.scaling for config in (json.loads(path.read_text()), written))
    assert before == after


@pytest.mark.skipif(MAJOR < 5, reason="transformers 4 does not know the model")
def test_ministral3_keeps_the_temperature_of_its_queries(tmp_path):
    from transformers.models.ministral3 import modeling_ministral3 as code

    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "ministral3", "max_position_embeddings": 4096, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 256, "mscale": 1.0,
        "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}}))  # fmt: skip
    delivery = dump("deliver", "universal", path, 16384, "mrrope-pro")
    model = build(json.loads(delivery["config"]), tmp_path)
    compare(delivery["groups"], ask(model, 16384))
    seen = []
    plain = code.get_llama_4_attn_scale
    code.get_llama_4_attn_scale = lambda *arguments: seen.append(arguments[1:]) or plain(*arguments)
    try:
        with torch.no_grad():
            assert torch.isfinite(model(torch.arange(700)[None] % 60 + 3).logits).all()
    finally:
        code.get_llama_4_attn_scale = plain
    assert set(seen) == {(0.1, 256)}


# ----------------------------------------------------------------------- the command itself


@pytest.mark.parametrize("method", ["mrrope-pro", "mrrope-uni", "yarn"])
@pytest.mark.parametrize("fixture", ["llama-2-7b", "qwen2.5-7b", "qwen3-8b", "gemma-3-1b", "phi-3-mini-128k", "mistral-7b-v0.1"])
def test_a_folder_that_mrrope_extended_runs_beyond_its_trained_length(fixture, method, tmp_path):
    config = tiny(json.loads((CONFIGS / f"{fixture}.json").read_text()))
    config.update(max_position_embeddings=256)  # short, so that a text beyond it takes a moment
    for key in ("rope_scaling", "original_max_position_embeddings"):  # Phi-3 as released for 4k
        config.pop(key, None)
    (tmp_path / "config.json").write_text(json.dumps(config))
    arguments = [tmp_path, "-c", "1024", "--method", method]
    plan = json.loads(subprocess.run([MRROPE, "plan", *arguments, "--json"], capture_output=True, text=True, check=True).stdout)
    subprocess.run([MRROPE, "extend", *arguments, "--target", ENGINE], capture_output=True, text=True, check=True)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(tmp_path), attn_implementation="eager").eval()
    with torch.no_grad():
        assert torch.isfinite(model(torch.arange(700)[None] % 60 + 3).logits).all()
    specs = [plan["spec"], *plan["spec"].get("other_groups", [])]
    groups = [{**tables, "name": spec.get("group", "all")} for spec, tables in zip(specs, [plan, *plan.get("other_groups", [])])]
    compare(groups, ask(model, 1024), 2e-4 if config["model_type"] == "phi3" else TOLERANCE)


WHOLE = ["gemma3", "glm4v", "llava", "mistral3", "qwen2_5_vl", "qwen2_vl", "qwen3_vl"]
FLAT = ["llama", "qwen2_5_vl", "qwen2_vl"]  # older files of Qwen's pictures keep the fields of the text part at the top


@pytest.mark.parametrize(("model_type", "flat"), [(m, False) for m in WHOLE] + [(m, True) for m in FLAT])
def test_the_command_names_a_class_that_loads_the_model(model_type, flat, tmp_path):
    text = AutoConfig.for_model(model_type).get_text_config().to_dict()
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**(text if flat else {"text_config": text}), "model_type": model_type}))
    delivery = dump("deliver", ENGINE, path, 4 * text["max_position_embeddings"], "mrrope-pro")
    name = re.search(r"t\.(\w+)\.from_pretrained", delivery["commands"][0]).group(1)
    assert CONFIG_MAPPING[model_type] in getattr(transformers, name)._model_mapping


# ----------------------------------------------------------------------------- predictions

LLAMA = dict(
    model_type="llama",
    hidden_size=128,
    num_attention_heads=2,
    num_key_value_heads=2,
    head_dim=64,
    num_hidden_layers=1,
    max_position_embeddings=32768,
    rope_theta=1e5,
)
LONG = [1 + 3 * i / 31 + 0.09 * (i % 3) for i in range(32)]
SHORT = [1 + 0.03 * (i % 5) for i in range(32)]
LONGROPE = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)
UNIVERSAL = dict(
    LONGROPE, factor=4.0, original_max_position_embeddings=3041, attention_factor=1.1386
)


def without(config, *keys):
    return {key: value for key, value in config.items() if key not in keys}


def both(rope, **more):
    return dict(
        LLAMA, rope_scaling=rope, rope_parameters=dict(UNIVERSAL, rope_theta=5e5), **more
    )


TOP = {"original_max_position_embeddings": 8192}
GRID = {
    "plain": LLAMA,
    "linear": dict(LLAMA, rope_scaling={"rope_type": "linear", "factor": 4.0}),
    "legacy type": dict(LLAMA, rope_scaling={"type": "linear", "factor": 4.0}),
    "dynamic": dict(LLAMA, rope_scaling={"rope_type": "dynamic", "factor": 4.0}),
    "yarn": dict(LLAMA, rope_scaling=YARN),
    "yarn, attention_factor": dict(LLAMA, rope_scaling=dict(YARN, attention_factor=1.3)),
    "yarn, mscales": dict(LLAMA, rope_scaling=dict(YARN, mscale=0.7, mscale_all_dim=1.0)),
    "yarn, one mscale": dict(LLAMA, rope_scaling=dict(YARN, mscale=0.7)),
    "yarn, betas": dict(LLAMA, rope_scaling=dict(YARN, beta_fast=16, beta_slow=2)),
    "yarn, zero beta": dict(LLAMA, rope_scaling=dict(YARN, beta_fast=0)),
    "yarn, truncate": dict(LLAMA, rope_scaling=dict(YARN, truncate=False)),
    "yarn, no original": dict(
        LLAMA, rope_scaling=without(YARN, "original_max_position_embeddings")
    ),
    "yarn, top-level original": dict(LLAMA, rope_scaling=YARN, original_max_position_embeddings=4096),
    "llama3": dict(LLAMA, rope_scaling=dict(LLAMA3, original_max_position_embeddings=8192)),
    "universal": dict(LLAMA, rope_scaling=UNIVERSAL),
    "universal, legacy": dict(LLAMA, rope_scaling=dict(without(UNIVERSAL, "rope_type"), type="longrope")),
    "longrope, no scale": dict(LLAMA, rope_scaling=without(UNIVERSAL, "attention_factor")),
    "longrope, no factor": dict(
        LLAMA, rope_scaling=without(UNIVERSAL, "attention_factor", "factor")
    ),
    "longrope, top-level original": dict(LLAMA, rope_scaling=without(UNIVERSAL, "attention_factor"), **TOP),
    "longrope, missing list": dict(LLAMA, rope_scaling=without(UNIVERSAL, "long_factor")),
    "rope_parameters only": dict(
        without(LLAMA, "rope_theta"), rope_parameters=dict(UNIVERSAL, rope_theta=1e5)
    ),
    "both spellings": both(YARN),
    "both, theta inside": both(dict(YARN, rope_theta=7e4)),
    "mistral without head_dim": dict(
        without(LLAMA, "head_dim"), model_type="mistral", rope_scaling=UNIVERSAL
    ),
    "mixtral without head_dim": dict(
        without(LLAMA, "head_dim"), model_type="mixtral", rope_scaling=UNIVERSAL
    ),
    "mistral linear without head_dim": dict(
        without(LLAMA, "head_dim"),
        model_type="mistral",
        rope_scaling={"rope_type": "linear", "factor": 4.0},
    ),
    "phi3, three fields": dict(
        LLAMA,
        model_type="phi3",
        rope_scaling=dict(without(LONGROPE, "rope_type"), type="longrope"),
        **TOP,
    ),
    "phi3, all fields": dict(LLAMA, model_type="phi3", rope_scaling=UNIVERSAL, **TOP),
    "gemma3, longrope": dict(
        LLAMA, model_type="gemma3_text", num_hidden_layers=6, rope_scaling=UNIVERSAL
    ),
    "gemma3, yarn, truncate": dict(
        LLAMA,
        model_type="gemma3_text",
        num_hidden_layers=6,
        rope_scaling=dict(YARN, truncate=False),
    ),
}


@pytest.mark.parametrize("length", [100, 3042, 20000, 32768, 50000])
@pytest.mark.parametrize("name", GRID)
def test_the_prediction_is_what_transformers_builds(name, length, tmp_path):
    config = GRID[name]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    prediction = dump("effective", ENGINE, path, length)
    try:
        found = ask(build(config, tmp_path), length)
    except Exception as error:  # any failure of theirs is what must be foreseen
        refused = "error" in prediction or not prediction["loads"]
        assert refused, f"{type(error).__name__}: {error}"
        return
    assert "error" not in prediction, prediction
    assert prediction["loads"], prediction["notes"]
    compare(prediction["groups"], found)
