# SPDX-License-Identifier: MIT
"""Every family of tests/families, extended as its own `next` line says, is a model that transformers builds and that rotates by
the plan.

    $(tools/engine_env transformers5) -m pytest -rs tests/engines/test_families.py

Runs unchanged under transformers 4 and 5. The text model is built at its released size, on the meta device, where weights take no
memory; its rotary modules are built once more, on the CPU, from the configs that the model gave them, and asked beyond the
trained length. transformers computes in float32, mrrope in float64: 1e-6 is the rounding of the former; the scale of Phi-3
comes out of a formula of whole numbers (2e-4).

Environment: MRROPE_BIN, MRROPE_REQUIRE_ENGINES=1 (a missing engine is a failure, not a skip).
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "families")]
import families  # noqa: E402  pylint: disable=wrong-import-position
from conformance import MRROPE, needs  # noqa: E402  pylint: disable=wrong-import-position

transformers = needs("transformers", "transformers5")
import torch  # noqa: E402  pylint: disable=wrong-import-position
from transformers import CONFIG_MAPPING, AutoConfig, AutoModel  # noqa: E402  pylint: disable=wrong-import-position

MAJOR = int(transformers.__version__.split(".", maxsplit=1)[0])
ENGINE = f"transformers{MAJOR}"
TARGETS = ["universal", ENGINE] if MAJOR == 5 else [ENGINE]  # one file for many engines is made for 5
TOLERANCE = 1e-6
EXPERTS = ["moe_num_experts", "n_routed_experts", "num_experts", "num_local_experts"]
ROTATING = [name for name, family in families.FAMILIES.items() if family.get("rotates", True)]
transformers.logging.set_verbosity_error()


def mrrope(*arguments):
    done = subprocess.run([MRROPE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


def extended(family, target, folder):
    """(the folder that extend wrote, the plan that it says it wrote)"""
    source, output = families.write_config(folder, family), folder / "longer"
    trained = json.loads(mrrope("plan", source, "--factor", "2", "--json"))["spec"]["context_trained"]
    choice = [] if target == "universal" else ["--target", target]
    said = json.loads(mrrope("extend", source, "-c", 4 * trained, "-o", output, *choice, "--json"))
    plan = json.loads(mrrope("plan", source, "-c", 4 * trained, "--method", said["method"], "--json"))
    return output, plan


def groups_of(plan):
    """[(kind of layers, angular speeds, attention scale)]"""
    specs = [plan["spec"], *plan["spec"].get("other_groups", [])]
    return [(s.get("group", "all"), g["inv_freq"], g["attention_scale"]) for s, g in zip(specs, [plan, *plan.get("other_groups", [])])]


def rotary_modules(folder):
    """{its name in the model: a rotary module with numbers}"""
    config = AutoConfig.from_pretrained(folder).get_text_config()
    for field in EXPERTS:  # transformers 4 makes a module of each
        if getattr(config, field, None):
            setattr(config, field, 4)
    with torch.device("meta"):
        model = AutoModel.from_config(config)
    found = {name: m for name, m in model.named_modules() if re.search("RotaryEmbedding$", type(m).__name__)}
    assert found, "the model has no rotary module"
    return {name: type(m)(m.config) for name, m in found.items()}


def turn(module, length, *kind):
    """A text of `length` tokens: tables that depend on the length settle. M-RoPE wants three positions for each token."""
    positions, x = torch.tensor([[1, length - 1]]), torch.zeros(1, 1)
    try:
        module(x, positions, *kind)
    except (RuntimeError, ValueError, IndexError):
        module(x, positions.expand(3, 1, 2), *kind)


def tables_of(folder, length):
    """{kind of layers: (inv_freq, attention_scaling)}"""
    tables = {}
    for name, module in rotary_modules(folder).items():
        kinds = getattr(module, "rope_type", None)
        if isinstance(kinds, dict):  # transformers 5: one module for all kinds
            for kind in kinds:
                turn(module, length, kind)
                tables[kind] = getattr(module, f"{kind}_inv_freq"), getattr(module, f"{kind}_attention_scaling")
            continue
        turn(module, length)
        kind = {"rotary_emb_local": "sliding_attention"}.get(name, name.partition("rotary_embs.")[2] or "all")
        tables[kind] = module.inv_freq, module.attention_scaling
    if "sliding_attention" in tables and "all" in tables:  # Gemma 3 in transformers 4
        tables["full_attention"] = tables.pop("all")
    return tables


@pytest.mark.parametrize("name", ROTATING)
@pytest.mark.parametrize("target", TARGETS)
def test_the_extended_model_is_built_and_rotates_by_the_plan(name, target, tmp_path):
    family = families.FAMILIES[name]
    if families.text_part(family["config"])["model_type"] not in CONFIG_MAPPING:
        pytest.skip(f"{ENGINE} does not know the model without code of its own")
    if name == "OLMo 3" and MAJOR == 4:
        pytest.xfail("4.57 scales the sliding layers of OLMo 3, too, which the rules do not say yet")
    folder, plan = extended(family, target, tmp_path)
    found = tables_of(folder, plan["context_target"])
    assert {kind for kind, _, _ in groups_of(plan)} == set(found)
    for kind, speeds, scale in groups_of(plan):
        theirs, ours = found[kind][0].double(), torch.tensor(speeds, dtype=torch.float64)
        assert ours.shape == theirs.shape, kind
        still = ours == 0  # a pair that stands still is exactly 0 here and 1e-36 there
        assert (theirs[still] < 1e-29).all()
        error = torch.where(still, 0.0, (ours / theirs - 1).abs()).max()
        assert error <= TOLERANCE, f"{kind}: {error:.2e}"
        tolerance = 2e-4 if family["config"]["model_type"] == "phi3" else TOLERANCE
        assert float(found[kind][1]) == pytest.approx(scale, rel=tolerance), kind


def test_a_model_without_rotation_has_no_rotary_module(tmp_path):
    for name in set(families.FAMILIES) - set(ROTATING):
        with pytest.raises(AssertionError, match="no rotary module"):
            rotary_modules(families.write_config(tmp_path, families.FAMILIES[name]))
