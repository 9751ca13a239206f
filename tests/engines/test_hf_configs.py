# SPDX-License-Identifier: MIT
"""transformers reads a config.json; mrrope must read the same rotary table in it.

    $(tools/engine_env transformers5) -m pytest -rs tests/engines/test_hf_configs.py

Three sources of configs: the files of tests/formats/configs, every model_type of
src/formats/hf_classes.cpp with nothing but its defaults, and a seeded random mix of all spellings.
The real rotary module of the model is built from each and run at the length mrrope says the model
is good for; its `inv_freq` and `attention_scaling` are compared with what hf_dump prints.

transformers computes in float32, mrrope in float64: 1e-6 is the rounding of the former.
Only transformers 5: version 4 reads some of these files differently (it never looks at
rope_parameters, for one), and rope_spec() follows 5.
Environment: MRROPE_HF_DUMP (default build/release/hf_dump), MRROPE_REQUIRE_ENGINES=1 (a missing
engine is a failure, not a skip).
"""

import importlib
import inspect
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing here needs a download; prove it
try:
    import torch
    import transformers
    from transformers import AutoConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    MAJOR = int(transformers.__version__.split(".")[0])
    if MAJOR < 5:
        raise ImportError(f"transformers {transformers.__version__} is older than 5")
except ImportError as error:
    reason = f"transformers 5 is not usable in this python ({error}); see tools/engine_env"
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
DUMP = Path(os.environ.get("MRROPE_HF_DUMP", ROOT / "build/release/hf_dump")).absolute()
FILES = sorted((ROOT / "tests/formats/configs").glob("*.json"))
TOLERANCE = 1e-6
transformers.logging.set_verbosity_error()  # it warns about every key it does not expect

# Not in transformers: their code is in the repositories of the models.
REMOTE = {"internlm2-7b", "internvl2-8b"}


# --------------------------------------------------------------------------- the two sides


def ask_mrrope(configs):
    """One answer per config; a crash of hf_dump shows as a missing line."""
    if not DUMP.exists():
        pytest.fail(f"{DUMP} does not exist; build it or set MRROPE_HF_DUMP", pytrace=False)
    lines = "".join(json.dumps(config) + "\n" for config in configs)
    run = subprocess.run([DUMP], input=lines, capture_output=True, text=True, timeout=300)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0 and len(answers) == len(configs), run.stderr
    return answers


def rotary_class(config):
    """The one rotary module of the language model."""
    modeling = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    found = [
        value
        for name, value in vars(modeling).items()
        if re.search(r"RotaryEmbedding$", name)
        and not re.search("Vision|Audio|DiT|Talker", name)
        and inspect.isclass(value)
        and value.__module__ == modeling.__name__
    ]
    if len(found) > 1:  # Qwen3OmniMoe: one per part
        found = [value for value in found if "Text" in value.__name__]
    assert len(found) == 1, found
    return found[0]


def ask_transformers(config, length):
    """{kind of layer or "all": (inv_freq, attention_scaling)} after a forward at `length` tokens."""
    text = config.get_text_config()
    module = rotary_class(text)(text)
    positions = torch.tensor([[1, length - 1]])
    if isinstance(module.rope_type, dict):
        tables = {}
        for kind, rope_type in module.rope_type.items():
            # A model is "trained plain" where it says dynamic, whatever length other layers reach.
            last = text.max_position_embeddings if rope_type == "dynamic" else length
            module(torch.zeros(1, 1), torch.tensor([[1, last - 1]]), kind)
            scale = getattr(module, f"{kind}_attention_scaling")
            tables[kind] = (getattr(module, f"{kind}_inv_freq"), scale)
        return tables
    if module.rope_type in ("dynamic", "longrope"):  # the others are settled
        try:
            module(torch.zeros(1, 1), positions)
        except (RuntimeError, ValueError, IndexError):  # wants three positions per token (mrope)
            module(torch.zeros(1, 1), positions.expand(3, 1, 2))
    return {"all": (module.inv_freq, module.attention_scaling)}


def compare(answer, tables, tolerance=TOLERANCE):
    ours = {group["name"]: group for group in answer["groups"]}
    assert set(ours) == set(tables)
    for name, (inv_freq, scale) in tables.items():
        theirs = inv_freq.double()
        mine = torch.tensor(ours[name]["inv_freq"], dtype=torch.float64)
        assert mine.shape == theirs.shape, name
        still = theirs == 0
        assert (mine[still] == 0).all()
        error = torch.where(still, 0.0, (mine / theirs - 1).abs())
        worst = int(error.argmax())
        where = f"{name}, pair {worst}: mrrope {mine[worst]}, HF {theirs[worst]}"
        assert error[worst] <= tolerance, where
        assert ours[name]["attention_scale"] == pytest.approx(float(scale), rel=TOLERANCE)


# ------------------------------------------------------------------------------- the files


@pytest.mark.parametrize("path", [p for p in FILES if p.stem not in REMOTE], ids=lambda p: p.stem)
def test_a_file_gives_the_table_of_transformers(path, tmp_path):
    config = json.loads(path.read_text())
    answer = ask_mrrope([config])[0]
    assert "error" not in answer, answer
    if config["model_type"] == "gptj":  # has no rotary module
        from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions

        sin, cos = create_sinusoidal_positions(2, config["rotary_dim"])[1].double().chunk(2)
        return compare(answer, {"all": (torch.atan2(sin, cos), 1.0)})
    # 5.22 means to read "su" as longrope, but stumbles over a check of its own on the way.
    (tmp_path / "config.json").write_text(path.read_text().replace('"type": "su"', '"type": "longrope"'))
    loaded = AutoConfig.from_pretrained(tmp_path, trust_remote_code=False)
    compare(answer, ask_transformers(loaded, answer["context_trained"]))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_kinds_of_layers_are_those_of_transformers(path):
    config = json.loads(path.read_text())
    if path.stem in REMOTE or config["model_type"] == "gptj":
        pytest.skip("not a class of transformers with layer_types")
    if path.stem.endswith("-su"):
        config["rope_scaling"]["type"] = "longrope"  # see above
    text = CONFIG_MAPPING[config["model_type"]].from_dict(config).get_text_config()
    kinds = getattr(text, "layer_types", None)
    answer = ask_mrrope([config])[0]
    assert answer["layers"] == text.num_hidden_layers
    if kinds is None:
        return
    assert answer["sliding_layers"] == kinds.count("sliding_attention")
    for group in answer["groups"]:
        if group["name"] != "all":
            assert group["layers"] == [i for i, kind in enumerate(kinds) if kind == group["name"]]


# ----------------------------------------------------------------------------- the classes


def classes():
    source = (ROOT / "src/formats/hf_classes.cpp").read_text()
    found = re.findall(r'^\s+\{"(\w+)", \d', source, re.M)
    return [model_type for model_type in found if model_type in CONFIG_MAPPING]  # minicpm has code of its own


# Their default hidden_size / num_attention_heads is odd or makes an odd part; no checkpoint has it.
NEED_HEAD_DIM = {"glm4_moe": 128, "glm4v_moe_text": 128, "qwen3_omni_moe_text": 128}


@pytest.mark.parametrize("model_type", classes())
def test_a_class_with_nothing_but_defaults_gives_the_table_of_transformers(model_type):
    given = {"head_dim": NEED_HEAD_DIM[model_type]} if model_type in NEED_HEAD_DIM else {}
    answer = ask_mrrope([{"model_type": model_type, **given}])[0]
    assert "error" not in answer, answer
    config = CONFIG_MAPPING[model_type](**given)
    if model_type in ("gptj", "codegen"):
        assert (config.rotary_dim, config.n_positions) == (64, 2048)
        assert (len(answer["groups"][0]["inv_freq"]), answer["context_trained"]) == (32, 2048)
        return
    compare(answer, ask_transformers(config, answer["context_trained"]))
    assert answer["layers"] == config.num_hidden_layers


# ------------------------------------------------------------------------------ random mix

TYPES = ("default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional", "su", "mrope")
FLAT = ("llama", "qwen2", "qwen3", "mistral", "mixtral", "gemma2", "stablelm", "glm", "gpt_neox", "phi",
        "phi3", "deepseek_v3", "gpt_oss", "cohere2", "qwen2_vl_text", "granite", "minimax_m2")  # fmt: skip
NESTED = ("gemma3_text", "gemma3n_text", "olmo3", "gemma4_text")


def some(rng, probability, **fields):
    """A random part of the fields."""
    return {key: value for key, value in fields.items() if rng.random() < probability}


def random_rope(rng, pairs):
    """Parameters of one type, with some of what belongs to it and some of what does not."""
    kind = rng.choice(TYPES)
    rope = {rng.choice(("rope_type", "rope_type", "type")): kind}
    rope |= some(rng, 0.1, rope_type="default", type=rng.choice(TYPES))
    rope |= some(rng, 0.9 if kind != "default" else 0.3, factor=rng.choice((1.0, 2, 4.0, 8.5, 32.0, None)))
    rope |= some(rng, 0.6, original_max_position_embeddings=rng.choice((512, 2048, 4096, 8192)))
    rope |= some(rng, 0.3, rope_theta=rng.choice((1e4, 5e5, 1000000)))
    rope |= some(rng, 0.2, partial_rotary_factor=rng.choice((0.25, 0.5, 1.0)))
    if kind in ("yarn", "linear"):
        rope |= some(rng, 0.3, beta_fast=rng.choice((0, 16, 32, None)), beta_slow=rng.choice((0, 1, 2.0)))
        rope |= some(rng, 0.3, mscale=rng.choice((0, 1.0, 0.707)), mscale_all_dim=rng.choice((0, 1.0, 0.5)))
        rope |= some(rng, 0.3, truncate=rng.choice((True, False)))
    if kind in ("yarn", "longrope", "su"):
        rope |= some(rng, 0.3, attention_factor=rng.choice((1.0, 1.25, None)))
    if kind == "llama3":
        rope |= some(rng, 0.95, low_freq_factor=1.0, high_freq_factor=rng.choice((4.0, 8)))
    if kind in ("longrope", "su", "yarn"):
        rope["short_factor"] = [1 + 0.01 * (i % 5) for i in range(pairs)]
        rope["long_factor"] = [1 + 0.5 * i + 0.1 * (i % 3) for i in range(pairs)]
    return rope


def random_config(seed):
    rng = random.Random(seed)
    nested = rng.random() < 0.3
    model_type = rng.choice(NESTED if nested else FLAT)
    layers = rng.choice((4, 6, 12))
    config = {
        "model_type": model_type,
        "hidden_size": 512,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "num_hidden_layers": layers,
        "max_position_embeddings": rng.choice((2048, 4096, 8192, 32768)),
    }
    config |= some(rng, 0.5, rope_theta=rng.choice((1e4, 1e6, 150000)))
    if model_type != "deepseek_v3":  # takes a head_dim beside qk_rope_head_dim, and cannot run then
        config |= some(rng, 0.4, head_dim=rng.choice((64, 128)))
    config |= some(rng, 0.2, original_max_position_embeddings=rng.choice((1024, 4096)))
    config |= some(rng, 0.2, partial_rotary_factor=rng.choice((0.25, 0.5, 1.0)))
    config |= some(rng, 0.2, rotary_pct=0.5, rotary_emb_base=50000, rope_local_base_freq=20000.0)
    config |= some(rng, 0.2, qk_rope_head_dim=32, rotary_dim=32, global_head_dim=256)
    if nested:
        config |= some(rng, 0.5, sliding_window_pattern=rng.choice((2, 3, 6)))
        kinds = ["full_attention" if (i + 1) % 2 == 0 else "sliding_attention" for i in range(layers)]
        config |= some(rng, 0.5, layer_types=kinds)
    pairs = rng.choice((16, 32, 64))
    if nested and rng.random() < 0.5:
        kinds = ("full_attention", "sliding_attention")
        config["rope_parameters"] = some(rng, 0.9, **{kind: random_rope(rng, pairs) for kind in kinds})
    elif rng.random() < 0.8:
        config |= some(rng, 0.6, rope_scaling=random_rope(rng, pairs), rope_parameters=random_rope(rng, pairs))
    return config


def ask_transformers_if_it_can(config, length):
    try:
        loaded = CONFIG_MAPPING[config["model_type"]].from_dict(json.loads(json.dumps(config)))
        return ask_transformers(loaded, length)
    except Exception:  # noqa: BLE001 - it fails in many ways; the table is what matters
        return None


def test_a_random_mix_of_spellings_gives_the_table_of_transformers():
    """Where both read a table it is the same one, and mrrope reads nearly all that transformers reads."""
    configs = [random_config(seed) for seed in range(3000)]
    # The float32 ramp of transformers is off by 6e-8 of theta, which is 32 times that of theta / 32.
    tolerance = 32 * 6e-8 * 2
    both, refused, wrong = 0, [], []
    for config, answer in zip(configs, ask_mrrope(configs)):
        tables = ask_transformers_if_it_can(config, answer.get("context_trained", 2048))
        if tables is None:
            continue
        if "error" in answer:
            refused.append((answer["error"], config))
            continue
        both += 1
        try:
            compare(answer, tables, tolerance)
        except AssertionError as error:
            wrong.append((str(error).splitlines()[0], config))
    print(f"{len(configs)} configs, {both} read by both, {len(refused)} by transformers only")
    assert not wrong, f"{len(wrong)} differ, first: {wrong[0]}"
    assert both >= 1000
    assert len(refused) <= both // 20, f"{len(refused)} refused, such as {refused[:3]}"
