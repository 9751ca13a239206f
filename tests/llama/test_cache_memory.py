# SPDX-License-Identifier: MIT
"""What we say a cache takes is what llama.cpp allocates, for every architecture: its own log is asked.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_cache_memory.py

Environment: MRROPE_CACHE_DUMP (default build/release/cache_dump), MRROPE_BIN (default build/release/mrrope).

The log has two digits after the point of a MiB, so a line is right within 5 KiB, and the sum of n lines within n times
that. The smallest mistake that could be made is 256 cells of one layer, 32 KiB in these models. A state is smaller, and
is seen with 64 sequences, which have one each.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position  # first: skips where the next one's needs are missing

sys.path.insert(0, str(harness.ROOT / "tools"))
import make_tiny_models as tiny  # noqa: E402  pylint: disable=wrong-import-position

DUMP = pathlib.Path(os.environ.get("MRROPE_CACHE_DUMP", harness.ROOT / "build/release/cache_dump")).absolute()
MRROPE = pathlib.Path(os.environ.get("MRROPE_BIN", harness.ROOT / "build/release/mrrope")).absolute()
MIB = 2**20
DIGIT = 0.005 * MIB + 0.01  # bytes; 9.875 MiB is printed as 9.88, just as far away
KEYS = re.compile(r"llama_kv_cache: size = +([0-9.]+) MiB \( *(\d+) cells, +(\d+) layers")
STATES = re.compile(r"(?:llama_memory_recurrent: size|llama_dsv4_comp_state: .*, size) = +([0-9.]+) MiB")
# Neither length is a multiple of 256, and the second one is beyond every window (Llama 4: 8192)
SETTINGS = [(5000, 1), (20000, 1), (5000, 64)]


def changed(name, keys):
    return {**tiny.MODELS[name], "arch": name, "keys": tiny.MODELS[name]["keys"] | keys}


# What the models of other tests do not have: layers that share keys and full heads of another size than sliding ones; a
# window beside states; layers that run three times; a pattern that is a number; indexers and states by lists; layers
# that predict further tokens; nothing but states; layers with neither keys nor state.
VARIANTS = {
    "gemma4-shared": tiny.model(
        tiny.GEMMA3, "attn_norm attn_q:E,H*2*D attn_k:E,N*2*D attn_v:E,N*2*D attn_q_norm:2*D attn_k_norm:2*D "
        "attn_output:H*2*D,E post_attention_norm ffn_norm swiglu post_ffw_norm",
        arch="gemma4", head=tiny.TIED, layers=4, extra="rope_freqs", keys=tiny.MODELS["gemma4"]["keys"] | tiny.pattern(1, 0, 1, 0) | {
            "attention.shared_kv_layers": 2, "attention.key_length": 128, "attention.value_length": 128,
            "rope.dimension_count": 128, "rope.dimension_count_swa": 64}),
    "lfm2-window": changed("lfm2", tiny.WINDOW),
    "nanbeige-loops": changed("nanbeige", {"num_loops": 3}),
    "gemma3-period": changed("gemma3", {"attention.sliding_window_pattern": 3}),
    "gemma3-all": changed("gemma3", {"attention.sliding_window_pattern": 0}),
    "glm-dsa-shared": changed("glm-dsa", {"attention.indexer.types": [1, 0]}),
    "qwen35-listed": changed("qwen35", {"attention.recurrent_layers": [1, 0]}),
    "glm4moe-next": changed("glm4moe", {"nextn_predict_layers": 1}),
    "mamba2": tiny.model("attn_norm mamba2", keys=tiny.SSM | {"attention.head_count": 0}),
    "nemotron_h": tiny.model("attn_norm mamba2", "attn_norm qkv attn_output", "attn_norm mlp", layers=3, keys=tiny.SSM | {
        "attention.head_count_kv": [0, 1, 0], "feed_forward_length": [0, 0, 96]}),
}


def write_variants(folder):
    tiny.MODELS.update(VARIANTS)
    for name in VARIANTS:
        tiny.write(name, folder)


FOLDER = harness.cached(f"cache_models-{harness.key(pathlib.Path(__file__), pathlib.Path(tiny.__file__))}", write_variants)
MODELS = harness.tiny_models() | {name: FOLDER / f"{name}.gguf" for name in VARIANTS}


def counted(model, tokens, sequences):
    done = subprocess.run([DUMP, model, str(tokens), str(sequences)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def caches(log):
    """[(MiB, cells, layers)] of every cache of keys, and [MiB] of every store of states."""
    keys = [(float(size), int(cells), int(layers)) for size, cells, layers in KEYS.findall(log)]
    return keys, [float(size) for size in STATES.findall(log)]


def log_of(model, tokens, sequences):
    """plm dies in the graph of flash attention, after its cache was made."""
    command = [harness.program("cache_log"), model, str(tokens), str(sequences)]
    environment = {**os.environ, "GGML_NO_BACKTRACE": "1"}
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert done.returncode == 0 or KEYS.search(done.stderr), done.stderr
    return done.stderr


@pytest.mark.parametrize("tokens,sequences", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_a_cache_takes_what_the_engine_allocates(name, tokens, sequences):
    ours = counted(MODELS[name], tokens, sequences)
    keys, states = caches(log_of(MODELS[name], tokens, sequences))
    assert ours["bytes"] == pytest.approx(sum(size for size, _, _ in keys) * MIB, abs=len(keys) * DIGIT)
    assert ours["recurrent_bytes"] == pytest.approx(sum(states) * MIB, abs=len(states) * DIGIT)
    if ours["sliding_layers"]:
        assert any((cells, layers) == (ours["sliding_cells"], ours["sliding_layers"]) for _, cells, layers in keys)


def test_the_models_have_caches_of_every_kind():
    """Otherwise the test above would prove less than it says."""
    found = [counted(path, 20000, 1) for path in MODELS.values()]
    assert sum(f["sliding_layers"] > 0 for f in found) > 20
    assert sum(f["recurrent_layers"] > 0 for f in found) > 10
    assert sum(f["bytes"] == 0 for f in found) > 2  # diffusion


@pytest.mark.parametrize("name", ["gemma3", "qwen3next"])
def test_inspect_says_what_a_program_of_llama_cpp_allocates(name):
    """Its defaults are those that cache_log sets."""
    said = json.loads(subprocess.run([MRROPE, "inspect", "--json", MODELS[name]], stdout=subprocess.PIPE, check=True).stdout)
    for cache in said["kv_cache_f16"][1:3]:
        command = [harness.llama_bin("llama-completion"), "-m", MODELS[name], "-c", str(cache["tokens"]), "-p", "x", "-n", "1",
                   "-no-cnv", "--no-warmup", "--fit", "off", "-v"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=True)
        keys, states = caches(done.stderr + done.stdout)
        assert cache["bytes"] == pytest.approx(sum(size for size, _, _ in keys) * MIB, abs=len(keys) * DIGIT)
        assert cache["recurrent_bytes"] == pytest.approx(sum(states) * MIB, abs=len(states) * DIGIT)
