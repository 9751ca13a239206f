# SPDX-License-Identifier: MIT
"""`mrrope tune` on a small trained model: what it finds, what it says, and that nothing is lost when it is interrupted.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_tune.py
"""
import json
import math
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))
MODEL = harness.ROOT / "tests" / "models" / "tiny-512.gguf"
# Twice the trained length: an item is a text of 1k and three prompts of 1k
SMALL = ["-c", "1k", "--tokens", "220000", "--threads", "2"]


def tune(folder, *arguments, status=0):
    done = subprocess.run([MRROPE, "tune", MODEL, "-o", folder, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done


def mrrope(*arguments, status=0, cwd=None):
    done = subprocess.run([MRROPE, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == status, done.stderr
    return done


def records(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module", name="tuned")
def fixture_tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune") / "tuned"
    return folder, json.loads(tune(folder, *SMALL, "--json").stdout)


def test_the_result_is_a_plan_that_other_commands_take(tuned, tmp_path):
    folder, result = tuned
    assert result["schema"] == "mrrope.tune/1"
    plan = json.loads((folder / "plan.json").read_text())
    assert plan == result["plan"] and plan["schema"] == "mrrope.plan/1" and plan["context_target"] == 1024
    mrrope("extend", MODEL, "--plan", folder / "plan.json", "-o", tmp_path / "longer.gguf")
    assert json.loads(mrrope("inspect", tmp_path / "longer.gguf", "--json").stdout)["context_extended"] == 1024
    mrrope("report", folder, "-o", tmp_path / "page.html")
    mrrope("compare", folder)


def test_the_verdict_is_that_of_the_records_on_texts_that_the_search_has_not_read(tuned):
    folder, result = tuned
    searched, judged = records(folder / "search"), records(folder)
    read = {r["document_hash"] for r in searched}
    assert not read & {r["document_hash"] for r in judged}
    # By hand: the mean over texts of the difference of -ln p per token, as a ratio of perplexities
    def nll(method):
        found = {}
        for r in judged:
            if r["method"] == method and "points" in r:
                point = r["points"][-1]
                found[r["document_hash"]] = point["nll"] / point["predicted"]
        return found
    mine, theirs = nll(result["label"]), nll("yarn")
    assert mine.keys() == theirs.keys() and len(mine) >= 3
    ratio = math.exp(sum(mine[k] - theirs[k] for k in mine) / len(mine)) - 1
    said = {(v["against"], v["metric"]): v for v in result["verdict"]}
    if result["tuned"] != "yarn":
        assert said["yarn", "ppl_long"]["difference"] == pytest.approx(ratio, abs=1e-9)
        assert said["yarn", "ppl_long"]["low"] <= ratio <= said["yarn", "ppl_long"]["high"]
    assert {metric for _, metric in said} == {"ppl_long", "ppl_short", "answer_nll", "score"}
    # The fixed methods were all searched, so what was found is at least as good as they are there
    assert {"yarn", "mrrope-pro", "mrrope-uni", "ntk"} <= {r["method"] for r in searched}
    assert result["recommended"] in ("tuned", result["best_fixed"])


def test_it_beats_yarn_on_texts_that_it_has_not_seen(tuned):
    _, result = tuned
    said = {(v["against"], v["metric"]): v for v in result["verdict"]}
    assert said["yarn", "ppl_long"]["difference"] < 0 and said["yarn", "ppl_short"]["difference"] < 0


def test_the_same_command_measures_nothing_again(tuned):
    folder, result = tuned
    before = [(folder / name).read_bytes() for name in ("records.jsonl", "search/records.jsonl")]
    assert json.loads(tune(folder, *SMALL, "--json").stdout) == result
    assert [(folder / name).read_bytes() for name in ("records.jsonl", "search/records.jsonl")] == before


def test_killed_at_random_and_continued_it_finds_the_same(tuned, tmp_path):
    _, expected = tuned
    folder = tmp_path / "tuned"
    chance = random.Random(7)
    for _ in range(int(os.environ.get("MRROPE_KILLS", "8"))):
        with subprocess.Popen([MRROPE, "tune", MODEL, "-o", folder, *SMALL, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            time.sleep(chance.uniform(0.05, 1.5))
            process.send_signal(signal.SIGKILL)
    result = json.loads(tune(folder, *SMALL, "--json").stdout)
    assert result == expected


# Minutes became tokens by the first record of the folder, whatever that was: here one that took long.
def test_minutes_are_tokens_by_the_first_text_wherever_its_record_stands(tmp_path):
    ask = ["-c", "1k", "--minutes", "0.01", "--threads", "1"]
    said = tune(tmp_path / "t", *ask, status=2).stderr
    file = tmp_path / "t/search/records.jsonl"
    (record,) = records(tmp_path / "t/search")
    other = {**record, "key": "another", "method": "linear", "seconds": 1e3}
    file.write_text("".join(json.dumps(one) + "\n" for one in (other, record)))
    assert tune(tmp_path / "t", *ask, status=2).stderr == said
    assert len(records(tmp_path / "t/search")) == 2


def test_what_an_engine_cannot_carry_is_not_searched(tmp_path):
    # llama.cpp takes any table for this architecture; for the JSON of another engine the file is of the wrong kind
    done = tune(tmp_path / "t", *SMALL, "--target", "vllm", status=2)
    assert "--target" in done.stderr


@pytest.mark.parametrize("arguments, said", [
    (["-c", "256"], "-c: the model already reaches 512"),
    (["-c", "1k", "--tasks", "nothing"], "there is no task"),
    (["-c", "2k", "--minutes", "0.01"], "--minutes: too few: this model reads"),
    (["-c", "1k", "--tasks", "qa_1"], "asks the questions of a file"),
    (["-c", "1k", "--prefer", "wide"], "--prefer"),
])
def test_a_wrong_word_is_an_error_that_says_what_would_do(tmp_path, arguments, said):
    done = subprocess.run([MRROPE, "tune", MODEL, "-o", tmp_path / "t", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize("link", ["tuned", "tuned/search", "tuned/search/records.jsonl", "tuned/records.jsonl"])
def test_a_search_that_names_no_folder_writes_through_no_link(tuned, tmp_path, link):
    shutil.copytree(tuned[0], tmp_path / "tuned")
    there, elsewhere = tmp_path / link, tmp_path / "elsewhere"
    there.rename(elsewhere)
    if elsewhere.is_file():
        elsewhere.write_text("my only key")
    before = {path: path.read_bytes() for path in [elsewhere, *elsewhere.rglob("*")] if path.is_file()}
    there.symlink_to(elsewhere)
    done = subprocess.run([MRROPE, "tune", MODEL, *SMALL], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_the_search_and_its_front_are_kept_beside_the_plan(tuned):
    folder, result = tuned
    assert json.loads((folder / "tune.json").read_text()) == result
    search = result["search"]
    assert len(search) == result["evaluations"] and search[-1]["tokens"] == result["tokens"]
    assert [t["method"] for t in search if t["fixed"]] == ["yarn", "mrrope-pro", "mrrope-uni", "ntk", "yarn-rotations"]
    # The front, the slow way
    for table in search:
        beaten = any(o["within"] <= table["within"] and o["beyond"] <= table["beyond"] and o != table
                     and (o["within"], o["beyond"]) != (table["within"], table["beyond"]) for o in search)
        assert table["front"] != beaten, table
    best = min(search, key=lambda t: t["objective"])
    assert best["method"] == result["tuned"]
    assert best["objective"] == pytest.approx((best["beyond"] + best["within"]) / 2)  # --prefer balanced


def test_plan_knows_the_search_that_measured_this_very_model(tuned, tmp_path):
    folder, result = tuned
    (tmp_path / "tuned").symlink_to(folder)
    here = subprocess.run([MRROPE, "plan", MODEL, "-c", "1k"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "mrrope tune measured this very model" in " ".join(here.split())
    assert "--plan tuned -o tiny-512-1k.gguf" in here
    subprocess.run([MRROPE, "extend", MODEL, "--plan", "tuned", "-o", "longer.gguf"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(mrrope("inspect", tmp_path / "longer.gguf", "--json").stdout)["context_extended"] == result["plan"]["context_target"]
    # Another length, another file: a search says nothing about them
    there = subprocess.run([MRROPE, "plan", MODEL, "-c", "2k"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "--plan tuned" not in there and "mrrope tune" in there.splitlines()[-1]
    other = bytearray(MODEL.read_bytes())
    other[-1] ^= 1
    (tmp_path / "other.gguf").write_bytes(other)
    there = subprocess.run([MRROPE, "plan", "other.gguf", "-c", "1k"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "--plan tuned" not in there
    # A plan that was not measured, a search of somebody else: what a stranger put here says nothing
    planted = tmp_path / "planted"
    shutil.copytree(folder, planted / "tuned")
    (planted / "tuned" / "plan.json").write_text(mrrope("plan", MODEL, "-c", "1k", "--method", "linear", "--json").stdout)
    assert "--plan tuned" not in mrrope("plan", MODEL, "-c", "1k", cwd=planted).stdout
    shutil.copy(folder / "plan.json", planted / "tuned")
    assert "--plan tuned" in mrrope("plan", MODEL, "-c", "1k", cwd=planted).stdout
    if os.geteuid() == 0:
        os.chown(planted / "tuned" / "tune.json", 65534, -1)
        assert "--plan tuned" not in mrrope("plan", MODEL, "-c", "1k", cwd=planted).stdout
    # A damaged one is no reason to stop
    (tmp_path / "tuned").unlink()
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "tune.json").write_text('{"schema": "mrrope.tune/1"}')
    there = subprocess.run([MRROPE, "plan", MODEL, "-c", "1k"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "tune.json" in there


@pytest.mark.parametrize("architecture, offered", [("llama", ""), ("qwen2", " --target llama.cpp"), ("gemma3", None), ("deepseek2", None)])
def test_plan_offers_a_search_only_of_what_llama_cpp_takes(tmp_path, architecture, offered):
    model = harness.tiny_models()[architecture]
    last = mrrope("plan", model, "-c", "8k").stdout.splitlines()[-1]
    if offered is None:  # tune would refuse
        assert last.startswith("next ")
        assert "--target" in tune_of(model, tmp_path, "-c", "8k", "--target", "llama.cpp").stderr
    else:
        assert last == f"better    mrrope tune {model} -c 8k{offered}"
        # Refused for its minutes, after a first text, and for nothing else
        assert "--minutes: too few" in tune_of(model, tmp_path, "-c", "8k", *offered.split(), "--minutes", "0.01").stderr


@pytest.mark.parametrize("architecture, said", [("llama", None), ("qwen2", "--target llama.cpp searches those"), ("deepseek2", "plug-in")])
def test_it_says_before_the_search_that_the_file_cannot_carry_every_table(tmp_path, architecture, said):
    model = harness.tiny_models()[architecture]
    text = " ".join(tune_of(model, tmp_path, "-c", "8k", "--minutes", "0.01").stderr.split())
    assert text.startswith("This searches any table") and said in text if said else "any table" not in text
    assert "any table" not in tune_of(model, tmp_path, "-c", "8k", "--minutes", "0.01", "--target", "llama.cpp").stderr


def next_after_tuning(model, folder, *arguments):
    """The command that the shortest search ends with. The verdict is what takes the time."""
    done = tune_of(model, folder, "-c", "1k", "--tokens", "1000", "--threads", "1", *arguments)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("next ")]
    return line.removeprefix("next").strip()


# extend refused what tune offered: the plan was for the trained length that had been typed, not for the file's.
def test_its_last_line_leads_on_with_the_trained_length_that_was_typed(tmp_path):
    command = shlex.split(next_after_tuning(MODEL.with_name("lab-1024.gguf"), tmp_path, "--trained", "512"))
    assert command[:2] == ["mrrope", "extend"] and command[-2:] == ["-o", "longer.gguf"]
    mrrope(*command[1:-1], tmp_path / "longer.gguf")
    assert json.loads(mrrope("inspect", tmp_path / "longer.gguf", "--json").stdout)["context_extended"] == 1024


# It named a search for llama.cpp, which refuses where no setting of the file turns pairs by another table.
def test_its_last_line_names_the_plug_in_where_the_file_carries_nothing(tmp_path):
    command = next_after_tuning(harness.tiny_models()["gemma3"], tmp_path, "--trained", "512")
    assert f"MRROPE_PLAN={tmp_path / 't' / 'plan.json'} llama-server" in command
    assert json.loads((tmp_path / "t" / "plan.json").read_text())["schema"] == "mrrope.plan/1"


def tune_of(model, folder, *arguments):
    return subprocess.run([MRROPE, "tune", model, "-o", folder / "t", *arguments], capture_output=True, text=True, check=False)
