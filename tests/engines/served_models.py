# SPDX-License-Identifier: MIT
"""Servers of other engines than llama.cpp's, and the models that they serve: a GGUF file and the folder of the same weights.

A server of vLLM takes the better part of a minute to start. Environment: MRROPE_BIN, MRROPE_REQUIRE_ENGINES=1 (what is missing
is installed, not skipped).
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
