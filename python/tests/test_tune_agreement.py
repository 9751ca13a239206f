# SPDX-License-Identifier: MIT
"""mrrope.tune measures what `mrrope tune` measures: the same model, texts and prompts in transformers and in llama.cpp.

    MRROPE_BIN=build/release/mrrope PYTHONPATH=<the wheel, unpacked>:<gguf> $(tools/engine_env transformers5) -m pytest \
        python/tests/test_tune_agreement.py

Weights, cache and sums are float32 in both (tiny_model.py says why), so what differs is rounding. Its largest part is the
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
TASKS = ["passkey", "niah_multikey_1", "number_string"]
FIXED = ["yarn", "mrrope-pro", "mrrope-uni", "ntk", "yarn-rotations"]
TEXT_TOLERANCE, ANSWER_TOLERANCE = 2e-5, 2.5e-4


@pytest.fixture(scope="module", name="both")
def fixture_both(tmp_path_factory):
    """The fixed methods on all items, whatever the budget, and their verdict: by both."""
    folder = tmp_path_factory.mktemp("agreement")
    tiny_model.write_float32(ROOT / "tests/models/tiny-512.gguf", folder / "tiny.gguf")
    files = [word for text in TEXTS for word in ("-f", text)]
    command = [os.environ["MRROPE_BIN"], "tune", folder / "tiny.gguf", "-c", "1k", "--tokens", "1", *files, "-o", folder / "tuned",
               "--cache-type-k", "f32", "--cache-type-v", "f32", "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    model = tiny_model.model(folder / "tiny.gguf")
    ours = mrrope.tune(model, tiny_model.tokenizer(), "1k", texts=TEXTS, tokens=1)
    lines = (folder / "tuned" / "search" / "records.jsonl").read_text().splitlines()
    return ours, json.loads(done.stdout), [json.loads(line) for line in lines]


def theirs(records, method, item):
    """The loss of an item from the records of a run: beyond and within the trained length, and the answers' part of it."""
    text = next(r for r in records if r["method"] == method and r["task"] == "ppl" and r["document"].endswith(f"token {1024 * item}"))
    short, whole = text["points"]
    beyond = (whole["nll"] - short["nll"]) / (whole["predicted"] - short["predicted"])
    seed = f"seed {1 + item}, "
    answers = [r["answer"]["right"] for r in records
               if r["method"] == method and r["task"] == TASKS[item % 3] and r["document"].startswith(seed)]
    assert len(answers) == 3
    return beyond, short["nll"] / short["predicted"], sum(a["nll"] / a["tokens"] for a in answers) / 3


def test_losses_of_every_method_on_every_item_agree(both):
    ours, _, records = both
    tried = [c for c in ours.candidates if c.losses]
    assert [c.name for c in tried] == FIXED
    worst = [0.0, 0.0]
    for candidate in tried:
        assert len(candidate.losses) == 6
        for item, loss in enumerate(candidate.losses):
            beyond, within, answers = theirs(records, candidate.name, item)
            worst[0] = max(worst[0], abs(loss.within - within))
            worst[1] = max(worst[1], abs(loss.beyond - beyond - answers / 2))
    print("largest differences, nats per token: within", worst[0], "beyond, with answers", worst[1])
    assert worst[0] <= TEXT_TOLERANCE and worst[1] <= TEXT_TOLERANCE + ANSWER_TOLERANCE / 2


def test_that_says_something_because_methods_are_farther_apart(both):
    ours, _, _ = both
    means = sorted(c.mean.beyond for c in ours.candidates if c.losses)
    assert min(b - a for a, b in zip(means, means[1:])) > 10 * TEXT_TOLERANCE
    assert means[-1] - means[0] > 10 * ANSWER_TOLERANCE


def test_the_verdict_is_the_same(both):
    ours, result, _ = both
    assert (ours.tuned, ours.best_fixed, ours.recommended) == (result["tuned"], result["best_fixed"], result["recommended"])
    assert json.loads(ours.plan.to_json())["method"] == result["plan"]["method"] and ours.tokens == result["tokens"]
    assert [(d.against, d.metric) for d in ours.verdict] == [(d["against"], d["metric"]) for d in result["verdict"]]
    for mine, other in zip(ours.verdict, result["verdict"]):
        assert mine.items == other["items"]
        # A relative difference of perplexities is that of nats per token; scores are counts of right answers
        tolerance = {"answer_nll": ANSWER_TOLERANCE, "score": 1e-12}.get(mine.metric, 2 * TEXT_TOLERANCE)
        for key in ("difference", "low", "high"):
            assert getattr(mine, key) == pytest.approx(other[key], abs=3 * tolerance if key != "difference" else tolerance), (mine, other)
