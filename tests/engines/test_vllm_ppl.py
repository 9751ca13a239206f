# SPDX-License-Identifier: MIT
"""Perplexity and answers by a real server of vLLM, against llama.cpp in process on the same weights, plan by plan.

    $(tools/engine_env gguf) -m pytest -rs tests/engines/test_vllm_ppl.py

Both sides compute in float32: the GGUF file is tests/models/tiny-512.gguf with its matrices read back (llama-quantize F32), the
folder has the same numbers, and llama.cpp's cache is float32. What is left between them is the order of sums. A server per plan,
the better part of a minute each.
"""

import concurrent.futures
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from served_models import TINY, c, gguf_folder, harness, vllm  # noqa: E402  pylint: disable=wrong-import-position

TEXTS = [c.ROOT / "tests" / "texts" / name for name in ("theory.md", "servers.md", "evaluation.md")]
EXACT = ["--cache-type-k", "f32", "--cache-type-v", "f32", "--flash-attn", "off"]
# -ln p per token, in the mean over a text and over its stretches of 256 tokens. Both sides round in float32, in another order of sums,
# and their tables too: a speed that is off by one rounding is 1e-4 rad off at token 2048. Measured: up to 1.3e-6 over a text, 7.3e-6 over
# a stretch (docs/servers.md). Plans differ by a thousand times the tolerance.
TOLERANCE = 3e-5

# name: (method, factor, how vLLM gets it)
PLANS = {
    "none": ("none", 1, "folder"),
    "yarn": ("yarn", 4, "overrides"),
    "mrrope-pro": ("mrrope-pro", 4, "folder"),
    "of a plan file": ("mrrope-power:p=0.6:attention_scale=1.1", 4, "plan"),
}


def evaluate(*words):
    run = subprocess.run([c.MRROPE, "eval", *map(str, words)], capture_output=True, text=True, timeout=540, check=False)
    assert run.returncode == 0, run.stderr
    return run


def records(folder):
    """{(task, text or prompt): record}"""
    found = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return {(r["task"], r["document_hash"]): r for r in found}


class Weights:
    """The same numbers as a GGUF file and as a folder, both float32."""

    def __init__(self, base):
        self.file = base / "tiny-f32.gguf"
        harness.run(harness.llama_bin("llama-quantize"), "--allow-requantize", TINY, self.file, "F32")
        self.folder = gguf_folder.save(TINY, base / "folder")

    def serve(self, tmp_path, method, factor, how):
        """The server under a plan, and the length that it serves."""
        length = 512 * factor
        if how == "overrides":
            said = json.loads(c.mrrope("extend", self.folder, "-c", length, "--target", "vllm", "--method", method, "--dry-run",
                                       "--json").stdout)  # fmt: skip
            words = shlex.split(next(command for command in said["commands"] if "--hf-overrides" in command))
            return vllm(self.folder, tmp_path / "log", *words[words.index("--max-model-len") :])
        if factor == 1:
            return vllm(self.folder, tmp_path / "log")
        plan = ["--method", method]
        if how == "plan":
            file = tmp_path / "plan.json"
            file.write_text(c.mrrope("plan", self.folder, "-c", length, "--method", method, "--json").stdout)
            plan = ["--plan", file]
        else:
            plan += ["-c", length]
        c.mrrope("extend", self.folder, *plan, "--target", "vllm", "-o", tmp_path / "served")
        return vllm(tmp_path / "served", tmp_path / "log")


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    return Weights(tmp_path_factory.mktemp("weights"))


def per_token(record, other):
    """The mean difference of -ln p, at each length; and by stretches of 256 tokens."""
    points = [abs(a["nll"] - b["nll"]) / a["predicted"] for a, b in zip(record["points"], other["points"], strict=True)]
    stretches = [abs(a - b) / 256 for a, b in zip(record["bucket_nll"], other["bucket_nll"], strict=True)]
    assert [(p["length"], p["predicted"]) for p in record["points"]] == [(p["length"], p["predicted"]) for p in other["points"]]
    return max(points), max(stretches)


@pytest.mark.parametrize("name", PLANS)
def test_vllm_gives_the_perplexities_and_answers_of_the_same_weights_in_process(name, weights, tmp_path):
    """Lengths up to the longest that it serves, whose last token is asked for as an answer."""
    method, factor, how = PLANS[name]
    lengths = ["--lengths", "256,512" if factor == 1 else "512,1024,2048"]
    prompts = ["--lengths", "512" if factor == 1 else "512,2048", "--samples", "1", "--depths", "3"]
    texts = ["-f", *TEXTS]

    def in_process():
        here = ["-m", weights.file, "--methods", method, "--factor", factor, *EXACT]
        evaluate("ppl", *here, *lengths, *texts, "-o", tmp_path / "ppl")
        evaluate("niah", *here, *prompts, "--chat-template", "none", "-o", tmp_path / "niah")
        if factor > 1:
            plain = ["-m", weights.file, "--methods", "none", "--factor", 1, *EXACT]
            evaluate("ppl", *plain, *lengths, *texts, "-o", tmp_path / "plain")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = pool.submit(in_process)  # while the server starts
        with weights.serve(tmp_path, method, factor, how) as url:
            served = str(tmp_path / "served" if (tmp_path / "served").exists() else weights.folder)
            there = ["--endpoint", url, "--model", served, "--label", method]
            evaluate("ppl", *there, *lengths, *texts, "-m", weights.file, "-o", tmp_path / "ppl-vllm")
            evaluate("ppl", *there, *lengths, *texts, "-o", tmp_path / "ppl-tokenize")
            evaluate("niah", *there, *prompts, "-m", weights.file, "-o", tmp_path / "niah-vllm")
        done.result()

    # Perplexity
    expected, found = records(tmp_path / "ppl"), records(tmp_path / "ppl-vllm")
    assert expected.keys() == found.keys() and len(found) == len(TEXTS)
    differences = [per_token(expected[key], found[key]) for key in expected]
    print(f"{name}: -ln p per token differs by {max(d[0] for d in differences):.1e}, in a stretch by {max(d[1] for d in differences):.1e}")
    assert max(max(d) for d in differences) < TOLERANCE
    # The servers' tokens are those of the vocabulary, and so is what they score
    again = records(tmp_path / "ppl-tokenize")
    assert max(max(per_token(again[key], found[key])) for key in found) < TOLERANCE
    settings = [json.loads((tmp_path / run / "run.json").read_text())["settings"]["tokens"] for run in ("ppl-vllm", "ppl-tokenize")]
    assert settings == ["tiny-f32.gguf", "/tokenize"]
    if factor > 1:  # another plan would be noticed
        plain = records(tmp_path / "plain")
        assert min(per_token(plain[key], found[key])[0] for key in found) > 100 * TOLERANCE

    # Answers
    expected, found = records(tmp_path / "niah"), records(tmp_path / "niah-vllm")
    assert expected.keys() == found.keys() and len(found) == 3 * len(prompts[1].split(","))
    for key, record in expected.items():
        assert (record["answer"]["text"], record["answer"]["score"]) == (found[key]["answer"]["text"], found[key]["answer"]["score"])
