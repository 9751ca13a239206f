#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the plug-in costs or saves: llama-bench with and without it, in turns.

    cmake --preset release -DMRROPE_BUILD_PLUGIN=ON && cmake --build --preset release --target ggml-mrrope mrrope_cli
    $(tools/engine_env gguf) tools/plugin_speed.py             the table of docs/plugin.md
    $(tools/engine_env gguf) tools/plugin_speed.py --write     renews it
    … --rounds 20 --threads 1,2 --model FILE

Every round runs both in a random order; a ratio above 1 means that the plug-in is faster. Medians of the rounds, with the
quartiles of the ratio within a round. Wants an otherwise idle machine; the processor time of one thread, start of the program
included, means something on a busy one, too. SmolLM2-135M (Q8_0), a plan of factor 4.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile

import generated

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "llama"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

DOCUMENT = ROOT / "docs" / "plugin.md"
MARKS = "<!-- generated: tools/plugin_speed.py -->\n", "<!-- end -->\n"
TASKS = {"prompt of 512": ["-p", 512, "-n", 0], "one at a time": ["-p", 0, "-n", 64]}


def bench(options, task, threads, environment):
    """Tokens per second, and seconds of processor time."""
    command = [harness.llama_bin("llama-bench"), "-m", options.model, *TASKS[task], "-r", options.repetitions, "-t", threads, "-o", "json"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GGML_", "MRROPE_"))}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, env={**clean, **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if environment and "rotate by" not in done.stderr:
        raise RuntimeError(f"the plug-in did nothing:\n{done.stderr}")
    return json.loads(done.stdout)[0]["avg_ts"], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(options, task, threads, plan):
    """[(without, with)] of bench()."""
    environments = {"without": {}, "with": {"GGML_BACKEND_PATH": str(options.plugin), "MRROPE_PLAN": str(plan)}}
    chance, pairs = random.Random(1), []
    for _ in range(options.rounds):
        order = list(environments)
        chance.shuffle(order)
        found = {name: bench(options, task, threads, environments[name]) for name in order}
        pairs.append((found["without"], found["with"]))
    return pairs


def table(options):
    yield "| threads | tokens | without, tokens/s | with | ratio | quartiles | ratio of processor time |"
    yield "|---|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan.json"
        plan.write_text(subprocess.run([options.mrrope, "plan", options.model, "--factor", "4", "--json"], capture_output=True, text=True,
                                       check=True).stdout, encoding="utf-8")
        for threads in options.threads.split(","):
            for task in TASKS:
                pairs = measure(options, task, threads, plan)
                without, beside = (statistics.median(side[i][0] for side in pairs) for i in (0, 1))
                low, middle, high = statistics.quantiles([b[0] / a[0] for a, b in pairs], n=4)
                seconds = statistics.median(a[1] for a, _ in pairs) / statistics.median(b[1] for _, b in pairs)
                spent = f"{seconds:.3f}" if threads == "1" else ""  # threads that wait spin
                yield f"| {threads} | {task} | {without:.1f} | {beside:.1f} | {middle:.3f} | {low:.3f} … {high:.3f} | {spent} |"
    yield ""
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    yield f"{pathlib.Path(options.model).stem}, {options.rounds} rounds of {options.repetitions} repetitions, load {load}."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--model", default=None)
    parser.add_argument("--plugin", default=ROOT / "build/release/libggml-mrrope.so")
    parser.add_argument("--mrrope", default=ROOT / "build/release/mrrope")
    options = parser.parse_args()
    options.model = options.model or harness.smollm2()
    text = "\n".join(table(options)) + "\n"
    if options.write:
        generated.renew(DOCUMENT, MARKS, text)
    print(text, end="")


if __name__ == "__main__":
    main()
