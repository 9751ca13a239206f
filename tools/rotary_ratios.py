#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast and how exact the rotation is, as ratios to the limit of memory and to ggml, measured side by side.

    cmake --preset release -DMRROPE_BUILD_BENCH=ON && cmake --build --preset release --target bench_rotary
    tools/rotary_ratios.py                 the tables of docs/rotary.md
    tools/rotary_ratios.py --json          {"in_cache_vs_scale": …, …}
    tools/rotary_ratios.py --write         renews docs/rotary.md

A ratio above 1 means that mrrope is faster. Compared kernels run in one process in random order, 15 times each; times are
processor time of one thread, medians; the spread is the distance between the quartiles, relative to the median.
`--repetitions N` for another number, `--bench PATH` for another program. Wants an otherwise idle machine.
"""
import argparse
import json
import pathlib
import statistics
import subprocess

import generated

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs/rotary.md"
MARKS = "<!-- generated: tools/rotary_ratios.py -->\n", "<!-- end -->\n"

# layout/type/head_dim/heads/tokens/tile as in bench/bench_rotary.cpp. 32 tokens of 32 heads of 128 f32 are 512 KiB: they
# stay in a second-level cache. 16384 are 256 MiB: no cache holds them.
IN_CACHE, OUT_OF_CACHE = "128/32/4096/32", "128/32/16384/16384"
ROWS = [(layout, kind, size) for layout in ("half_split", "interleaved") for kind in ("f32", "f16", "bf16")
        for size in (IN_CACHE, OUT_OF_CACHE)]
ROWS += [("half_split", "f32", size) for size in ("64/32/4096/32", "256/32/4096/32", "128/8/4096/32", "128/32/1/1")]
POSITIONS = (2**12, 2**17, 2**20, 2**24)


def measure(bench, repetitions):
    """{name: [seconds]}, {name: value of its counter}, and what the program says about the machine."""
    cases = "|".join("/".join(row) for row in ROWS)
    times, counters = {}, {}
    for pattern, repeat in ((f"^(mrrope|scale|limit|ggml)/({cases})$", repetitions), ("^(error|drift)/", 1)):
        command = [bench, f"--benchmark_filter={pattern}", "--benchmark_format=json", "--benchmark_min_time=0.05",
                   f"--benchmark_repetitions={repeat}", "--benchmark_enable_random_interleaving=true"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for run in answer["benchmarks"]:
            if run["run_type"] != "iteration":
                continue
            name = run["name"].split("/iterations")[0]
            times.setdefault(name, []).append(run["cpu_time"])
            counters[name] = run.get("error", run.get("drift"))
    return times, counters, answer["context"]


class Ratios:
    def __init__(self, times):
        self.times = times

    def __call__(self, other, layout, kind, size):
        """How many times longer `other` takes than mrrope, or None if it was not measured."""
        case = f"{layout}/{kind}/{size}"
        if f"{other}/{case}" not in self.times:
            return None
        return statistics.median(self.times[f"{other}/{case}"]) / statistics.median(self.times[f"mrrope/{case}"])

    def spread(self, kernel, layout, kind, size):
        times = self.times[f"{kernel}/{layout}/{kind}/{size}"]
        if len(times) < 2:
            return 0
        low, middle, high = statistics.quantiles(times, n=4)
        return (high - low) / middle


def summary(ratios, counters):
    return {
        "in_cache_vs_scale": ratios("scale", "half_split", "f32", IN_CACHE),
        "out_of_cache_vs_scale": ratios("scale", "half_split", "f32", OUT_OF_CACHE),
        "in_cache_vs_limit": ratios("limit", "half_split", "f32", IN_CACHE),
        "out_of_cache_vs_limit": ratios("limit", "half_split", "f32", OUT_OF_CACHE),
        "vs_ggml_half_split": ratios("ggml", "half_split", "f32", IN_CACHE),
        "vs_ggml_interleaved": ratios("ggml", "interleaved", "f32", IN_CACHE),
        "max_error_2_24": counters[f"error/mrrope/{2**24}"],
    }


def tables(times, counters, context, repetitions):
    ratios = Ratios(times)
    number = lambda value: "" if value is None else f"{value:.2f}"
    yield "| layout | type | head | heads | tokens | in memory of | ns per token | spread | of the scale | of the limit | of ggml |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for layout, kind, size in ROWS:
        head, heads, tokens, tile = size.split("/")
        case = (layout, kind, size)
        per_token = statistics.median(times["mrrope/" + "/".join(case)]) / int(tokens)
        yield (f"| {layout.replace('_', '-')} | {kind} | {head} | {heads} | {tokens} | {tile} | {per_token:.0f} "
               f"| {ratios.spread('mrrope', *case):.0%} | {number(ratios('scale', *case))} | {number(ratios('limit', *case))} "
               f"| {number(ratios('ggml', *case))} |")
    yield ""
    yield "| positions up to | error, mrrope | error, ggml | drift of scores, mrrope | drift of scores, ggml |"
    yield "|---|---|---|---|---|"
    for position in POSITIONS:
        cells = [counters.get(f"{what}/{kernel}/{position}") for what in ("error", "drift") for kernel in ("mrrope", "ggml")]
        yield f"| {position} | " + " | ".join("" if cell is None else f"{cell:.1e}" for cell in cells) + " |"
    yield ""
    load = ", ".join(f"{x:.1f}" for x in context["load_avg"])
    yield (f"{generated.processor()}, {context['instruction_set']}, one thread, {repetitions} repetitions, {context['date'][:10]}, "
           f"load {load}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--bench", default=ROOT / "build/release/bench_rotary")
    options = parser.parse_args()
    times, counters, context = measure(options.bench, options.repetitions)
    if options.json:
        print(json.dumps(summary(Ratios(times), counters), indent=2))
        return
    text = "\n".join(tables(times, counters, context, options.repetitions)) + "\n"
    if options.write:
        generated.renew(DOCUMENT, MARKS, text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
