# SPDX-License-Identifier: MIT
"""Hugging Face transformers builds a rotary table from a config; mrrope must print the same table.

    $(tools/engine_env transformers5) -m pytest -rs tests/engines/test_transformers.py

The file runs unchanged under transformers 4 and 5. Every case is one config: the real rotary
module is built from it and run at the sequence length of the case, so that types that depend on
the length settle, and its `inv_freq` and `attention_scaling` are compared with `mrrope plan`.

transformers computes in float32, mrrope in float64: 1e-6 is the rounding of the former.
Environment: MRROPE_BIN (default build/release/mrrope), MRROPE_REQUIRE_ENGINES=1 (a missing engine
is a failure, not a skip).
"""

import json
import os
import subprocess
from itertools import product
from pathlib import Path
from typing import NamedTuple, Optional

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing here needs a download; prove it
try:
    import torch
    import transformers
    from transformers import LlamaConfig, LlamaForCausalLM, StableLmConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
    from transformers.models.stablelm.modeling_stablelm import StableLmRotaryEmbedding
except ImportError as error:
    reason = f"transformers is not usable in this python ({error}); see tools/engine_env"
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)

VERSION = transformers.__version__
MAJOR = int(VERSION.split(".")[0])
TOLERANCE = 1e-6
NO_ROTATION = 1e30  # mrrope's pair factor of a pair that does not rotate
ROOT = Path(__file__).resolve().parents[2]
MRROPE = Path(os.environ.get("MRROPE_BIN", ROOT / "build/release/mrrope")).absolute()
transformers.logging.set_verbosity_error()  # it warns about every key it does not expect


# ---------------------------------------------------------------------------------- the grid


class Shape(NamedTuple):
    head_dim: int
    base: float
    trained: int  # context length in tokens


class Case(NamedTuple):
    shape: Shape
    factor: float  # target / trained, before the target is rounded to a whole token
    rope: dict  # Hugging Face's rope parameters; `factor` and lengths are filled in
    length: Optional[int] = None  # tokens in the sequence; None: the target
    partial: float = 1.0  # partial_rotary_factor
    since: int = 4  # first major version of transformers that has the rope type

    @property
    def target(self):
        return round(self.shape.trained * self.factor)

    def __str__(self):
        name, *keys = (str(v) if k == "rope_type" else f"{k}={v}" for k, v in self.rope.items())
        keys = [key if len(key) < 40 else f"{key[:40]}..." for key in keys]  # long lists
        return (
            f"{name}({', '.join(keys)}) x{self.factor:g}, "
            f"head_dim {self.shape.head_dim} x {self.partial:g}, base {self.shape.base:g}, "
            f"trained {self.shape.trained}, {self.length or self.target} tokens"
        )


TINYLLAMA = Shape(64, 1e4, 2048)
ODD = Shape(80, 1e5, 3000)
PHI3 = Shape(96, 1e4, 4096)
LLAMA2 = Shape(128, 1e4, 4096)
LLAMA3 = Shape(128, 5e5, 8192)
QWEN = Shape(128, 1e6, 32768)
GEMMA = Shape(256, 1e6, 8192)
SHAPES = (TINYLLAMA, ODD, PHI3, LLAMA2, LLAMA3, QWEN, GEMMA)
SLOW_BAND = Shape(128, 1e4, 131072)  # the band ends beyond the last pair, n-1
CLAMPED_BAND = Shape(64, 500, 2**22)  # the band ends beyond 2n-1, where YaRN clamps it
EARLY_BAND = Shape(64, 1e4, 128)  # the band begins before the first pair
PARTIAL = ((Shape(80, 1e4, 2048), 0.25), (Shape(64, 1e4, 4096), 0.5), (Shape(96, 1e6, 8192), 0.75))

DEFAULT = {"rope_type": "default"}
LINEAR = {"rope_type": "linear"}
DYNAMIC = {"rope_type": "dynamic"}
PROPORTIONAL = {"rope_type": "proportional"}


def yarn(**keys):
    return {"rope_type": "yarn", **keys}


def llama3(low=1.0, high=4.0):
    return {"rope_type": "llama3", "low_freq_factor": low, "high_freq_factor": high}


def longrope(pairs, one_list=False, **keys):
    """Lists that are neither smooth nor monotone, as LongRoPE's search leaves them."""
    long = [1 + 7 * (i / pairs) ** 2 + 0.25 * (i * 5 % 7) for i in range(pairs)]
    short = long if one_list else [1 + 0.03 * (i * 3 % 5) for i in range(pairs)]
    return {"rope_type": "longrope", "short_factor": short, "long_factor": long, **keys}


def around_the_trained_length(shape, factor):
    trained = shape.trained
    return trained // 2, trained, trained + 1, round(1.7 * trained), round(factor * trained)


YARN_VARIANTS = (
    yarn(truncate=True),
    yarn(attention_factor=1.3),
    yarn(attention_factor=1.0, truncate=False),
    yarn(mscale=1.0, mscale_all_dim=1.0),  # DeepSeek-V3
    yarn(mscale=0.707, mscale_all_dim=1.0),
    yarn(mscale=1.0, mscale_all_dim=0.707),
    yarn(mscale=0.707),  # one of the two alone changes nothing
    yarn(mscale_all_dim=0.707),
    yarn(mscale=0.707, mscale_all_dim=1.0, attention_factor=0.9),  # attention_factor wins
    yarn(beta_fast=16, beta_slow=2),
    yarn(beta_fast=64, beta_slow=0.5, truncate=False),
    yarn(beta_fast=4.5, beta_slow=1.5),
    yarn(beta_fast=8, beta_slow=7.9),  # a ramp over one or two pairs
)
# A narrower transition amplifies the float32 rounding of transformers: (1, 1.5) to 1.6e-6.
LLAMA3_VARIANTS = (llama3(1, 8), llama3(0.5, 4), llama3(2, 32), llama3(1, 5), llama3(3, 10.5))

CASES = [
    *(Case(shape, 1, DEFAULT) for shape in SHAPES),
    *(Case(shape, factor, LINEAR) for shape, factor in product(SHAPES, (2, 2.5, 8))),
    *(
        Case(shape, factor, DYNAMIC, length=length)
        for shape, factor in product((TINYLLAMA, ODD, LLAMA2, LLAMA3), (2, 4.5))
        for length in around_the_trained_length(shape, factor)
    ),
    *(Case(shape, factor, yarn()) for shape, factor in product(SHAPES, (1.5, 4, 10.3))),
    *(Case(shape, 4, yarn(truncate=False)) for shape in SHAPES),
    *(Case(shape, 6.7, variant) for shape, variant in product((LLAMA2, QWEN), YARN_VARIANTS)),
    *(
        Case(shape, 4, yarn(beta_fast=beta_fast, truncate=truncate))
        for shape, beta_fast in ((SLOW_BAND, 32), (CLAMPED_BAND, 16384), (EARLY_BAND, 32))
        for truncate in (True, False)
    ),
    Case(Shape(64, 1.5e5, 4096), 32, yarn(beta_fast=32, beta_slow=1, truncate=False)),  # gpt-oss
    Case(Shape(64, 1e4, 4096), 40, yarn(mscale=1.0, mscale_all_dim=1.0)),  # DeepSeek-V3
    *(Case(shape, factor, llama3()) for shape, factor in product(SHAPES, (1.25, 4, 8))),
    *(Case(shape, 8, variant) for shape, variant in product((LLAMA3, ODD), LLAMA3_VARIANTS)),
    Case(Shape(64, 5e5, 8192), 32, llama3()),  # Llama-3.2-1B
    *(
        Case(shape, factor, longrope(shape.head_dim // 2, **keys), length=length)
        for shape, factor in ((PHI3, 32), (ODD, 2.6))
        for keys in ({}, {"attention_factor": 1.19}, {"one_list": True})
        for length in around_the_trained_length(shape, factor)
    ),
    *(
        Case(shape, factor, PROPORTIONAL, partial=partial, since=5)
        for shape, partial in product((LLAMA2, GEMMA, ODD), (0.25, 0.3, 0.5, 1.0))
        for factor in (1, 8)
    ),
    *(
        Case(shape, 4, rope, length=length, partial=partial)
        for shape, partial in PARTIAL
        for rope, length in (
            (DEFAULT, None),
            (LINEAR, None),
            (DYNAMIC, 3 * shape.trained),
            (yarn(), None),
            (yarn(truncate=False, mscale=0.5, mscale_all_dim=1.0), None),
            (llama3(), None),
            (longrope(int(shape.head_dim * partial) // 2), None),
        )
    ),
]


# --------------------------------------------------------------------------- the two sides


def build_config(case, config_class=LlamaConfig, **overrides):
    """The config.json a user would write for the case, in the spelling of this version."""
    shape = case.shape
    rope = dict(case.rope, factor=case.target / shape.trained)
    config = dict(
        hidden_size=2 * shape.head_dim,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=shape.head_dim,
        max_position_embeddings=case.target,
    )
    if rope["rope_type"] == "dynamic":
        config["max_position_embeddings"] = shape.trained  # the only length this type looks at
    elif rope["rope_type"] == "longrope":
        config["original_max_position_embeddings"] = shape.trained  # 4 reads no other place
    elif rope["rope_type"] in ("yarn", "llama3"):
        rope["original_max_position_embeddings"] = shape.trained
    if case.partial != 1:
        config["partial_rotary_factor"] = case.partial
    if MAJOR >= 5:
        config["rope_parameters"] = dict(rope, rope_theta=shape.base)
    else:
        config.update(rope_scaling=rope, rope_theta=shape.base)
    return config_class(**config, **overrides)


def ask_transformers(case):
    """The rotary module after a forward at the length of the case, and cos, sin of position 1."""
    if case.partial != 1 and case.rope is not PROPORTIONAL:
        module = StableLmRotaryEmbedding(build_config(case, StableLmConfig))
    else:
        module = LlamaRotaryEmbedding(build_config(case))
    positions = torch.tensor([[1, (case.length or case.target) - 1]])
    cos, sin = module(torch.zeros(1, 1), positions)
    return module, cos[0, 0].double(), sin[0, 0].double()


def method_text(case):
    """The rope parameters of the case in mrrope's words, e.g. yarn:truncate=false:beta_fast=16."""
    rope = dict(case.rope)
    name = rope.pop("rope_type")
    if name == "proportional":  # frequencies of the whole head, of which the last do not turn
        return f"linear+clip:keep={int(case.partial * case.shape.head_dim // 2)}"
    if ("mscale" in rope) != ("mscale_all_dim" in rope):  # alone, it is ignored
        rope = {key: value for key, value in rope.items() if not key.startswith("mscale")}
    text = {"default": "none", "dynamic": "dynamic-ntk"}.get(name, name)
    for key, value in rope.items():
        if key == "attention_factor":
            key = "attention_scale"
        elif isinstance(value, list):
            key, value = key + "s", slashed(value)
        text += f":{key}={str(value).lower()}"
    return text


def slashed(factors):
    return "/".join(map(repr, factors))


def run_plan(shape, rotary_dim, target, method, length=None):
    if not MRROPE.exists():
        pytest.fail(f"{MRROPE} does not exist; build it or set MRROPE_BIN", pytrace=False)
    spec = f"dim={rotary_dim},base={shape.base!r},ctx={shape.trained}"
    command = [MRROPE, "plan", "--spec", spec, "-c", str(target), "--method", method, "--json"]
    if length is not None:
        command += ["--length", str(length)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, f"{' '.join(map(str, command))}\n{run.stderr}"
    return json.loads(run.stdout)


def ask_mrrope(case):
    share = 1 if case.rope is PROPORTIONAL else case.partial
    rotary_dim = int(case.shape.head_dim * share)
    return run_plan(case.shape, rotary_dim, case.target, method_text(case), case.length)


# ------------------------------------------------------------------------------- the tests


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mrrope_prints_the_table_that_transformers_builds(case):
    if MAJOR < case.since:
        pytest.skip(f"transformers {VERSION} has no rope type '{case.rope['rope_type']}'")

    module, cos, sin = ask_transformers(case)
    plan = ask_mrrope(case)
    theirs = module.inv_freq.double()
    ours = torch.tensor(plan["inv_freq"], dtype=torch.float64)

    assert plan["schema"] == "mrrope.plan/1"
    assert plan["factor"] == case.target / case.shape.trained
    assert ours.shape == theirs.shape
    still = theirs == 0
    assert (ours[still] == 0).all()
    assert all(plan["pair_factors"][i] == NO_ROTATION for i in still.nonzero().flatten())
    error = torch.where(still, 0.0, (ours / theirs - 1).abs())
    worst = int(error.argmax())
    assert error[worst] <= TOLERANCE, f"pair {worst}: mrrope {ours[worst]}, HF {theirs[worst]}"
    assert plan["attention_scale"] == pytest.approx(float(module.attention_scaling), rel=TOLERANCE)

    # Not only the attributes: what the module multiplies queries and keys with, at position 1.
    a = plan["attention_scale"]
    assert torch.allclose(cos, (a * ours.cos()).repeat(2), rtol=0, atol=TOLERANCE)
    assert torch.allclose(sin, (a * ours.sin()).repeat(2), rtol=0, atol=TOLERANCE)


def test_every_configuration_of_the_grid_is_a_different_one():
    assert len(set(map(str, CASES))) == len(CASES)


def test_a_model_with_the_table_of_a_custom_plan_gives_the_logits_of_the_same_longrope_config():
    shape, scale = Shape(64, 1e4, 128), 1.1386
    rope = longrope(shape.head_dim // 2, one_list=True, attention_factor=scale)
    tiny = dict(vocab_size=96, intermediate_size=256, num_hidden_layers=2, initializer_range=0.06)
    config = build_config(Case(shape, 8, rope), **tiny)
    plain = LlamaConfig(**tiny, hidden_size=128, num_attention_heads=2, head_dim=64)
    method = f"custom:factors={slashed(rope['long_factor'])}:attention_scale={scale}"
    plan = run_plan(shape, shape.head_dim, config.max_position_embeddings, method)

    torch.manual_seed(1)
    reference = LlamaForCausalLM(config).eval()
    patched = LlamaForCausalLM(plain).eval()
    patched.load_state_dict(reference.state_dict())
    ids = torch.randint(0, tiny["vocab_size"], (1, 1000))
    with torch.no_grad():
        expected = reference(ids).logits
        unpatched = patched(ids).logits
        patched.model.rotary_emb.inv_freq = torch.tensor(plan["inv_freq"], dtype=torch.float32)
        patched.model.rotary_emb.attention_scaling = plan["attention_scale"]
        got = patched(ids).logits

    # Same tables differ by 3e-6; 1e-4 more in one mid-band pair or in the scale by 6e-5 or more.
    assert (unpatched - expected).abs().max() > 1
    assert (got - expected).abs().max() <= 1e-5
