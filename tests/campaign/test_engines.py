# SPDX-License-Identifier: MIT
"""The same small model through every engine of a campaign: what they measure of a plan agrees.

vLLM takes a minute to start: its test is part of `.ci/run vllm`, not of `campaign`.
"""
import json
import math
import os
import pathlib

import campaigns
import pytest
from campaigns import ROOT, TINY, drive, records, write

TEXTS = ["bleak-house.md", "middlemarch.md"]

@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    return campaigns.hugging_face_folder(tmp_path_factory.mktemp("hf") / "tiny")


@pytest.fixture(name="texts", scope="module")
def _texts(tmp_path_factory):
    data = pathlib.Path(os.environ.get("MRROPE_DATA", ROOT.parent / "shared/data")) / "novels"
    if not data.is_dir():
        pytest.skip(f"no texts in {data}; MRROPE_DATA names them")
    folder = tmp_path_factory.mktemp("texts")
    for name in TEXTS:
        (folder / name).write_text((data / name).read_text()[20_000:26_000])
    return [str(folder / name) for name in TEXTS]


def reading(output, plan):
    """-ln p per token at each length, by text."""
    found = {}
    for (measurement, name, _), record in records(output).items():
        if (measurement, name) == ("ppl", plan):
            points = record["points"]
            found[record["document"]] = {point["length"]: point["nll"] / point["predicted"] for point in points}
    return found


def scores(output, plan):
    """Of needles, by the hash of the prompt."""
    return {record["document_hash"]: record["answer"]["score"]
            for (measurement, name, _), record in records(output).items()
            if (measurement, name) == ("niah", plan)}  # fmt: skip


def test_transformers_reads_as_llama_cpp_does(folder, texts, tmp_path):
    """-ln p per token within the rounding of eight bits: llama.cpp multiplies in int8, transformers in float32."""
    pytest.importorskip("transformers", reason="no transformers in this python; .ci/run campaign has it")
    measurements = [{"kind": "ppl", "texts": texts}, {"kind": "niah", "depths": 3}]
    models, plans = [campaigns.transformers_model(folder)], ["mrrope-pro"]
    drive(write(tmp_path, "transformers", models=models, plans=plans, measurements=measurements), "--local")
    drive(write(tmp_path, "llama", plans=plans, measurements=measurements), "--local")
    for plan in plans:
        theirs, ours = reading(tmp_path / "transformers", plan), reading(tmp_path / "llama", plan)
        assert theirs.keys() == ours.keys() == set(TEXTS)
        for text in TEXTS:
            for length in (512, 1024):
                assert math.isclose(theirs[text][length], ours[text][length], abs_tol=0.005), (plan, text, length)
        answers = [scores(tmp_path / name, plan) for name in ("transformers", "llama")]
        assert answers[0].keys() == answers[1].keys(), "the same prompts"
        assert sum(answers[0][key] != answers[1][key] for key in answers[0]) <= 1
    assert (tmp_path / "transformers/tiny.html").exists()


def test_every_type_of_cache_is_measured_under_every_plan(texts, tmp_path):
    """compare pairs them: what a cache costs is not mixed with what a plan costs."""
    measurements = [{"kind": "ppl", "texts": texts}, {"kind": "niah", "depths": 2}]
    drive(write(tmp_path, plans=["yarn"], cache_types=["f16", "q4_0"], measurements=measurements), "--local")
    found = records(tmp_path / "c")
    assert {record["method"] for record in found.values()} == {"yarn", "yarn:cache=q4_0"}
    assert len(found) == 2 * (len(TEXTS) + 2 * 2)


def test_vllm_gets_its_plan_in_the_command_and_is_found_to_run_it(folder, tmp_path):
    drive(write(tmp_path, models=[campaigns.vllm_model(folder, check="table")]), "--local")
    assert len(records(tmp_path / "c")) == 3 * (2 * 3 + 2 * 2)
    for plan in ("none", "yarn", "mrrope-pro"):
        assert "all of it is true" in (tmp_path / f"c/logs/tiny/{plan}/0-of-1/check.txt").read_text()
    config = json.loads((folder / "config.json").read_text())
    assert not config.get("rope_scaling"), "the folder stays as it is"


def test_servers_that_are_there_are_asked_and_not_stopped(tmp_path):
    from mrrope.campaign.programs import serving

    command = [campaigns.llama_server(), "-m", str(TINY), "-c", "1024", "-t", "1", "-np", "1", "--alias", "tiny"]
    with serving(command, tmp_path / "server.txt", {}) as server:
        model = {"name": "tiny", "engine": "endpoints", "endpoints": {"mine": [server.url]}, "vocabulary": str(TINY)}
        file = write(tmp_path, models=[model], plans=[{"method": "none", "name": "mine"}], lengths=[448, 512])
        drive(file, "--local")
        drive(file, "--local")  # nothing is left to do
    assert len(records(tmp_path / "c")) == 2 * 3 + 2 * 2
