# SPDX-License-Identifier: MIT
"""`mrrope demo`: what it shows is what the commands do that it prints.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_demo.py      (MRROPE_BIN: the program, default build/release/mrrope)
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))


def run(*words, folder, **options):
    return subprocess.run([MRROPE, *words], cwd=folder, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    place = tmp_path_factory.mktemp("demo")
    done = run("demo", "-o", "It's a demo", folder=place)
    assert done.returncode == 0, done.stderr
    return place, done.stdout


def answers(place):
    """(method, length, score) of every question."""
    records = [json.loads(line) for line in (place / "It's a demo/needles/records.jsonl").read_text().splitlines()]
    return [(record["method"], record["answer"]["length"], record["answer"]["score"]) for record in records]


def test_the_demo_finds_at_four_times_the_length_what_the_model_alone_does_not(shown):
    place, _ = shown
    right = {}
    for method, length, score in answers(place):
        right.setdefault((method, length), []).append(score)
    for method in ("yarn", "climb:mrrope-pro"):
        assert right["none", 512] == right[method, 512] == right[method, 2048] == [1] * 6
    assert right["none", 2048] == [0] * 6
    assert "<html" in (place / "It's a demo/page.html").read_text()[:500]


def test_every_step_is_a_command_that_works_when_it_is_typed(shown, tmp_path):
    place, text = shown
    commands = [shlex.split(line[2:]) for line in text.splitlines() if line.startswith("$ ")]
    assert [command[1] for command in commands] == ["inspect", "extend", "doctor", "eval", "compare", "report"]
    (tmp_path / "It's a demo").mkdir()
    (tmp_path / "It's a demo/model.gguf").write_bytes((place / "It's a demo/model.gguf").read_bytes())
    for command in commands:
        done = run(*command[1:], folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert command[1] == "eval" or done.stdout in text, command  # a measurement says how long it took
    assert (tmp_path / "It's a demo/longer.gguf").read_bytes() == (place / "It's a demo/longer.gguf").read_bytes()
    assert answers(tmp_path) == answers(place)
    assert "<html" in (tmp_path / "It's a demo/page.html").read_text()[:500]


def test_it_fits_a_terminal_of_80_columns(shown):
    _, text = shown
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith(("$ ", "run "))] == []
    assert re.search(r"^done      in \d+ s: open It's a demo/page.html", text, re.MULTILINE)


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mrrope-demo").mkdir()
    (tmp_path / "mrrope-demo/model.gguf").write_text("mine")
    done = run("demo", folder=tmp_path)
    assert done.returncode == 1
    assert "mrrope-demo: the folder is not empty; name another with -o" in done.stderr
    assert [(path.name, path.read_text()) for path in (tmp_path / "mrrope-demo").iterdir()] == [("model.gguf", "mine")]
