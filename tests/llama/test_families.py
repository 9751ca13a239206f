# SPDX-License-Identifier: MIT
"""Every family of tests/families, as a tiny random model that rotates like the released one, extended without being told how:
unmodified llama.cpp loads the file and computes with the plan.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_families.py      (MRROPE_BIN: the program, default build/release/mrrope)
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "families")]
import harness  # noqa: E402  pylint: disable=wrong-import-position  # first: skips where the next two are missing
import gguf  # noqa: E402  pylint: disable=wrong-import-position
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import families  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))
FAR = 20_000  # both sides round angles to float32: at 100,000 that grows through 22 random layers to half of the plan's effect
TINY = {"Mixtral": "mixtral", "OLMo 3": "olmo3", "EXAONE 4": "exaone4-swa"}  # others: named after their architecture
ROTATION = ("context_length", "rope.freq_base", "rope.freq_base_swa", "attention.temperature_scale")
PLUG_IN = "commands of the plug-in"  # what extend says to type where no file carries a plan


def mrrope(*arguments):
    return subprocess.run([MRROPE, *map(str, arguments)], capture_output=True, text=True, check=False)


def plan_of(*arguments):
    done = mrrope("plan", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def distance(a, b):
    """Largest difference of a logit, relative to the spread of the logits."""
    return float(np.abs(a - b).max() / a.std())


def tiny_like(family, path):
    """The tiny model of the family's architecture, with the length, the base and the scaling of the released one. Lists of
    factors are shortened to as many pairs as it has."""
    keys, tensors = families.gguf_keys(family)
    keys = {k: v for k, v in keys.items() if k in ROTATION or k.startswith("rope.scaling.")}
    reader = gguf.GGUFReader(harness.tiny_models()[TINY.get(family["name"], family["gguf"])])
    writer = gguf.GGUFWriter(path, family["gguf"])
    for name, field in reader.fields.items():
        own = name.removeprefix(f"{family['gguf']}.")
        if own in keys or name == "general.architecture" or name.startswith("GGUF."):
            continue
        sub = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=sub)
    for name, value in keys.items():
        kind = {bool: gguf.GGUFValueType.BOOL, int: gguf.GGUFValueType.UINT32, float: gguf.GGUFValueType.FLOAT32, str: gguf.GGUFValueType.STRING}
        writer.add_key_value(f"{family['gguf']}.{name}", value, kind[type(value)])
    for tensor in reader.tensors:
        if tensor.name not in tensors or tensor.name.startswith("output"):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    pairs = int(reader.fields[f"{family['gguf']}.rope.dimension_count"].contents()) // 2
    for name, values in tensors.items():
        if name.startswith("rope_f"):
            step = len(values) / pairs
            writer.add_tensor(name, np.array([values[int(i * step)] for i in range(pairs)], dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("name", [n for n, f in families.FAMILIES.items() if f.get("rotates", True)])
def test_the_extended_file_loads_and_rotates_by_the_plan(name, tmp_path):
    family = families.FAMILIES[name]
    model, target = tiny_like(family, tmp_path / "model.gguf"), tmp_path / "longer.gguf"
    plain = harness.logits(model, first_position=FAR, ctx=2048)
    context = 4 * plan_of(model, "--factor", "2")["spec"]["context_trained"]
    done = mrrope("extend", model, "-c", context, "-o", target, "--json")
    if done.returncode != 0:  # nothing that it reads comes near: the plug-in is what is left
        assert PLUG_IN in done.stdout + done.stderr, done.stdout + done.stderr
        assert not target.exists()
        return
    said = json.loads(done.stdout)
    written, facts = harness.logits_and_facts(target, first_position=FAR, ctx=2048)
    assert facts["n_ctx_train"] == context
    if family.get("windows"):  # the length alone
        assert harness.same_bits(written, plain)
        return
    wanted = plan_of(model, "-c", context, "--method", said["method"])
    layers = {"layers": wanted["spec"]["layers"]} if "layers" in wanted["spec"] else {}
    injected = harness.logits(model, first_position=FAR, ctx=2048, factors=wanted["pair_factors"], attn=wanted["attention_scale"], **layers)
    # Gemma 4 rotates its fastest pairs alone, which a plan leaves as they are
    kept = plan_of(model, "-c", context, "--method", "none")
    shows = any(wanted[what] != kept[what] for what in ("pair_factors", "attention_scale"))
    assert (distance(injected, plain) > 1e-3) == shows
    # Factors as a tensor are the same bits; keys (base, linear, yarn) are other float32 roundings of the same angles
    if any(tensor.name.startswith("rope_f") for tensor in gguf.GGUFReader(target).tensors):
        assert harness.same_bits(written, injected)
    else:
        assert distance(written, injected) < 0.2 * distance(injected, plain)


@pytest.mark.parametrize("name", [n for n, f in families.FAMILIES.items() if not f.get("rotates", True)])
def test_a_model_that_does_not_rotate_runs_at_any_length_as_it_is(name, tmp_path):
    model = tiny_like(families.FAMILIES[name], tmp_path / "model.gguf")
    near, far = (harness.logits(model, first_position=p, ctx=2048) for p in (0, FAR))
    assert harness.same_bits(near, far)
    done = mrrope("extend", model, "--factor", "4", "-o", tmp_path / "longer.gguf")
    assert done.returncode != 0 and "no table limits its length" in done.stderr
