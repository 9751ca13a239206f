# SPDX-License-Identifier: MIT
"""`--llama DIR` and MRROPE_LLAMA_DIR: which libraries of llama.cpp a measurement runs with, as the system's loader reports it.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_llama_folder.py      (MRROPE_BIN: the program, default build/release/mrrope)
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))
MODEL = harness.ROOT / "tests/models/tiny-512.gguf"
LIBRARIES = harness.llama_prefix() / "lib"


def run(*words, folder, **environment):
    return subprocess.run([MRROPE, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def loaded(*words, folder, **environment):
    """The libraries that ran, by name. LD_DEBUG writes a file for each process; the last one is the program that did the work."""
    traces = folder / "traces"
    traces.mkdir()
    done = run(*words, folder=folder, LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(traces / "trace"), **environment)
    assert done.returncode == 0, done.stderr
    lines = "".join(path.read_text() for path in traces.iterdir())
    found = re.findall(r"calling init: (/.*/(lib[^/\n]*))$", lines, re.MULTILINE)
    return {name: str(pathlib.Path(path).resolve()) for path, name in found}


def flat(folder):
    """llama.cpp as its releases have it: libraries side by side."""
    folder.mkdir()
    for path in LIBRARIES.glob("*.so*"):
        shutil.copyfile(path, folder / path.name) if not path.is_symlink() else (folder / path.name).symlink_to(os.readlink(path))
    return folder


@pytest.mark.parametrize("how", ["--llama", "MRROPE_LLAMA_DIR"])
def test_the_named_libraries_run_wherever_the_prefix_has_them(tmp_path, how):
    for name, made in {"a prefix": lambda place: flat(place / "lib"), "a flat folder": flat}.items():
        place = tmp_path / name
        if name == "a prefix":
            place.mkdir()
        made(place)
        work = tmp_path / f"work in {name}"
        work.mkdir()
        words = ["eval", "ppl", "-m", MODEL, "-f", "text.txt", "--lengths", "64", "--factor", "2", "--methods", "none", "-o", "run"]
        (work / "text.txt").write_text("It was a dark and stormy night. " * 20)
        libraries = loaded(*words, *(["--llama", place] if how == "--llama" else []), folder=work,
                           **({how: str(place)} if how != "--llama" else {}))
        for library in ("libllama.so.0", "libggml.so.0", "libggml-base.so.0", "libggml-cpu.so.0"):
            assert libraries[library].startswith(str(place.resolve())), libraries[library]
        assert "llama.cpp 0.5.0" in json.dumps(json.loads((work / "run/run.json").read_text()))


def test_a_folder_without_llama_cpp_is_refused(tmp_path):
    done = run("eval", "ppl", "--llama", tmp_path, folder=tmp_path)
    assert done.returncode != 0 and "there is no libllama.so.0 in" in done.stderr, done.stderr
    done = run("tune", MODEL, "-c", "2k", folder=tmp_path, MRROPE_LLAMA_DIR="missing")
    assert done.returncode != 0 and "MRROPE_LLAMA_DIR" in done.stderr, done.stderr


def test_another_version_is_refused_with_what_to_do(tmp_path):
    place = flat(tmp_path / "newer")
    (place / "libllama.so.0").unlink()
    (place / "libllama.so.0.5.0").rename(place / "libllama.so.0.6.1")
    (place / "libllama.so.0").symlink_to("libllama.so.0.6.1")
    done = run("eval", "ppl", "--llama=" + str(place), folder=tmp_path)
    assert done.returncode == 2
    assert "has llama.cpp 0.6.1, and this mrrope was built for 0.5.x" in " ".join(done.stderr.split()), done.stderr


def test_a_library_without_a_version_in_its_name_is_taken(tmp_path):
    place = flat(tmp_path / "unnamed")
    (place / "libllama.so.0").unlink()
    (place / "libllama.so").unlink()
    (place / "libllama.so.0.5.0").rename(place / "libllama.so")
    (place / "libllama.so.0").symlink_to("libllama.so")
    done = run("eval", "ppl", "--llama", place, "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_backends_that_are_files_come_from_the_named_prefix(tmp_path):
    prefix = harness.llama_prefix("--dl")
    (tmp_path / "text.txt").write_text("It was a dark and stormy night. " * 20)
    libraries = loaded("eval", "ppl", "-m", MODEL, "-f", "text.txt", "--lengths", "64", "--methods", "none", "--factor", "2",
                       "--llama", prefix, folder=tmp_path)
    assert libraries["libggml-cpu.so"].startswith(str(prefix)), libraries


def test_commands_that_run_no_models_do_not_look_for_it(tmp_path):
    for words in (["inspect", MODEL], ["eval", "ppl", "--help"], ["complete", "eval", "ppl", "--fac"]):
        assert run(*words, folder=tmp_path, MRROPE_LLAMA_DIR="/nowhere").returncode == 0, words
    for words in (["probe", "http://127.0.0.1:9"], ["eval", "niah", "--endpoint", "http://127.0.0.1:9", "--model", "m", "--lengths", "1k"]):
        assert "MRROPE_LLAMA_DIR" not in run(*words, folder=tmp_path, MRROPE_LLAMA_DIR="/nowhere").stderr, words
