# SPDX-License-Identifier: MIT
"""`mrrope probe` against servers of other engines than llama.cpp's: does it name the table and the length that they serve?

    $(tools/engine_env gguf) -m pytest -rs tests/engines/test_probe.py                           three servers of vLLM and the others
    MRROPE_PROBE_ALL=1 $(tools/engine_env gguf) -m pytest -rs tests/engines/test_probe.py        all of them

The weights are those of tests/models/tiny-512.gguf and of SmolLM2, as Hugging Face folders (gguf_folder.py); what probe runs
here is the GGUF file. A server of vLLM takes the better part of a minute to start, so this is no part of the default stages
(`.ci/run vllm`). Environment: MRROPE_BIN, MRROPE_REQUIRE_ENGINES=1 (what is missing is installed, not skipped).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position
from served_models import TINY, models, python_of, serving, vllm  # noqa: E402,F401  pylint: disable=wrong-import-position


def probe(url, model, *options):
    """What `mrrope probe --json` says."""
    run = subprocess.run([c.MRROPE, "probe", url, "-m", model, "--json", *map(str, options)],
                         capture_output=True, text=True, timeout=540, check=False)  # fmt: skip
    assert run.stdout.startswith("{"), run.stderr
    report = json.loads(run.stdout)
    print(json.dumps({name: report.get(name) for name in ("length", "table")}), [f["code"] for f in report["findings"]])
    return report


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
