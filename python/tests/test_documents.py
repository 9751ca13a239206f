# SPDX-License-Identifier: MIT
"""docs/python.md and python/examples do what they say.

```pycon blocks are doctests, in a folder with model.gguf, Qwen3-8B/ and gemma-3-4b/; "..." stands for anything. ```python
blocks and the examples need transformers, and run where it is.
"""
import doctest
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
needs_transformers = pytest.mark.skipif(not HAS_TRANSFORMERS, reason="no transformers in this python")


def blocks(root, kind):
    return re.findall(rf"```{kind}\n(.*?)```", (root / "docs/python.md").read_text(encoding="utf-8"), re.DOTALL)


def run(folder, *command):
    env = dict(os.environ, HF_HUB_OFFLINE="1", MPLCONFIGDIR=str(folder))
    return subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_examples_of_the_guide_print_what_it_says(root, tmp_path, monkeypatch):
    shutil.copy(root / "tests/models/tiny-512.gguf", tmp_path / "model.gguf")
    for name in ("Qwen3-8B", "gemma-3-4b"):
        (tmp_path / name).mkdir()
        shutil.copy(root / f"tests/formats/configs/{name.lower()}.json", tmp_path / name / "config.json")
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(root, "pycon")), {}, "docs/python.md", None, 0)
    said = []
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert result.attempted > 20 and result.failed == 0, "".join(said)


@needs_transformers
def test_the_programs_of_the_guide_run(root, tmp_path):
    programs = blocks(root, "python")
    assert programs
    for program in programs:
        done = run(tmp_path, "-c", program)
        assert done.returncode == 0, done.stderr
        assert "<plan mrrope-pro, 512 -> 2048 tokens" in done.stdout and "['model.rotary_emb']" in done.stdout


@needs_transformers
@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="no matplotlib in this python")
def test_the_example_draws_its_picture_without_a_display(root, tmp_path):
    done = run(tmp_path, root / "python/examples/patch_and_plot.py")
    assert done.returncode == 0, done.stderr
    assert "patched model.rotary_emb" in done.stdout
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")
