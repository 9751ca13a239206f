# SPDX-License-Identifier: MIT
"""`mrrope eval --ladder`: every text under the rung that it needs, with the numbers of that rung alone.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_eval_ladder.py   (MRROPE_BIN: the program, default build/release/mrrope)
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))
MODEL = harness.ROOT / "tests" / "models" / "tiny-512.gguf"
TEXTS = [harness.ROOT / "tests" / "texts" / "theory.md", harness.ROOT / "tests" / "texts" / "evaluation.md"]
NAME = "ladder(none@512,mrrope-pro@1k@4k)"
FACTORS = {512: 1, 1024: 2, 4096: 8}  # by rung


def mrrope(*arguments, status=0):
    done = subprocess.run(list(map(str, [MRROPE, *arguments])), capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def ladder_file(folder, model=MODEL, methods=("none", "mrrope-pro", "mrrope-pro")):
    """As the commands write it."""
    rungs = []
    for (length, factor), method in zip(FACTORS.items(), methods):
        plan = json.loads(mrrope("plan", model, "--factor", factor, "--method", method, "--json").stdout)
        rungs.append({"name": plan_name(length), "length": length, "why": "", "plan": plan})
    path = folder / "ladder.json"
    path.write_text(json.dumps({"schema": "mrrope.ladder/1", "source": "", "reserve": 64, "rungs": rungs}))
    return path


def plan_name(length):
    return f"{length // 1024}k" if length % 1024 == 0 else str(length)


def records(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def rung_of(length):
    return next(rung for rung in FACTORS if length <= rung)


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    return ladder_file(tmp_path_factory.mktemp("ladder"))


# ---- Perplexity ------------------------------------------------------------------------------------------------------

LENGTHS = [256, 512, 600, 1024, 1025, 2048, 4096]


@pytest.fixture(scope="module")
def passes(ladder, tmp_path_factory):
    """A run of the ladder and of each of its plans."""
    folder = tmp_path_factory.mktemp("passes") / "run"
    mrrope("eval", "ppl", "-m", MODEL, "-f", *TEXTS, "--lengths", ",".join(map(str, LENGTHS)), "--ladder", ladder, "--methods",
           "none,mrrope-pro", "--factor", "2,8", "--kl", 300, "-t", 1, "-o", folder, "--json")
    return folder


def points(folder):
    """{(document, method, factor, length): sums}, by the records."""
    found = {}
    for record in records(folder):
        for point in record["points"]:
            key = record["document"], record["method"], record["factor"], point["length"]
            assert key not in found, "a length is read once"
            found[key] = point, record
    return found


def test_perplexity_at_every_length_is_that_of_the_rung_alone(passes):
    found = points(passes)
    for text in TEXTS:
        for length in LENGTHS:
            rung = rung_of(length)
            point, record = found[text.name, NAME, 8, length]
            method = ("none", 1) if rung == 512 else ("mrrope-pro", FACTORS[rung])
            alone, by_plan = found[text.name, *method, length]
            assert point == alone, (text, length)
            assert record["rung"] == plan_name(rung)
            assert record["inv_freq"] == by_plan["inv_freq"] and record["attention_scale"] == by_plan["attention_scale"]
            assert "rung" not in by_plan


def test_a_rung_reads_no_further_than_its_own_texts(passes):
    by_rung = {record["rung"]: record for record in records(passes) if record.get("rung") and record["document"] == TEXTS[0].name}
    assert {name: [p["length"] for p in record["points"]] for name, record in by_rung.items()} == {
        "512": [256, 512], "1k": [600, 1024], "4k": [1025, 2048, 4096]}
    # What short texts pay is said by the rung of short texts
    assert by_rung["512"]["kl_tokens"] == 300 and by_rung["512"]["kl"] == 0
    assert by_rung["1k"]["kl_tokens"] == by_rung["4k"]["kl_tokens"] == 0


def test_commands_that_read_records_take_a_ladder_for_one_plan(passes, ladder, tmp_path):
    compared = json.loads(mrrope("compare", passes, "--baseline", "none", "--json").stdout)
    inside = [c for c in compared["comparisons"] if c["method"] == NAME and c["length"] <= 512]
    assert len(inside) == 2 and all(c["ratio"] == 1 for c in inside)
    again = mrrope("eval", "ppl", "-m", MODEL, "-f", *TEXTS, "--lengths", ",".join(map(str, LENGTHS)), "--ladder",
                   ladder, "--kl", 300, "-t", 1, "-o", passes).stdout
    table = [line.split() for line in again.splitlines() if line.strip().startswith("ladder(") and "▁" not in line]
    figures = [word for row in table for word in row[1:]]  # wrapped at 80 columns: the row goes on under its name
    assert figures[-1] == "0.0000" and len(figures) == 1 + len(LENGTHS) + 2 and "-" not in figures
    mrrope("merge", passes, "-o", tmp_path / "merged")
    assert len(records(tmp_path / "merged")) == len(records(passes))
    page = tmp_path / "page.html"
    mrrope("report", passes, "-o", page)
    text = page.read_text()
    assert NAME in text and f"{NAME} x8, rung 1k" in text
    mrrope("export", passes, "--lm-eval", tmp_path / "exported")


def test_asking_again_measures_nothing(passes, ladder):
    before = (passes / "records.jsonl").read_bytes()
    mrrope("eval", "ppl", "-m", MODEL, "-f", *TEXTS, "--lengths", ",".join(map(str, LENGTHS)), "--ladder", ladder, "--kl", 300, "-t", 1,
           "-o", passes)
    assert (passes / "records.jsonl").read_bytes() == before


# ---- Answers ---------------------------------------------------------------------------------------------------------


def answers(folder):
    keep = ("length", "index", "depth", "prompt_tokens", "new_tokens", "text", "finish", "score", "right", "rotation")
    return {(record["method"], record["factor"], record["task"], record["answer"]["length"], record["answer"]["index"]):
            ({name: record["answer"].get(name) for name in keep}, record) for record in records(folder)}


def test_every_sample_is_answered_as_under_its_rung_alone(ladder, tmp_path):
    command = ["eval", "ruler", "-m", MODEL, "--tasks", "niah_single_1,niah_single_2", "--lengths", "512,700,1k,2k,4k", "--samples", 2, "--ladder",
               ladder, "--methods", "none,mrrope-pro", "--factor", "2,8", "-t", 1, "-o", tmp_path]
    mrrope(*command)
    found = answers(tmp_path)
    mine = {key: value for key, value in found.items() if key[0] == NAME}
    assert len(mine) == 2 * 5 * 2, "each sample once"
    rungs = set()
    for (_, factor, *sample), (answer, record) in mine.items():
        assert factor == 8
        # 128 tokens are kept for an answer: a prompt that a rung holds by itself may need the next
        rung = rung_of(answer["prompt_tokens"] + 128)
        assert rung <= rung_of(answer["length"])
        alone, _ = found[("none", 1, *sample) if rung == 512 else ("mrrope-pro", FACTORS[rung], *sample)]
        assert answer == alone, sample
        assert record["rung"] == plan_name(rung)
        rungs.add(rung)
    assert rungs == set(FACTORS)
    before = (tmp_path / "records.jsonl").read_bytes()
    done = mrrope(*command, "--json")
    assert (tmp_path / "records.jsonl").read_bytes() == before
    rows = [row for row in json.loads(done.stdout)["results"] if row["method"] == NAME]
    assert len(rows) == 2 * 5 and {row["n"] for row in rows} == {2}


# ---- Refusals --------------------------------------------------------------------------------------------------------


def test_what_no_rung_takes_is_refused_before_anything_runs(ladder, tmp_path):
    done = mrrope("eval", "ppl", "-m", MODEL, "-f", TEXTS[0], "--lengths", "512,5k", "--ladder", ladder, "-o", tmp_path / "run", status=2)
    assert "--lengths" in done.stderr and "takes 4k tokens, and nothing takes 5k" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_ladder_of_another_model_is_refused(ladder, tmp_path):
    done = mrrope("eval", "ppl", "-m", harness.tiny_models()["llama"], "-f", TEXTS[0], "--lengths", 64, "--ladder", ladder, status=1)
    assert "made for a model with" in done.stderr
    (tmp_path / "no.json").write_text("{}")
    mrrope("eval", "niah", "-m", MODEL, "--lengths", 512, "--ladder", tmp_path / "no.json", status=1)
    done = mrrope("eval", "ppl", "-m", MODEL, "-f", TEXTS[0], "--lengths", 64, status=2)
    assert "--factor" in done.stderr


def test_two_ladders_are_two_rows(ladder, tmp_path):
    (tmp_path / "other").mkdir()
    other = ladder_file(tmp_path / "other", methods=("none", "yarn", "mrrope-pro"))
    for file in (ladder, other):
        mrrope("eval", "ppl", "-m", MODEL, "-f", TEXTS[0], "--lengths", "600", "--ladder", file, "-t", 1, "-o", tmp_path / "run")
    assert [r["method"] for r in records(tmp_path / "run")] == [NAME, "ladder(none@512,yarn@1k,mrrope-pro@4k)"]
