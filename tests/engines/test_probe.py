# SPDX-License-Identifier: MIT
"""`mrrope probe` against servers of other engines than llama.cpp's: does it name the table and the length that they serve?

    $(tools/engine_env gguf) -m pytest -rs tests/engines/test_probe.py                           three servers of vLLM and the others
    MRROPE_PROBE_ALL=1 $(tools/engine_env gguf) -m pytest -rs tests/engines/test_probe.py        all of them

The weights are those of tests/models/tiny-512.gguf and of SmolLM2, as Hugging Face folders (gguf_folder.py); what probe runs
here is the GGUF file. A server of vLLM takes the better part of a minute to start, so this is no part of the default stages
(`.ci/run vllm`). Environment: MRROPE_BIN, MRROPE_REQUIRE_ENGINES=1 (what is missing is installed, not skipped).
"""

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "llama")]
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position
import harness  # noqa: E402  pylint: disable=wrong-import-position
import gguf_folder  # noqa: E402  pylint: disable=wrong-import-position

TINY = c.ROOT / "tests/models/tiny-512.gguf"
QUIET = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "TOKENIZERS_PARALLELISM": "false"}
VLLM = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CACHE_ROOT": str(harness.CACHE / "vllm"),
    "TORCH_COMPILE_DISABLE": "1",
}

# ------------------------------------------------------------------------------------ servers


def python_of(environment):
    """The python of an engine's environment: built where it must be there, else skipped if it is not."""
    if os.environ.get("MRROPE_REQUIRE_ENGINES") != "1" and not any(harness.CACHE.glob(f"py/{environment}-*/.complete")):
        pytest.skip(f"no environment of {environment}; see tools/engine_env {environment}")
    printed = subprocess.run([c.ROOT / "tools/engine_env", environment], stdout=subprocess.PIPE, text=True, check=True).stdout
    return Path(printed.strip())


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def serving(command, log, health="/health", **environment):
    """The URL of a server; `{port}` in its command is filled in. It ends with the block, with all its processes."""
    port = free_port()
    words = [str(word).replace("{port}", str(port)) for word in command]
    with log.open("w") as out:
        server = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, **QUIET, **environment}, start_new_session=True)
    try:
        for _ in range(600):
            assert server.poll() is None, log.read_text()[-3000:]
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}{health}", timeout=5).close()
                break
            time.sleep(1)
        else:
            pytest.fail(f"{words[0]} did not come up: {log.read_text()[-3000:]}")
        yield f"http://127.0.0.1:{port}"
    finally:
        for word in (signal.SIGTERM, signal.SIGKILL):  # it may be gone, and its children not
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(server.pid, word)
                server.wait(20)


def vllm(folder, log, *options):
    program = python_of("vllm_server").with_name("vllm")
    command = [program, "serve", folder, "--dtype", "float32", "--enforce-eager", "--port", "{port}", *options]
    return serving(command, log, **VLLM)


def probe(url, model, *options):
    """What `mrrope probe --json` says."""
    run = subprocess.run([c.MRROPE, "probe", url, "-m", model, "--json", *map(str, options)],
                         capture_output=True, text=True, timeout=540, check=False)  # fmt: skip
    assert run.stdout.startswith("{"), run.stderr
    report = json.loads(run.stdout)
    print(json.dumps({name: report.get(name) for name in ("length", "table")}), [f["code"] for f in report["findings"]])
    return report


# ------------------------------------------------------------------------------------- models


class Model:
    """A GGUF file and the folder of the same weights."""

    def __init__(self, file, folder):
        self.file, self.folder = file, folder
        self.config = json.loads((folder / "config.json").read_text())
        self.trained = self.config["max_position_embeddings"]

    def extended(self, target, method, factor):
        """What `mrrope extend` makes for vLLM."""
        c.mrrope("extend", self.folder, "-c", self.trained * factor, "--target", "vllm", "--method", method, "-o", target)
        return target

    def with_rope(self, target, rope):
        shutil.copytree(self.folder, target)
        (target / "config.json").write_text(json.dumps(self.config | {"rope_scaling": rope}))
        return target


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """By name, each made when it is first asked for."""
    base = tmp_path_factory.mktemp("folders")
    files = {"tiny": lambda: TINY, "smollm2": harness.smollm2}

    @functools.cache
    def model(name):
        file = files[name]()
        return Model(file, gguf_folder.save(file, base / name))

    return model


# --------------------------------------------------------------------------------------- vLLM

YARN_X4 = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512, "rope_theta": 10000.0}
# The larger model is asked for its table alone, with prompts that a processor reads in time
BRIEFLY = ["--only", "table", "--table-tokens", "512"]
# name: (model, what is served from (model, folder to make), options, the table's method and factor, the length in tokens)
CONFIGURATIONS = {
    "plain": ("tiny", lambda m, t: m.folder, [], "none", 1, 512),
    "yarn x2": ("tiny", lambda m, t: m.extended(t, "yarn", 2), [], "yarn", 2, 1024),
    "yarn x4": ("tiny", lambda m, t: m.extended(t, "yarn", 4), [], "yarn", 4, 2048),
    "yarn x4 by overrides": (
        "tiny",
        lambda m, t: m.folder,
        ["--hf-overrides", json.dumps({"max_position_embeddings": 2048, "rope_parameters": YARN_X4})],
        "yarn", 4, 2048,
    ),
    "mrrope-pro x4": ("tiny", lambda m, t: m.extended(t, "mrrope-pro", 4), [], "mrrope-pro", 4, 2048),
    "mrrope-uni x4": ("tiny", lambda m, t: m.extended(t, "mrrope-uni", 4), [], "mrrope-uni", 4, 2048),
    "shorter than the file says": (
        "tiny", lambda m, t: m.extended(t, "yarn", 4), ["--max-model-len", "1024"], "yarn", 4, 1024,
    ),
    "SmolLM2, plain": ("smollm2", lambda m, t: m.folder, [], "none", 1, 8192),
    "SmolLM2, yarn x2": ("smollm2", lambda m, t: m.extended(t, "yarn", 2), [], "yarn", 2, 16384),
    "SmolLM2, mrrope-pro x4": (
        "smollm2", lambda m, t: m.extended(t, "mrrope-pro", 4), ["--max-model-len", "16384"], "mrrope-pro", 4, 16384,
    ),
}  # fmt: skip
FEW = ["mrrope-pro x4", "yarn x4 by overrides"]  # and the one that vLLM ignores


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_vllm_is_named_right(name, models, tmp_path):
    if name not in FEW and os.environ.get("MRROPE_PROBE_ALL") != "1":
        pytest.skip("a server of vLLM more, a minute or more each: MRROPE_PROBE_ALL=1")
    model, make, options, method, factor, length = CONFIGURATIONS[name]
    model = models(model)
    with vllm(make(model, tmp_path / "served"), tmp_path / "log", *options) as url:
        report = probe(url, model.file, *([] if model.file == TINY else BRIEFLY))
    assert report["server"]["claims"][0]["tokens"] == length
    if model.file == TINY:
        found = report["length"]
        assert (found["advertised"], found["accepted"], found["refused"], found["cut"]) == (length, length, length + 1, "none")
    table = report["table"]
    assert (table["method"], table["factor"], table["certain"]) == (method, pytest.approx(factor), True)
    assert table["whole_prompts"]


def test_vllm_ignores_dynamic_and_its_length_is_an_empty_promise(models, tmp_path):
    """It advertises what the factor allows, rotates by the trained table, and has no log probabilities beyond its length."""
    model = models("tiny")
    with vllm(model.with_rope(tmp_path / "served", {"rope_type": "dynamic", "factor": 4.0}), tmp_path / "log") as url:
        report = probe(url, model.file)
    assert (report["length"]["advertised"], report["length"]["accepted"]) == (2048, 512)
    assert "P100" in [finding["code"] for finding in report["findings"]]
    assert (report["table"]["method"], report["table"]["certain"]) == ("none", True)


# ------------------------------------------------------------------------- servers that tell less


def named_right_or_left_open(table, method, factor):
    return not table["certain"] or (table["method"], table["factor"]) == (method, pytest.approx(factor))


@pytest.mark.parametrize(("method", "factor"), [("none", 1), ("yarn", 4)])
def test_mlx_lm_takes_texts_alone_and_is_not_named_wrong(method, factor, models, tmp_path):
    model = models("tiny")
    folder = model.folder if factor == 1 else model.extended(tmp_path / "served", method, factor)
    program = python_of("mlx_lm").with_name("mlx_lm.server")
    (tmp_path / "hub").mkdir()  # it lists what is there, and fails where nothing is
    with serving([program, "--model", folder, "--port", "{port}"], tmp_path / "log", HF_HUB_CACHE=str(tmp_path / "hub")) as url:
        report = probe(url, model.file, "--model", folder, "--only", "table", "--table-tokens", 384)
    assert named_right_or_left_open(report["table"], method, factor)
    assert not report["table"]["whole_prompts"]


def test_transformers_serve_gives_no_log_probabilities_and_is_left_open(models, tmp_path):
    model = models("tiny")
    python = python_of("transformers5")
    if subprocess.run([python, "-c", "import fastapi, uvicorn, openai, accelerate"], capture_output=True, check=False).returncode != 0:
        pytest.skip("transformers serve needs fastapi, uvicorn, openai and accelerate, which transformers5 is without; PYTHONPATH may add them")
    command = [python.with_name("transformers"), "serve", model.folder, "--device", "cpu", "--dtype", "float32", "--port", "{port}"]
    (tmp_path / "hub").mkdir()
    with serving(command, tmp_path / "log", HF_HUB_CACHE=str(tmp_path / "hub")) as url:
        report = probe(url, model.file, "--model", model.folder, "--max-tokens", 1024)
    assert report["table"] is None
    assert (report["length"]["advertised"], report["length"]["cut"]) == (None, "unknown")
    assert {"P102", "P106", "P203"} <= {finding["code"] for finding in report["findings"]}
