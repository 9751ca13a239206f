#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How well `mrrope eval gap` ranks plans: rank correlation with perplexities of real long texts, and what it costs.

    tools/gap_study.py MODEL.gguf 'TEXTS/*' [FACTOR]

Plans of the whole catalogue at one factor S are measured twice: by `eval ppl` to S times the trained length, and by `eval gap`
with windows of the trained length whose halves seem as far apart. At 2, 4, … S times the trained length the probe is compared
with the perplexity of the last 512 tokens of the real text (what it imitates) and with that of the whole text (what people
quote). Spearman's rank correlation over the plans; 95 % interval by bootstrap over documents, the same for both.
"""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MRROPE = os.environ.get("MRROPE_BIN", ROOT / "build" / "release" / "mrrope")
PLANS = ("linear ntk ntk-by-parts yarn yarn-rotations yarn:beta_fast=16 yarn:attention_scale=1 llama3 mrrope-uni "
         "mrrope-pro mrrope-power:p=2 mrrope-power:p=4 mrrope-mirror mrrope-pro:attention_scale=1 gradient-base").split()
RESAMPLES = 2000


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for i in order[at:end + 1]:
            out[i] = (at + end) / 2
        at = end + 1
    return out


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    up = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    return up / math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))


def measure(task, model, texts, factor, extra):
    """{method: {document: record}}, and the seconds of all passes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([MRROPE, "eval", task, "-m", model, "-f", texts, "--methods", ",".join(PLANS), "--factor", str(factor),
                        "-o", folder, "--json", *extra], check=True, stdout=subprocess.DEVNULL)
        lines = (pathlib.Path(folder) / "records.jsonl").read_text().splitlines()
    table, seconds = {}, 0
    for record in map(json.loads, lines):
        table.setdefault(record["method"], {})[record["document"]] = record
        seconds += record["seconds"]
    return table, seconds


def main():
    model, texts = sys.argv[1], sys.argv[2]
    factor = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    trained = json.loads(subprocess.run([MRROPE, "inspect", model, "--json"], check=True, capture_output=True,
                                        text=True).stdout)["context_trained"]
    lengths = [trained * 2 ** i for i in range(1, int(math.log2(factor)) + 1)]
    gaps = [length - trained for length in lengths]
    real, real_seconds = measure("ppl", model, texts, factor, ["--lengths", ",".join(map(str, lengths))])
    probe, probe_seconds = measure("gap", model, texts, factor, ["--gaps", ",".join(map(str, gaps)), "--tokens", str(trained)])
    methods = list(real)
    documents = sorted(set.intersection(*(set(d) for d in [*real.values(), *probe.values()])))

    def whole(record, i):
        point = record["points"][i]
        return point["nll"] / point["predicted"]

    def last(record, i):
        end = lengths[i] // record["bucket"]
        return sum(record["bucket_nll"][end - 2:end]) / (2 * record["bucket"])

    def correlation(i, of_real, chosen):
        def means(table, value):
            return [sum(value(table[m][d], i) for d in chosen) / len(chosen) for m in methods]
        return spearman(means(probe, whole), means(real, of_real))

    print(f"{pathlib.Path(model).name}, S = {factor}, {len(methods)} plans, {len(documents)} documents")
    print("length   probe ~ last 512 tokens      probe ~ whole text")
    rng = random.Random(1)
    for i, length in enumerate(lengths):
        cells = []
        for of_real in (last, whole):
            drawn = sorted(correlation(i, of_real, rng.choices(documents, k=len(documents))) for _ in range(RESAMPLES))
            low, high = drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40]
            cells.append(f"{correlation(i, of_real, documents):5.2f} ({low:5.2f} to {high:5.2f})")
        print(f"{length:6d}   {cells[0]:24}     {cells[1]}")
    print(f"cost of the probe at {len(gaps)} distances / cost of the real measurement: {probe_seconds / real_seconds:.2f} "
          f"(seconds of the passes, one run)")


if __name__ == "__main__":
    main()
