# SPDX-License-Identifier: MIT
"""mrrope.tune measures what `mrrope tune` measures: the same model, texts and prompts in transformers and in llama.cpp.

    MRROPE_BIN=build/release/mrrope PYTHONPATH=<the wheel, unpacked>:<gguf> $(tools/engine_env transformers5) -m pytest \
        python/tests/test_tune_agreement.py

Weights, cache and sums are float32 in both (tiny_model.py says why), so what differs is rounding. (Not with llama.cpp's flash
attention, which keeps less inside: a text was then 1.5e-4 nats per token off, and 1e-6 without.) Its largest part is the
angle: at position 1023 a fast pair has turned by up to 1023 rad, of which a float32 keeps 2^-24, 6e-5 rad. llama.cpp comes
to a pair's speed by multiplying up to 31 times, each time rounding by as much: up to 32 times that, 2e-3 rad, and a sixth of
it if roundings are independent. A score of attention is a sum over 32 pairs of which the fast ones are a few; an error
of 3e-4 in some of its terms, of either sign and of changing sign from token to token, is 1e-4 in a score, and so in a -ln p.
The mean over the n tokens of a text takes the square root of n out of it: 1e-4 / sqrt(512) = 4e-6. An answer has five tokens
or more: 5e-5. Tolerances are five standard deviations of that. Methods are apart by more than ten times as much, which is
asserted, too.
"""
import json
import os
import pathlib
import subprocess

import pytest

import mrrope

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import gguf  # noqa: F401  pylint: disable=unused-import
    import torch
    import transformers
except ImportError as problem:
    if os.environ.get("MRROPE_REQUIRE_ENGINES") == "1":
        pytest.fail(f"this python lacks transformers or gguf ({problem}); see tools/test_wheel", pytrace=False)
    pytest.skip(f"no transformers or no gguf in this python ({problem}); see tools/test_wheel", allow_module_level=True)
if "MRROPE_BIN" not in os.environ:
    pytest.skip("MRROPE_BIN does not name a program mrrope with llama.cpp", allow_module_level=True)

import tiny_model  # noqa: E402  pylint: disable=wrong-import-position

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = [ROOT / "docs" / "theory.md", ROOT / "docs" / "benchmarks.md"]  # one to tune on, one to judge by
TASKS = ["passkey", "niah_multikey_1", "number_string", "niah_single_2"]
FIXED = ["yarn", "mrrope-pro", "mrrope-uni", "ntk", "yarn-rotations"]
TEXT_TOLERANCE, ANSWER_TOLERANCE = 2e-5, 2.5e-4


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module", name="both")
def fixture_both(tmp_path_factory):
    """The smallest search, of the published methods on two items, and its verdict on six texts and 32 prompts: by both."""
    folder = tmp_path_factory.mktemp("agreement")
    tiny_model.write_float32(ROOT / "tests/models/tiny-512.gguf", folder / "tiny.gguf")
    files = [word for text in TEXTS for word in ("-f", text)]
    command = [os.environ["MRROPE_BIN"], "tune", folder / "tiny.gguf", "-c", "1k", "--tokens", "1", *files, "-o", folder / "tuned",
               "--cache-type-k", "f32", "--cache-type-v", "f32", "--flash-attn", "off", "--threads", "1", "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    model = tiny_model.model(folder / "tiny.gguf")
    ours = mrrope.tune(model, tiny_model.tokenizer(), "1k", texts=TEXTS, tokens=1, record=folder / "ours.jsonl")
    return ours, json.loads(done.stdout), folder


def loss_of(records, method, item):
    """From the records of a run: -ln p per token beyond and within the trained length, and of the answers."""
    text = next(r for r in records if r["method"] == method and r["task"] == "ppl" and r["document"].endswith(f"token {1024 * item}"))
    short, whole = text["points"]
    beyond = (whole["nll"] - short["nll"]) / (whole["predicted"] - short["predicted"])
    (right,) = [r["answer"]["right"] for r in records
                if r["method"] == method and r["task"] == TASKS[item] and r["document"] == f"seed {1 + item}, sample 0"]
    return beyond, short["nll"] / short["predicted"], right["nll"] / right["tokens"]


def test_losses_of_the_search_agree(both):
    ours, _, folder = both
    tried = [c for c in ours.candidates if c.losses]
    assert [c.name for c in tried] == FIXED
    records = lines(folder / "tuned" / "search" / "records.jsonl")
    for candidate in tried:
        assert len(candidate.losses) == 2
        for item, loss in enumerate(candidate.losses):
            beyond, within, answer = loss_of(records, candidate.name, item)
            assert abs(loss.within - within) <= TEXT_TOLERANCE, (candidate, item)
            assert abs(loss.beyond - beyond - answer / 2) <= TEXT_TOLERANCE + ANSWER_TOLERANCE / 2, (candidate, item)


def test_every_text_and_every_answer_of_the_verdict_agrees(both):
    _, _, folder = both
    judged, ours = lines(folder / "tuned" / "records.jsonl"), lines(folder / "ours.jsonl")
    worst_text = worst_answer = 0.0
    for method in FIXED:
        texts = [r["points"] for r in judged if r["method"] == method and r["task"] == "ppl"]
        mine = [r["values"] for r in ours if r["method"] == method and r["what"] == "text"][2:]  # after those of the search
        assert len(texts) == len(mine) == 6
        for (short, whole), (within, everything) in zip(texts, mine):
            worst_text = max(worst_text, abs(short["nll"] - within) / 511, abs(whole["nll"] - everything) / 1023)
        answers = [r for r in judged if r["method"] == method and r["task"] != "ppl"]
        answers.sort(key=lambda r: (TASKS.index(r["task"]), r["answer"]["length"], r["answer"]["index"]))
        mine = [r["values"] for r in ours if r["method"] == method and r["what"] == "scored prompt"]
        assert len(answers) == len(mine) == 32
        for theirs, (nll, score) in zip(answers, mine):
            right = theirs["answer"]["right"]
            worst_answer = max(worst_answer, abs(right["nll"] / right["tokens"] - nll))
            assert score == theirs["answer"]["score"], theirs
    print("largest differences in nats per token: texts", worst_text, "answers", worst_answer)
    assert worst_text <= TEXT_TOLERANCE and worst_answer <= ANSWER_TOLERANCE


def test_that_says_something_because_methods_are_farther_apart(both):
    ours, _, _ = both
    means = sorted(c.mean.beyond for c in ours.candidates if c.losses)
    assert min(b - a for a, b in zip(means, means[1:])) > 10 * TEXT_TOLERANCE
    assert means[-1] - means[0] > 10 * ANSWER_TOLERANCE


def test_the_verdict_is_the_same(both):
    ours, result, _ = both
    assert (ours.tuned, ours.best_fixed, ours.recommended) == (result["tuned"], result["best_fixed"], result["recommended"])
    assert json.loads(ours.plan.to_json())["method"] == result["plan"]["method"] and ours.tokens == result["tokens"]
    assert [(d.against, d.metric, d.items) for d in ours.verdict] == [(d["against"], d["metric"], d["items"]) for d in result["verdict"]]
    for mine, theirs in zip(ours.verdict, result["verdict"]):
        # Of two measurements, each off by the tolerance; scores are counts of right answers
        tolerance = {"answer_nll": 2 * ANSWER_TOLERANCE, "score": 1e-12}.get(mine.metric, 2 * TEXT_TOLERANCE)
        assert mine.difference == pytest.approx(theirs["difference"], abs=tolerance), (mine, theirs)
