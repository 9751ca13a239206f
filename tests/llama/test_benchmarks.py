# SPDX-License-Identifier: MIT
"""`mrrope eval niah` and its kin on a small trained model, in process and on servers: the same samples, the same answers.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_benchmarks.py
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))
MODEL = harness.ROOT / "tests" / "models" / "tiny-512.gguf"


def run(*arguments, status=0):
    done = subprocess.run([MRROPE, "eval", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done


def results(*arguments):
    report = json.loads(run(*arguments, "--json").stdout)
    assert report["schema"] == "mrrope.eval/1"
    return report["results"]


def records(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def answers(folder):
    """What was said, by sample and plan."""
    return {(r["task"], r["method"], r["answer"]["length"], r["answer"]["index"]): r["answer"]["text"] for r in records(folder)}


def test_a_needle_is_found_inside_the_trained_length_and_beyond_it_only_with_a_plan():
    rows = results("niah", "-m", MODEL, "--methods", "none,mrrope-pro", "--factor", 8, "--lengths", "512,2k", "--depths", 5,
                   "--samples", 4)
    score = {(r["method"], r["length"]): r for r in rows}
    assert {r["n"] for r in rows} == {20}
    assert score["none", 512]["score"] >= 0.6
    assert score["none", 2048]["score"] <= 0.2
    assert score["mrrope-pro", 2048]["score"] >= score["none", 2048]["score"] + 0.3
    assert all(0 <= r["score"] <= 1 and r["stderr"] >= 0 for r in rows)


def test_sharing_prefixes_changes_no_answer_and_saves_half_of_the_tokens(tmp_path):
    grid = ["niah", "-m", MODEL, "--methods", "mrrope-pro", "--factor", 8, "--lengths", "512,1k,1536,2k", "--depths", 10]
    done = run(*grid, "-o", tmp_path / "shared")
    run(*grid, "--no-sharing", "-o", tmp_path / "alone")
    assert answers(tmp_path / "shared") == answers(tmp_path / "alone")
    computed, asked = [int(word) for word in done.stderr.split() if word.isdigit()][:2]
    assert computed <= 0.6 * asked


def test_plans_get_the_same_samples_and_a_second_run_repeats_nothing(tmp_path):
    command = ["ruler", "-m", MODEL, "--methods", "none,yarn", "--factor", 4, "--lengths", "1k", "--samples", 3, "--tasks",
               "niah_single_1,niah_single_2", "-o", tmp_path / "run"]
    run(*command)
    first = records(tmp_path / "run")
    prompts = {}
    for r in first:
        prompts.setdefault((r["task"], r["answer"]["index"]), set()).add(r["document_hash"])
    assert len(prompts) == 6 and all(len(p) == 1 for p in prompts.values())
    run(*command)
    assert records(tmp_path / "run") == first


def test_shards_together_are_the_whole(tmp_path):
    command = ["niah", "-m", MODEL, "--methods", "none", "--lengths", "512", "--depths", 3, "--samples", 3]
    run(*command, "-o", tmp_path / "whole")
    for i in range(2):
        run(*command, "--shard", f"{i}/2", "-o", tmp_path / f"part{i}")
    subprocess.run([MRROPE, "merge", tmp_path / "part0", tmp_path / "part1", "-o", tmp_path / "merged"], check=True)
    assert answers(tmp_path / "merged") == answers(tmp_path / "whole")


def test_an_interrupted_run_goes_on_to_the_same_answers(tmp_path):
    command = ["niah", "-m", MODEL, "--methods", "none,mrrope-pro", "--factor", 4, "--lengths", "1k", "--depths", 6]
    run(*command, "-o", tmp_path / "whole")
    for signal_number in (signal.SIGINT, signal.SIGKILL, signal.SIGKILL):
        with subprocess.Popen([MRROPE, "eval", *map(str, command), "-o", str(tmp_path / "torn")], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(0.8)
            process.send_signal(signal_number)
    run(*command, "-o", tmp_path / "torn")
    assert answers(tmp_path / "torn") == answers(tmp_path / "whole")
    assert len(records(tmp_path / "torn")) == len(records(tmp_path / "whole"))


@pytest.mark.parametrize("arguments, words", [
    (["niah", "-m", MODEL, "--factor", "4", "--lengths", "512", "--tasks", "niah_txt"], "niah_text"),
    (["niah", "-m", MODEL, "--lengths", "512"], "--factor"),
    (["niah", "--lengths", "512", "--factor", "2"], "--endpoint"),
    (["niah", "-m", MODEL, "--factor", "2", "--lengths", "512", "--shard", "2/2"], "--shard"),
    (["ruler", "-m", MODEL, "--factor", "2", "--lengths", "1k", "--tasks", "qa_1"], "--questions"),
    (["longbench2", "-m", MODEL, "--factor", "2", "--lengths", "1k"], "--items"),
    (["niah", "--endpoint", "http://127.0.0.1:9", "--model", "m", "--lengths", "1k", "--factor", "2"], "as they were started"),
])
def test_mistakes_are_answered_with_what_to_type(arguments, words):
    assert words in run(*arguments, status=2).stderr


def test_tasks_that_lack_their_file_are_named(tmp_path):
    done = run("ruler", "-m", MODEL, "--methods", "none", "--lengths", "1k", "--samples", 1)
    assert "left out  qa_1, qa_2: the questions come by --questions" in done.stderr


def test_answers_come_again_only_where_their_own_texts_change(tmp_path):
    command = ["ruler", "-m", MODEL, "--methods", "none", "--lengths", "1k", "--samples", 3, "--tasks", "niah_single_1", "-o",
               tmp_path / "run"]
    run(*command)
    (tmp_path / "prose.txt").write_text("A story that this task does not read. " * 2000)
    run(*command, "-f", tmp_path / "prose.txt")
    assert len(records(tmp_path / "run")) == 3


# ---- Servers ---------------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def llama_server(*options):
    port = free_port()
    command = [harness.llama_bin("llama-server"), "-m", MODEL, "--port", port, "-t", 1, "--no-warmup", *options]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
                        if answer.status == 200:
                            break
                except OSError:
                    time.sleep(0.1)
            else:
                pytest.fail("llama-server does not come up")
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.kill()


def test_a_server_gives_the_answers_of_the_process(tmp_path):
    command = ["niah", "--lengths", "512", "--depths", 5, "--samples", 2]
    run(*command, "-m", MODEL, "--methods", "none", "-o", tmp_path / "here")
    with llama_server("-c", 1024, "-np", 1) as (url, _):
        run(*command, "--endpoint", url, "--model", "tiny", "--concurrency", 1, "-o", tmp_path / "there")
    here = {key[2:]: text.strip() for key, text in answers(tmp_path / "here").items()}
    there = {key[2:]: text.strip() for key, text in answers(tmp_path / "there").items()}
    same = sum(here[key] == there[key] for key in here)
    assert set(here) == set(there)
    assert same >= len(here) - 1  # batches differ, so do roundings


def test_plans_served_under_names_of_their_own_are_compared(tmp_path):
    with llama_server("-c", 1024, "-np", 1) as (url, _):
        for name in ("one", "other"):
            run("niah", "--lengths", "512", "--depths", 3, "--endpoint", url, "--model", name, "-o", tmp_path / "run")
    text = subprocess.run([MRROPE, "compare", tmp_path / "run", "--baseline", "one"], capture_output=True, text=True, check=True).stdout
    assert "points against one" in text and "other" in text and "paired over 3 samples" in text


def test_a_server_that_dies_loses_nothing(tmp_path):
    command = ["niah", "--lengths", "512", "--depths", 10, "--samples", 6]
    with llama_server("-c", 1024, "-np", 1) as (one, process), llama_server("-c", 1024, "-np", 1) as (two, _):
        with subprocess.Popen([MRROPE, "eval", *map(str, command), "--endpoint", f"{one},{two}", "--model", "tiny",
                               "--concurrency", "2", "-o", str(tmp_path / "run"), "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            time.sleep(1.5)
            process.kill()
            out, error = running.communicate(timeout=300)
        assert running.returncode == 0, error
    assert json.loads(out)["results"][0]["n"] == 60
    assert len({r["key"] for r in records(tmp_path / "run")}) == len(records(tmp_path / "run")) == 60


def test_a_key_is_in_no_record(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with llama_server("-c", 1024, "-np", 1, "--api-key", "sk-very-secret") as (url, _):
        run("niah", "--lengths", "512", "--depths", 2, "--endpoint", url, "--model", "tiny", "-o", tmp_path / "run")
    for file in (tmp_path / "run").iterdir():
        assert "sk-very-secret" not in file.read_text()
