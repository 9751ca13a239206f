# SPDX-License-Identifier: MIT
"""The tools of the other tests in this folder do what those tests assume.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_tools.py
"""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position  # first: skips where the next two are missing
import gguf  # noqa: E402  pylint: disable=wrong-import-position
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position

FAR = 100_000  # at this position a wrong frequency cannot hide
MODELS = harness.tiny_models()
UNROTATED = {"refact"}  # position only in the mask (ALiBi); accepts factors and ignores them
SCALED = {"phi3-longrope"}  # the file itself scales, so the identity table changes it


def far(name):
    """DeepSeek 4 keeps compressed keys by position and cannot start beyond its context of 512."""
    return 200 if name == "deepseek4" else FAR


def table(pairs):
    return np.linspace(1, 8, pairs, dtype=np.float32)


def rotations(name):
    return harness.logits_and_facts(MODELS[name], trace=True)[1]["rope"]


@pytest.mark.parametrize("name", MODELS)
def test_tiny_model_loads_and_computes(name):
    loaded, log = harness.loads(MODELS[name])
    assert loaded, log
    values = harness.logits(MODELS[name], first_position=far(name))
    assert values.shape[0] == 48
    assert np.isfinite(values).all()
    assert values.std() > 0.01


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_deterministic(name):
    assert harness.same_bits(harness.logits(MODELS[name]), harness.logits(MODELS[name]))
    assert not np.array_equal(harness.logits(MODELS[name]), harness.logits(MODELS[name], seed=2))


@pytest.mark.parametrize("name", sorted(set(MODELS) - UNROTATED))
def test_tiny_model_depends_on_the_rotation(name):
    """Otherwise `equal logits` would prove nothing. Layers that rotate another number of dimensions keep theirs."""
    seen = rotations(name)
    assert seen
    pairs = seen[0]["dims"] // 2
    layers = {r["layer"] for r in seen if r["dims"] == 2 * pairs}
    plain = harness.logits(MODELS[name], first_position=far(name))
    changed = harness.logits(MODELS[name], first_position=far(name), factors=table(pairs), layers=layers)
    assert np.mean((changed - plain) ** 2) > 1e-6 * np.mean(plain**2)


@pytest.mark.parametrize("name", sorted(set(MODELS) - UNROTATED - SCALED))
def test_identity_table_by_callback_changes_nothing(name):
    """Dividing by 1 is exact, so an injected table of ones must not change one bit, where no factors were loaded."""
    for dims in {r["dims"] for r in rotations(name) if not r["factors"]}:
        layers = {r["layer"] for r in rotations(name) if r["dims"] == dims and not r["factors"]}
        injected = harness.logits(MODELS[name], first_position=far(name), factors=np.ones(dims // 2), attn=1, layers=layers)
        assert harness.same_bits(injected, harness.logits(MODELS[name], first_position=far(name)))


def with_tensors(source, target, extra, keys=()):
    """Copies a GGUF file, adding float32 tensors and keys {name: float or str}."""
    reader = gguf.GGUFReader(source)
    architecture = reader.get_field("general.architecture").contents()
    writer = gguf.GGUFWriter(target, architecture)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", *keys):
            continue
        kind, inner = field.types[0], field.types[-1]
        sub_type = inner if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=sub_type)
    for name, value in dict(keys).items():
        writer.add_string(name, value) if isinstance(value, str) else writer.add_float32(name, value)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    for name, data in extra.items():
        writer.add_tensor(name, np.asarray(data, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("name", ["llama", "llama-tied", "llama-q8_0"])
def test_factors_in_the_file_equal_factors_by_callback(name, tmp_path):
    """Two ways in which a plan reaches llama.cpp, the same bits: this makes the callback a reference for files."""
    attn = np.float32(0.1 * np.log(8) + 1)
    keys = {"llama.rope.scaling.attn_factor": float(attn)}
    with_tensors(MODELS[name], tmp_path / "file.gguf", {"rope_freqs.weight": table(32)}, keys)
    from_file = harness.logits(tmp_path / "file.gguf", first_position=far(name))
    injected = harness.logits(MODELS[name], first_position=far(name), factors=table(32), attn=repr(float(attn)))
    assert harness.same_bits(from_file, injected)


def test_factors_reach_only_the_layers_asked_for():
    """Gemma 3 rotates five layers of six with another base; a plan is for the sixth."""
    plain = harness.logits(MODELS["gemma3"])
    changed = [harness.logits(MODELS["gemma3"], factors=table(32), layers=layers) for layers in ([5], [0], [0, 5])]
    assert len({values.tobytes() for values in (plain, *changed)}) == 4


def test_split_model_equals_the_whole():
    assert harness.same_bits(harness.logits(MODELS["llama-split"]), harness.logits(MODELS["llama"]))


def test_refusal_carries_the_log(tmp_path):
    with_tensors(MODELS["qwen2"], tmp_path / "bad.gguf", {"rope_freqs.weight": np.ones(32)})
    loaded, log = harness.loads(tmp_path / "bad.gguf")
    assert not loaded
    assert "wrong number of tensors" in log


def test_llama_cli_programs_are_there():
    for program in ("cli", "completion", "gguf-split", "perplexity", "quantize", "server", "tokenize"):
        assert harness.llama_bin(f"llama-{program}").exists()
