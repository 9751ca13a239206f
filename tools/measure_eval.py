#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `mrrope eval ppl` costs, against the bare engine and against llama-perplexity: ratios in one run.

    $(tools/engine_env gguf) tools/measure_eval.py MODEL.gguf TEXT TOKENS [ROUNDS]

Three programs take turns over the same number of tokens with the same settings (ubatch 512, f16 cache, all threads):
a bare llama_decode loop (tests/llama/bare_decode.cpp), `mrrope eval ppl` at eight lengths up to TOKENS under mrrope-pro,
and eight runs of `llama-perplexity --chunks 1`, one per length. Give the machine to it alone. Peak memory is what the
operating system saw of mrrope, beside the size of the model and of its cache.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "llama"))
import harness  # noqa: E402  pylint: disable=wrong-import-position


def run(*command):
    """(seconds, peak megabytes, standard output)."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        text = out.read()
    if status != 0:
        sys.exit(f"{command}: status {status}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024, text


def main():
    model, text, tokens = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    lengths = [tokens * i // 8 for i in range(1, 9)]
    mrrope = os.environ.get("MRROPE_BIN", ROOT / "build" / "release" / "mrrope")
    bare, ours, passes, memory, theirs = [], [], [], 0, []
    for _ in range(rounds):
        bare.append(float(run(harness.program("bare_decode"), model, tokens)[2]))
        with tempfile.TemporaryDirectory() as folder:
            seconds, peak, _ = run(mrrope, "eval", "ppl", "-m", model, "-f", text, "--factor", 2, "--methods", "mrrope-pro",
                                   "--lengths", ",".join(map(str, lengths)), "-o", folder)
            passes.append(json.loads((pathlib.Path(folder) / "records.jsonl").read_text())["seconds"])
        ours.append(seconds)
        memory = max(memory, peak)
        theirs.append(sum(run(harness.llama_bin("llama-perplexity"), "-m", model, "-f", text, "-c", n, "--chunks", 1, "-b", 512)[0]
                          for n in lengths))

    def ratio(a, b):
        each = [x / y for x, y in zip(a, b)]
        return f"{statistics.median(a) / statistics.median(b):.3f} ({min(each):.3f} to {max(each):.3f} in {rounds} rounds)"

    print(f"{model.name}, {tokens} tokens")
    print(f"- pass of eval ppl / bare llama_decode loop: {ratio(passes, bare)}; the loop took {statistics.median(bare):.1f} s")
    print(f"- eval ppl at eight lengths, with loading / eight llama-perplexity --chunks 1: {ratio(ours, theirs)}")
    print(f"- peak memory {memory:.0f} MB; the model has {model.stat().st_size / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
