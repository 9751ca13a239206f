# SPDX-License-Identifier: MIT
"""`mrrope eval` on a small trained model: the same numbers as an independent implementation, whatever happens on the way.

    $(tools/engine_env gguf) -m pytest -q tests/llama/test_eval.py      (MRROPE_BIN: the program, default build/release/mrrope)
"""
import json
import math
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402  pylint: disable=wrong-import-position  # first: skips where the next two are missing
import gguf  # noqa: E402  pylint: disable=wrong-import-position
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tiny_llama  # noqa: E402  pylint: disable=wrong-import-position

MRROPE = os.environ.get("MRROPE_BIN", str(harness.ROOT / "build" / "release" / "mrrope"))
MODEL = harness.ROOT / "tests" / "models" / "tiny-512.gguf"
# A public text of this repository, long enough for 8192 bytes of a byte-level model
TEXT = harness.ROOT / "tests" / "texts" / "theory.md"


def evaluate(*arguments, model=MODEL, text=TEXT, task="ppl"):
    command = [MRROPE, "eval", task, "-m", model, "-f", text, *arguments, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["schema"], report["task"]) == ("mrrope.eval/1", task)
    return {(row["method"], row["length"]): row for row in report["results"]}


def plan_file(*words):
    return subprocess.run([MRROPE, "plan", MODEL, "--factor", "16", *words, "--json"], capture_output=True, text=True, check=True).stdout


def table(method):
    plan = json.loads(plan_file("--method", method))
    return np.array(plan["inv_freq"]), plan["attention_scale"]


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """The same weights as float32: what llama.cpp computes then differs from numpy by rounding only."""
    path = tmp_path_factory.mktemp("exact") / "f32.gguf"
    harness.run(harness.llama_bin("llama-quantize"), "--allow-requantize", MODEL, path, "F32")
    return path


@pytest.fixture(scope="module")
def reference(exact):
    return tiny_llama.TinyLlama(exact)


def tokens(count):
    """BOS and bytes: the vocabulary of the model."""
    return np.array([256, *TEXT.read_bytes()[: count - 1]])


@pytest.mark.parametrize("method", ["none", "yarn", "mrrope-pro"])
def test_perplexity_is_that_of_an_independent_implementation(method, exact, reference):
    lengths = [*range(2, 258), 1024]  # every token of the first 256 is the difference of two sums
    found = evaluate("--factor", 16, "--methods", method, "--lengths", ",".join(map(str, lengths)), "-fa", "off", "-ctk", "f32", "-ctv",
                     "f32", model=exact)
    inv_freq, scale = (None, 1.0) if method == "none" else table(method)
    nll = reference.nll(tokens(1024), inv_freq, scale)
    sums = np.array([math.log(found[method, n]["ppl"]) * (n - 1) for n in lengths])
    assert np.diff(sums[:256], prepend=0) == pytest.approx(nll[:256], rel=1e-4, abs=1e-4)
    assert sums[-1] / 1023 == pytest.approx(nll[:1023].mean(), rel=1e-4)
    assert found[method, 1024]["predicted"] == 1023


def test_a_gap_is_what_the_rotation_sees(exact, reference):
    found = evaluate("--factor", 16, "--methods", "mrrope-pro", "--gaps", "0,1000", "--tokens", 512, "--windows", 1, "-fa", "off",
                     "-ctk", "f32", "-ctv", "f32", model=exact, task="gap")
    inv_freq, scale = table("mrrope-pro")
    for gap in (0, 1000):
        positions = np.arange(512) + np.where(np.arange(512) >= 256, gap, 0)
        nll = reference.nll(tokens(512), inv_freq, scale, positions)
        assert math.log(found["mrrope-pro", gap]["ppl"]) == pytest.approx(nll[256 + 8 - 1:].mean(), rel=1e-4)


def test_a_model_that_knows_nothing_costs_its_vocabulary(tmp_path):
    """All embeddings zero, so all logits are equal."""
    path = tmp_path / "uniform.gguf"
    shutil.copy(MODEL, path)
    reader = gguf.GGUFReader(path, "r+")
    tensors = {t.name: t for t in reader.tensors}
    tensors.get("output.weight", tensors["token_embd.weight"]).data[:] = 0
    vocabulary = len(reader.fields["tokenizer.ggml.tokens"].data)
    reader.data.flush()
    del reader, tensors
    assert evaluate("--factor", 1, "--methods", "none", "--lengths", 512, model=path)["none", 512]["ppl"] == pytest.approx(vocabulary, rel=1e-6)


def test_llama_perplexitys_way_of_counting_gives_its_number():
    for _ in range(12):  # on a busy machine llama.cpp ends now and then before its log thread has written the last line
        done = subprocess.run([harness.llama_bin("llama-perplexity"), "-m", MODEL, "-f", TEXT, "-c", "512", "-b", "512", "-fa", "on"],
                              capture_output=True, text=True, check=True)
        if printed := re.search(r"Final estimate: PPL = ([0-9.]+)", done.stdout + done.stderr):
            break
    ours = evaluate("--factor", 1, "--methods", "none", "--lengths", 512, "--protocol", "llama-perplexity", "-fa", "on")
    assert f"{ours['none', 512]['ppl']:.4f}" == printed.group(1)


def test_extended_file_and_plan_give_the_same_number(tmp_path):
    subprocess.run([MRROPE, "extend", MODEL, "--factor", "16", "--method", "mrrope-uni", "-o", tmp_path / "x.gguf"], capture_output=True, check=True)
    baked = evaluate("--factor", 1, "--methods", "none", "--lengths", "2k", model=tmp_path / "x.gguf")["none", 2048]
    injected = evaluate("--factor", 16, "--methods", "mrrope-uni", "--lengths", "2k")["mrrope-uni", 2048]
    assert baked["ppl"] == injected["ppl"]


def test_a_plan_file_is_a_row_and_the_same_as_its_method(tmp_path, exact, reference):
    (tmp_path / "pro.json").write_text(plan_file("--method", "mrrope-pro"))
    (tmp_path / "mine.json").write_text(plan_file("--method", "custom:factors=" + "/".join(f"{1 + i / 8:g}" for i in range(32)) + ":attention_scale=1.1"))
    options = ["--lengths", 1024, "-fa", "off", "-ctk", "f32", "-ctv", "f32"]
    alone = evaluate("--plan", tmp_path / "mine.json", *options, model=exact)
    inv_freq = 10000.0 ** (-np.arange(32) / 32) / (1 + np.arange(32) / 8)
    (mine, row), = alone.items()
    assert mine[0].startswith("custom:factors=1/1.125/")
    assert math.log(row["ppl"]) == pytest.approx(reference.nll(tokens(1024), inv_freq, 1.1)[:1023].mean(), rel=1e-4)
    beside = evaluate("--methods", "none,mrrope-pro", "--factor", 16, "--plan", tmp_path / "pro.json", "--plan", tmp_path / "mine.json",
                      *options, model=exact)
    assert [method for method, _ in beside] == ["none", "mrrope-pro", mine[0]]
    assert beside[mine]["ppl"] == row["ppl"]
    assert evaluate("--plan", tmp_path / "pro.json", *options, model=exact)["mrrope-pro", 1024]["ppl"] == beside["mrrope-pro", 1024]["ppl"]


def test_a_plan_file_of_another_model_is_refused(tmp_path):
    other = subprocess.run([MRROPE, "plan", "--spec", "dim=128,base=10000,ctx=4096", "-c", "64k", "--json"], capture_output=True, text=True,
                           check=True).stdout
    (tmp_path / "other.json").write_text(other)
    done = subprocess.run([MRROPE, "eval", "ppl", "-m", MODEL, "-f", TEXT, "--plan", tmp_path / "other.json", "--lengths", "512"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "other.json: " in done.stderr and "128" in done.stderr and "64" in done.stderr


def test_a_jsonl_is_documents_one_per_line(tmp_path):
    """It was one text of braces and quotes."""
    texts = [TEXT.read_text(encoding="utf-8")[at:at + 3000] for at in (0, 9000)]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.txt").write_text(text, encoding="utf-8")
    lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ask = ["--factor", 4, "--methods", "yarn", "--lengths", 1024]
    files = evaluate(*ask, text=tmp_path / "*.txt")["yarn", 1024]
    lines = evaluate(*ask, text=tmp_path / "texts.jsonl")["yarn", 1024]
    assert (lines["documents"], lines["ppl"]) == (2, files["ppl"])
    (tmp_path / "other.jsonl").write_text('{"content": "x"}\n', encoding="utf-8")
    done = subprocess.run([MRROPE, "eval", "ppl", "-m", MODEL, "-f", tmp_path / "other.jsonl", "--factor", "4", "--lengths", "512"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'other.jsonl: entry 1: expected a field "text"' in done.stderr


def test_the_end_of_a_text_is_shown_where_there_is_more_of_it(tmp_path):
    """"last 2k" was printed beside 512 and 1k, and was the number at 1k."""
    assert evaluate("--factor", 4, "--methods", "yarn", "--lengths", "1k,4k")["yarn", 1024]["last_2k_ppl"] is None
    for lengths, shown in (("512,2k", False), ("512,4k", True)):
        done = subprocess.run([MRROPE, "eval", "ppl", "-m", MODEL, "-f", TEXT, "--factor", "4", "--methods", "yarn", "--lengths", lengths],
                              capture_output=True, text=True, check=True)
        assert ("last 2k" in done.stdout) == shown


def test_a_record_tells_what_the_layers_did_that_see_the_whole_text(tmp_path):
    """Of Gemma 3, five layers of six see a window and rotate as in the file under every plan; the first is one of them."""
    model = harness.tiny_models()["gemma3"]
    evaluate("--factor", 4, "--methods", "none,mrrope-pro", "--lengths", "128", "-o", tmp_path / "run", model=model)
    found = {r["method"]: r for r in map(json.loads, (tmp_path / "run" / "records.jsonl").read_text().splitlines())}
    plan = json.loads(subprocess.run([MRROPE, "plan", model, "--factor", "4", "--method", "mrrope-pro", "--json"], capture_output=True,
                                     text=True, check=True).stdout)
    assert found["mrrope-pro"]["inv_freq"] == pytest.approx(plan["inv_freq"], rel=1e-6)
    assert found["none"]["inv_freq"][-1] > 2 * found["mrrope-pro"]["inv_freq"][-1]


@pytest.mark.parametrize("methods", ["none", "mrrope-pro"])
def test_the_gap_probe_refuses_models_whose_layers_see_a_window(methods, tmp_path):
    got = subprocess.run([MRROPE, "eval", "gap", "-m", harness.tiny_models()["gemma3"], "-f", TEXT, "--factor", "4", "--methods", methods,
                          "--gaps", "0,1k", "--tokens", "128", "-o", tmp_path / "run"], capture_output=True, text=True)
    assert got.returncode != 0 and "use mrrope eval ppl" in got.stderr
    assert not (tmp_path / "run").exists()


def test_short_prompts_pay_nothing_without_a_plan_and_something_with_one():
    found = evaluate("--factor", 16, "--methods", "none,mrrope-pro", "--lengths", 512, "--kl", 512)
    assert found["none", 512]["kl"] == pytest.approx(0, abs=1e-5)
    assert found["mrrope-pro", 512]["kl"] > 1e-3


def test_a_quantised_cache_is_not_taken_for_a_plan():
    found = evaluate("--factor", 1, "--methods", "none", "--lengths", 512, "--kl", 512, "-ctk", "q4_0", "-fa", "on")
    assert found["none", 512]["kl"] == pytest.approx(0, abs=1e-5)


def test_types_of_cache_are_rows_and_each_is_what_a_run_of_its_own_measures(tmp_path):
    def ppl(folder, *more):
        return evaluate("--factor", 4, "--methods", "none,mrrope-pro", "--lengths", "256,1k", "-fa", "on", "-o", tmp_path / folder, *more)

    types = ["f16", "q8_0", "q4_0"]
    together = ppl("together", "--cache-types", ",".join(types))
    for at, cache in enumerate(types):
        for (method, length), row in ppl(cache, "-ctk", cache, "-ctv", cache).items():
            assert together[method + (f":cache={cache}" if at else ""), length]["ppl"] == row["ppl"]
    assert len(together) == 3 * 4 and together["mrrope-pro", 1024]["ppl"] != together["mrrope-pro:cache=q4_0", 1024]["ppl"]
    before = (tmp_path / "together" / "records.jsonl").read_bytes()
    assert ppl("together", "--cache-types", "f16,q4_0") == {key: row for key, row in together.items() if "q8_0" not in key[0]}
    assert (tmp_path / "together" / "records.jsonl").read_bytes() == before
    done = subprocess.run([MRROPE, "compare", tmp_path / "together", "--json"], capture_output=True, text=True, check=True)
    costs = {(c["method"], c["length"]): c["ratio"] for c in json.loads(done.stdout)["caches"]}
    for (method, length), ratio in costs.items():
        assert ratio == pytest.approx(together[method, length]["ppl"] / together[method.split(":")[0], length]["ppl"])
    assert len(costs) == 2 * 4


@pytest.mark.parametrize(("options", "words"), [
    (["--cache-types", "f16,q8_0,f16"], "--cache-types: expected each type once"),
    (["--cache-types", "f16", "-ctv", "q8_0"], "--cache-types: expected this, or"),
    (["--cache-types", "f16,q5_9"], "q5_9"),
    (["--cache-types", ""], "--cache-types"),
])
def test_types_of_cache_that_cannot_be_are_refused_before_anything_is_measured(options, words, tmp_path):
    done = subprocess.run([MRROPE, "eval", "ppl", "-m", MODEL, "-f", TEXT, "--factor", "4", "--lengths", "256", "-o", tmp_path / "run", *options],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode != 0 and words in done.stderr
    assert not (tmp_path / "run" / "records.jsonl").exists() or not (tmp_path / "run" / "records.jsonl").read_text()


# ---- faults ------------------------------------------------------------------------------------------------------------

RUN = ["--factor", "4,16", "--methods", "none,linear,ntk,yarn,mrrope-uni,mrrope-pro", "--lengths", "256,512"]


def command(folder, *more):
    texts = [TEXT, TEXT.with_name("architecture.md")]
    return list(map(str, [MRROPE, "eval", "ppl", "-m", MODEL, "-f", *texts, *RUN, "-o", folder, *more]))


def start(folder):
    return subprocess.Popen(command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def results(folder):
    return json.loads(subprocess.run(command(folder, "--json"), capture_output=True, text=True, check=True).stdout)["results"]


def test_fifty_kills_do_not_change_the_table(tmp_path):
    whole = results(tmp_path / "whole")
    seconds = time.monotonic()
    results(tmp_path / "whole")  # nothing left to do
    seconds = time.monotonic() - seconds
    chance, kills, folder = random.Random(1), 0, tmp_path / "0"
    while kills < 50:
        process = start(folder)
        time.sleep(chance.uniform(0, 3 * seconds + 0.5))
        process.kill()
        ended = process.wait()
        kills += ended == -signal.SIGKILL
        if ended == 0:
            assert results(folder) == whole
            folder = tmp_path / str(kills)
    assert results(folder) == whole


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    process = start(tmp_path / "run")
    records = tmp_path / "run" / "records.jsonl"
    while not (records.exists() and records.stat().st_size):
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert b"goes on where it stopped" in process.stderr.read()
    assert all(json.loads(line) for line in records.read_text().splitlines())


def test_a_damaged_last_line_is_measured_again(tmp_path):
    whole = results(tmp_path / "run")
    records = tmp_path / "run" / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-40])
    again = subprocess.run(command(tmp_path / "run"), capture_output=True, text=True, check=True)
    assert "records.jsonl was damaged; it is measured again" in again.stderr
    assert results(tmp_path / "run") == whole


def test_a_terminal_sees_how_far_it_is_and_a_pipe_sees_nothing_for_ten_seconds():
    command = [MRROPE, "eval", "ppl", "-m", MODEL, "-f", TEXT, "--factor", "4", "--methods", "none,yarn,mrrope-pro", "--lengths", "2k"]
    watched, terminal = pty.openpty()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=terminal, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(terminal)
        seen = b""
        while True:
            try:
                chunk = os.read(watched, 4096)
            except OSError:  # the terminal's other end is closed
                break
            seen += chunk
        os.close(watched)
    assert process.returncode == 0
    lines = seen.decode().split("\r\x1b[K")
    assert any(re.match(r"3/3  \d+ tokens/s  \d+:\d\d left  best (none|yarn x4) \d+\.\d{3}  mrrope-pro x4, theory.md", line) for line in lines), lines
    assert lines[-1] == ""  # gone when it is done
    began = time.monotonic()
    quiet = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert quiet.stderr == "" or time.monotonic() - began > 10, quiet.stderr
    assert all(re.fullmatch(r"\d/3  [^\x00-\x1f]+", line) for line in quiet.stderr.splitlines()), quiet.stderr
