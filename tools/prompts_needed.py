#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many prompts tell two plans apart, by hits and by -ln p of the right answer: a row for every task of run folders.

    mrrope eval ruler -m tests/models/tiny-512.gguf --factor 16 --lengths 1k --samples 40 --methods yarn,mrrope-pro -o run
    tools/prompts_needed.py yarn mrrope-pro run…

Paired differences d of the same prompts; a test at 95 % finds a difference of their mean with a power of 80 % from
n = ((1.96 + 0.84) s / mean)² prompts on, s their standard deviation. -ln p is per token of the answer. Where all d are 0,
no number of prompts tells anything. The figures are estimates: with 40 prompts s / mean is known to about a quarter where
the difference is clear, and not at all where it is not; those rows say so (|mean| below two of its standard errors).
"""
import argparse
import json
import math
import pathlib
import statistics


def needed(differences):
    mean, spread = statistics.mean(differences), statistics.stdev(differences)
    if spread == 0:
        return "-" if mean == 0 else "2"
    error = spread / math.sqrt(len(differences))
    n = math.ceil((2.8 * spread / abs(mean)) ** 2) if mean else math.inf
    return f"{max(n, 2)}" if abs(mean) > 2 * error else f"tied over {len(differences)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("runs", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    found = {}
    for run in args.runs:
        for line in (run / "records.jsonl").read_text().splitlines():
            record = json.loads(line)
            answer = record.get("answer", {})
            if answer.get("right") and record["method"] in (args.first, args.second):
                key = record["task"], record["document_hash"], answer["length"]
                nats = answer["right"]["nll"] / answer["right"]["tokens"]
                found.setdefault(key, {})[record["method"]] = (answer["score"], nats)
    tasks = {}
    for (task, _, _), both in found.items():
        if len(both) == 2:
            tasks.setdefault(task, []).append((both[args.first], both[args.second]))
    print(f"| task | prompts | hits, {args.first} | hits, {args.second} | -ln p, {args.first} | -ln p, {args.second} | needed by hits | needed by -ln p |")
    print("|---|---|---|---|---|---|---|---|")
    for task, pairs in tasks.items():
        hits = [statistics.mean(pair[i][0] for pair in pairs) for i in (0, 1)]
        nats = [statistics.mean(pair[i][1] for pair in pairs) for i in (0, 1)]
        by_hits = needed([b[0] - a[0] for a, b in pairs])
        by_nats = needed([b[1] - a[1] for a, b in pairs])
        print(f"| {task} | {len(pairs)} | {hits[0]:.2f} | {hits[1]:.2f} | {nats[0]:.3f} | {nats[1]:.3f} | {by_hits} | {by_nats} |")


if __name__ == "__main__":
    main()
