#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What sharing prefixes saves on a needle grid: `mrrope eval niah` with and without it, in turns, ratios in one run.

    tools/measure_grid.py MODEL.gguf LONGEST [ROUNDS]

Eight lengths up to LONGEST, ten depths, one sample each, under mrrope-pro. Answers have to be the same.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(model, lengths, factor, *more):
    """(seconds, tokens computed, tokens of all prompts, answers)."""
    mrrope = os.environ.get("MRROPE_BIN", ROOT / "build" / "release" / "mrrope")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        done = subprocess.run([mrrope, "eval", "niah", "-m", model, "--methods", "mrrope-pro", "--factor", str(factor), "--lengths",
                               ",".join(map(str, lengths)), "--depths", "10", "-o", folder, *more],
                              check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        lines = (pathlib.Path(folder) / "records.jsonl").read_text().splitlines()
    answers = {(r["answer"]["length"], r["answer"]["index"]): r["answer"]["text"] for r in map(json.loads, lines)}
    computed, asked = map(int, re.search(r"computed (\d+) of (\d+)", done.stderr).groups())
    return seconds, computed, asked, answers


def main():
    model, longest = sys.argv[1], int(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    lengths = [longest * i // 8 for i in range(1, 9)]
    ratios = []
    for _ in range(rounds):
        shared, computed, asked, answers = run(model, lengths, 16)
        alone, _, _, expected = run(model, lengths, 16, "--no-sharing")
        if answers != expected:
            sys.exit("answers differ")
        ratios.append(shared / alone)
    print(f"{pathlib.Path(model).name}, {len(answers)} prompts to {longest} tokens, the same answers")
    print(f"- prompt tokens computed: {computed / asked:.3f} of {asked}")
    print(f"- time: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f} in {rounds} rounds)")


if __name__ == "__main__":
    main()
