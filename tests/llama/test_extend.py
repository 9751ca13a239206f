# SPDX-License-Identifier: MIT
"""`mrrope extend` against unmodified llama.cpp: what it writes loads and rotates by the plan, or it refuses and writes nothing.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_extend.py      (MRROPE_BIN: the program, default build/release/mrrope)
"""
import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position  # first: skips where the next two are missing
import gguf  # noqa: E402  pylint: disable=wrong-import-position
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))
MODELS = harness.tiny_models()
FAR = 100_000
NEAR = 1_000  # for what aborts at far positions in llama.cpp itself (deepseek4)


def mrrope(*arguments, status=0):
    done = subprocess.run([MRROPE, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if status == 0 else done.stderr


def plan(model, *arguments):
    return json.loads(mrrope("plan", model, *arguments, "--json"))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def distance(a, b):
    """Largest difference of a logit, relative to the spread of the logits."""
    return float(np.abs(a - b).max() / a.std())


def contents(path):
    """Keys and tensors as gguf-py, another reader, sees them."""
    reader = gguf.GGUFReader(path)
    keys = {name: [bytes(part) for part in field.parts] for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    tensors = {t.name: (int(t.tensor_type), [int(n) for n in t.shape], hashlib.sha256(t.data.tobytes()).hexdigest()) for t in reader.tensors}
    return keys, tensors


# ---- a real model ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    """{name: (path, options)} of SmolLM2 extended 8k -> 32k in each way."""
    folder = tmp_path_factory.mktemp("smollm2")
    source = folder / "model.gguf"
    shutil.copyfile(harness.smollm2(), source)
    before = digest(source)
    mrrope("extend", source, "-c", "32k", "-o", folder / "copy.gguf")
    text = mrrope("extend", source, "-c", "32k", "--sidecar", "-o", folder / "sidecar")
    run = next(line for line in text.splitlines() if line.startswith("run ") and "--override-kv" in line).split()
    override = run[run.index("--override-kv") + 1].split(",")
    shutil.copyfile(source, folder / "inplace.gguf")
    mrrope("extend", folder / "inplace.gguf", "-c", "32k", "--in-place")
    mrrope("extend", source, "-c", "32k", "--method", "yarn", "-o", folder / "yarn.gguf")
    mrrope("extend", source, "-c", "32k", "--method", "yarn-rotations", "-o", folder / "published.gguf")
    assert digest(source) == before, "extend must not touch its source"
    sidecar = {"override_kv": override}
    return {"source": (source, {}), "copy": (folder / "copy.gguf", {}), "inplace": (folder / "inplace.gguf", {}),
            "sidecar": (run[run.index("-m") + 1], sidecar), "yarn": (folder / "yarn.gguf", {}), "published": (folder / "published.gguf", {})}


@pytest.fixture(scope="module")
def far_logits(smollm2):
    """Logits of 512 tokens at positions beyond the trained 8192."""
    return {name: harness.logits(path, first_position=12_000, tokens=512, **options) for name, (path, options) in smollm2.items()}


def test_copy_sidecar_and_in_place_compute_the_same_bits(far_logits):
    assert harness.same_bits(far_logits["copy"], far_logits["sidecar"])
    assert harness.same_bits(far_logits["copy"], far_logits["inplace"])


def test_baked_yarn_is_llama_cpps_own_yarn(tmp_path):
    """With float32 weights and cache: 2.4e-5 of the largest logit. Both ways round angles of 12 000 radians differently, by
    up to 7e-4; quantised activations and float16 keys turn such differences into percents, of which nobody is right."""
    source = harness.smollm2_f32()
    mrrope("extend", source, "-c", "32k", "--method", "yarn", "-o", tmp_path / "yarn.gguf")
    where = {"first_position": 12_000, "tokens": 512, "cache_f32": 1}
    baked = harness.logits(tmp_path / "yarn.gguf", **where)
    own = harness.logits(source, rope_scaling="yarn", rope_scale=4, yarn_orig_ctx=8192, **where)
    assert np.abs(own - baked).max() < 1e-3 * np.abs(own).max()


def test_mrrope_pro_differs_from_both_yarns_and_from_plain(far_logits):
    for other in ("yarn", "published", "source"):
        assert distance(far_logits["copy"], far_logits[other]) > 0.05, other


def test_the_extended_file_announces_its_new_context(smollm2):
    assert harness.logits_and_facts(smollm2["copy"][0], tokens=8)[1]["n_ctx_train"] == 32768


def test_undo_of_a_copy_restores_keys_and_tensors(smollm2, tmp_path):
    mrrope("extend", smollm2["copy"][0], "--undo", "-o", tmp_path / "back.gguf")
    assert contents(tmp_path / "back.gguf") == contents(smollm2["source"][0])


def test_undo_in_place_restores_every_byte(smollm2, tmp_path):
    shutil.copyfile(smollm2["inplace"][0], tmp_path / "m.gguf")
    mrrope("extend", tmp_path / "m.gguf", "--undo", "--in-place")
    assert digest(tmp_path / "m.gguf") == digest(smollm2["source"][0])


# ---- every architecture ------------------------------------------------------------------------------------------------


@functools.cache
def plain_logits(name):
    """Logits of the unchanged model, and the position they were taken at."""
    try:
        return harness.logits(MODELS[name], first_position=FAR, ctx=2048), FAR
    except harness.Refused:
        return harness.logits(MODELS[name], first_position=NEAR, ctx=2048), NEAR


@pytest.mark.parametrize("method", ["mrrope-pro", "yarn", "linear", "ntk"])
@pytest.mark.parametrize("name", MODELS)
def test_extension_is_applied_or_refused_before_writing(name, method, tmp_path):
    model, target = MODELS[name], tmp_path / ("out.gguf" if "-of-" not in MODELS[name].name else MODELS[name].name)
    done = subprocess.run([MRROPE, "extend", model, "--factor", "8", "--method", method, "-o", target], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        assert done.stderr.startswith("error: "), done.stderr
        assert not list(tmp_path.iterdir()), "a refusal must not leave a file"
        return
    wanted = plan(model, "--factor", "8", "--method", method)
    layers = {"layers": wanted["spec"]["layers"]} if "layers" in wanted["spec"] else {}
    plain, position = plain_logits(name)
    written = harness.logits(target, first_position=position, ctx=2048)
    # The same plan injected into the unchanged model
    injected = harness.logits(model, first_position=position, ctx=2048, factors=wanted["pair_factors"], attn=wanted["attention_scale"], **layers)
    assert distance(injected, plain) > 1e-3, "the plan must show"
    # Factors as a tensor are the same bits; keys (base, linear, yarn) are other float32 roundings of the same angles
    if gguf_has_factors(target):
        assert harness.same_bits(written, injected)
    else:
        assert distance(written, injected) < 0.2 * distance(injected, plain)


def gguf_has_factors(path):
    return any(t.name.startswith("rope_f") for shard in path.parent.glob("*.gguf") for t in gguf.GGUFReader(shard).tensors)


def test_relabelling_needs_an_output_of_its_own(tmp_path):
    text = mrrope("extend", MODELS["qwen3"], "--factor", "8", "--relabel", "-o", tmp_path / "out.gguf", status=2)
    assert "output.weight" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["qwen2", "qwen3-untied"])
def test_relabelled_qwen_computes_the_same_bits(name, tmp_path):
    target = tmp_path / "out.gguf"
    mrrope("extend", MODELS[name], "--factor", "8", "--relabel", "-o", target)
    wanted = plan(MODELS[name], "--factor", "8")
    injected = harness.logits(MODELS[name], first_position=FAR, ctx=2048, factors=wanted["pair_factors"], attn=wanted["attention_scale"])
    assert harness.same_bits(harness.logits(target, first_position=FAR, ctx=2048), injected)


@pytest.mark.parametrize("name", MODELS)
def test_written_files_differ_only_as_announced(name, tmp_path):
    if "-of-" in MODELS[name].name:
        pytest.skip("a split model is compared shard by shard in tests/formats")
    target = tmp_path / "out.gguf"
    done = subprocess.run([MRROPE, "extend", MODELS[name], "--factor", "4", "--method", "linear", "-o", target], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return  # refused, which the test above looks at
    old_keys, old_tensors = contents(MODELS[name])
    new_keys, new_tensors = contents(target)
    changed = {k for k in old_keys if old_keys[k][3:] != new_keys.get(k, [])[3:]} | (set(new_keys) - set(old_keys))
    announced = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert changed <= announced, changed - announced
    assert {k: v for k, v in new_tensors.items() if k in old_tensors and not k.startswith("rope_f")} == {k: v for k, v in old_tensors.items() if not k.startswith("rope_f")}
