# SPDX-License-Identifier: MIT
"""`mrrope probe` against unmodified llama-server: the table it was started with is named, and no other.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_probe.py

Short prompts (--table-tokens) keep this below a minute; tools/probe_study.py asks hundreds of servers. Its manners:
tests/cli/probe_test.py. Other engines: tests/engines/test_probe.py.
"""
import json
import pathlib
import socket
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position
from test_benchmarks import MODEL, MRROPE, free_port, llama_server  # noqa: E402  pylint: disable=wrong-import-position

SHORT = ["--table-tokens", "384", "-t", "1"]
YARN = ["-c", "2048", "--rope-scaling", "yarn", "--rope-scale", "4", "--yarn-orig-ctx", "512", "--override-kv",
        "llama.context_length=int:2048"]


def mrrope(*words, status=0):
    done = subprocess.run([MRROPE, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def probe(url, *words, status=0):
    return json.loads(mrrope("probe", url, *words, "--json", status=status))


def codes(found):
    return {finding["code"] for finding in found["findings"]}


def wait_for(port):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("nobody listens")


@pytest.fixture(scope="module", name="files")
def files_(tmp_path_factory):
    """An extended file, and plans of two methods."""
    folder = tmp_path_factory.mktemp("probe")
    mrrope("extend", MODEL, "-c", "2k", "--method", "mrrope-pro", "-o", folder / "pro.gguf")
    for method in ("mrrope-pro", "yarn"):
        (folder / f"{method}.json").write_text(mrrope("plan", MODEL, "-c", "2k", "--method", method, "--json"))
    return folder


def test_a_plain_server_is_named_and_is_right_within_its_trained_length():
    with llama_server("-c", 512, "-np", 1) as (url, _):
        found = probe(url, "-m", MODEL, *SHORT)
    assert (found["table"]["method"], found["table"]["certain"]) == ("none", True)
    assert (found["length"]["advertised"], found["length"]["accepted"], found["length"]["cut"]) == (512, 512, "none")
    assert not codes(found) & {"P100", "P101", "P200", "P201", "P205"}
    assert found["health"]["same_twice"] is True
    assert found["server"]["software"] == "llama.cpp"


def test_flags_of_yarn_are_named_and_a_file_that_says_otherwise_is_contradicted(files):
    with llama_server(*YARN, "-np", 1) as (url, _):
        found = probe(url, "-m", files / "pro.gguf", "--only", "table", *SHORT, status=3)
    assert (found["table"]["method"], found["table"]["certain"]) == ("yarn", True)
    assert found["table"]["factor"] == pytest.approx(4, abs=0.1)
    assert codes(found) == {"P200"}


def test_the_plain_table_beyond_the_trained_length_is_an_error():
    with llama_server("-c", 1024, "-np", 1, "--override-kv", "llama.context_length=int:1024") as (url, _):
        found = probe(url, "-m", MODEL, "--only", "table", *SHORT, status=3)
    assert (found["table"]["method"], codes(found)) == ("none", {"P201"})


def test_an_extended_file_is_ready_for_its_plan_and_for_no_other(files):
    with llama_server("-c", 2048, "-np", 1, model=files / "pro.gguf") as (url, _):
        found = probe(url, "-m", MODEL, "--expect", files / "mrrope-pro.json", "--length", "2k", *SHORT)
        assert found["expected"] == {"table": "mrrope-pro x4", "length": 2048, "met": True, "why": None}
        assert found["health"] is None
        found = probe(url, "-m", files / "pro.gguf", "--expect", files / "yarn.json", *SHORT, status=3)
        assert (found["table"]["method"], found["expected"]["met"]) == ("mrrope-pro", False)
        assert "it runs mrrope-pro x4, not yarn x4" in found["expected"]["why"]


def test_a_length_that_the_server_was_not_started_for_is_not_ready(files):
    with llama_server("-c", 1024, "-np", 1, model=files / "pro.gguf") as (url, _):
        found = probe(url, "-m", MODEL, "--length", "2k", status=3)
    assert found["length"]["accepted"] == pytest.approx(1024, abs=16)
    assert not found["expected"]["met"]


def test_a_base_is_named_as_ntk_at_the_factor_that_it_makes():
    """llama.cpp's base is ntk's at 4 ^ (62 / 64) times: 3.83, which is not the 4 that is tried first."""
    with llama_server("-c", 512, "-np", 1, "--rope-freq-base", 40000) as (url, _):
        found = probe(url, "-m", MODEL, "--only", "table", "-t", "1")
    table = found["table"]
    assert (table["method"], table["certain"]) == ("ntk", True)
    assert table["factor"] == pytest.approx(4 ** (62 / 64), rel=0.02)
    assert table["factor_low"] < 4 ** (62 / 64) < table["factor_high"] < 4


def test_a_method_that_few_people_serve_is_not_taken_for_one_near_it(tmp_path):
    """mrrope-mirror x4 was called yarn-rotations x4: nobody had tried it, and the other one was near enough."""
    mrrope("extend", MODEL, "--method", "mrrope-mirror", "-c", "2k", "-o", tmp_path / "mirror.gguf")
    with llama_server("-c", 2048, "-np", 1, "-fa", "on", model=tmp_path / "mirror.gguf") as (url, _):
        found = probe(url, "-m", MODEL, "--only", "table", *SHORT, "--fail-on", "never")
    assert (found["table"]["method"], found["table"]["certain"]) == ("mrrope-mirror", True)


def test_a_server_that_cuts_as_ollama_does_is_found_out_and_is_not_blamed_for_the_plain_table():
    """tests/probe/ollama_proxy.py cuts by Ollama's rule: of a prompt beyond 512 tokens some 258 are left, fewer than were trained."""
    with llama_server("-c", 1024, "-np", 1, "--override-kv", "llama.context_length=int:1024") as (url, _):
        port = free_port()
        proxy = [sys.executable, harness.ROOT / "tests/probe/ollama_proxy.py", "--upstream", url, "--num-ctx", 512, "--port", port]
        with subprocess.Popen(list(map(str, proxy)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_for(port)
                found = probe(f"http://127.0.0.1:{port}", "-m", MODEL, "--only", "length,table", *SHORT, status=3)
            finally:
                process.kill()
    assert (found["length"]["advertised"], found["length"]["cut"]) == (512, "front")
    assert found["length"]["read"] == pytest.approx(512 - (512 - 4) // 2, abs=max(2, found["length"]["read_within"]))
    assert "P201" not in codes(found)


def test_a_model_that_rotates_in_windows_alone_needs_no_table_at_any_length():
    """Command A: what reaches far knows no positions, so the plain table is right beyond the trained 4096."""
    model = harness.tiny_models()["cohere2"]
    with llama_server("-c", 8192, "-np", 1, "--override-kv", "cohere2.context_length=int:8192", model=model) as (url, _):
        found = probe(url, "-m", model, "--only", "table", *SHORT)
    assert (found["table"]["method"], found["server"]["claims"][0]["tokens"]) == ("none", 8192)
    assert not codes(found)
