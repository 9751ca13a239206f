#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is a better table a better start? The small model, fine-tuned at four times its length from five tables.

    cmake --preset release && cmake --build --preset release --target mrrope_cli
    $(tools/engine_env train) tools/finetune_study.py RUN_DIR            goes on where RUN_DIR ended; an hour of one core
    $(tools/engine_env train) tools/finetune_study.py RUN_DIR --write    renews the tables of docs/results/fine-tuning.md

Every run starts from tests/models/tiny-512.gguf (its Q8_0 weights, as float32) and reads the same texts of 2048 bytes in the same
order: those of tools/train_tiny.py's last stage, longer. Only the table differs. What is measured is held out: The Moonstone, and
numbers planted in it. RUN_DIR gets one JSON file for each table, written when that run has ended.
"""
import argparse
import json
import math
import os
import pathlib
import random
import subprocess

import numpy as np
import torch

import generated
import train_tiny
from interval import interval
from lab import gguf_file, training
from lab.model import Rotation

ROOT = pathlib.Path(__file__).resolve().parents[1]
TINY, DOCUMENT = ROOT / "tests" / "models" / "tiny-512.gguf", ROOT / "docs" / "results" / "fine-tuning.md"
MARKS = "<!-- generated: tools/finetune_study.py -->\n", "<!-- end study -->\n"

SHORT, LENGTH = train_tiny.CONTEXT, 4 * train_tiny.CONTEXT
# The last is what `mrrope tune` found for this model at 4 times (docs/tune.md).
TABLES = {
    "none": "none",
    "yarn": "yarn",
    "mrrope-uni": "mrrope-uni",
    "mrrope-pro": "mrrope-pro",
    "tuned": "mrrope-power:p=1.68:low=7:high=18:attention_scale=1.06:factor=4.81",
}
# Two texts a step, at a tenth of the rate of training, falling over the second half: 0.8 million bytes, a twentieth of training.
STEPS, TEXTS, PEAK_RATE, WARMUP_STEPS, DECAY_SHARE = 200, 2, 3e-4, 10, 0.5
MEASURED = (0, 20, 60, 200)
WINDOWS, QUESTIONS = 24, 40
ASKED = {"passkey": (train_tiny.pass_key, {}), "1 of 2 numbers": (train_tiny.magic, {"count": 2})}


# ---- one run ---------------------------------------------------------------------------------------------------------


def rotation(mrrope, table):
    """Of LENGTH positions."""
    command = [mrrope, "plan", TINY, "-c", str(LENGTH), "--method", TABLES[table], "--json"]
    plan = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return Rotation(LENGTH, plan["pair_factors"], plan["attention_scale"])


def cut(rotate, length):
    """The same angles, of fewer positions."""
    short = Rotation(length)
    short.turn = rotate.turn[:length]
    return short


def batch(corpus, step):
    """Texts of a step: the same whatever the table."""
    rng = random.Random(f"fine-tuning/1/{step}")
    shares = train_tiny.STAGES[-1][2]
    families = rng.choices(list(shares), list(shares.values()), k=TEXTS)
    made = [train_tiny.encode(train_tiny.FAMILIES[family](corpus, rng, LENGTH), LENGTH) for family in families]
    return torch.tensor([tokens for tokens, _ in made]), torch.tensor([weights for _, weights in made])


@torch.no_grad()
def measure(model, corpus, rotate):
    """-ln p of a byte in each window (its first 512, all of it, its last 512), and the share of questions
    with the right answer."""
    model.eval()
    rotate = cut(rotate, LENGTH - 1)  # the last token is not read
    losses = train_tiny.held_out_losses(model, corpus, WINDOWS, LENGTH, rotate)
    parts = {"short": losses[:, : SHORT - 1], "all": losses, "last": losses[:, -SHORT:]}
    figures = {name: part.mean(1).tolist() for name, part in parts.items()}
    for name, (family, options) in ASKED.items():
        figures[name] = train_tiny.retrieved(model, corpus, family, QUESTIONS, LENGTH, rotate, **options)
    model.train()
    return figures


def run(corpora, rotate):
    """{step: figures}"""
    train, held_out = corpora
    model = gguf_file.read(TINY).train()
    optimizers, at = training.make_optimizers(model), {}
    for step in range(STEPS + 1):
        if step in MEASURED:
            at[step] = measure(model, held_out, rotate)
        if step < STEPS:
            rate = training.learning_rate(step, STEPS, PEAK_RATE, WARMUP_STEPS, DECAY_SHARE)
            training.optimize(model, optimizers, rate, batch(train, step), rotate)
    return at


def run_all(folder, mrrope, data):
    folder.mkdir(parents=True, exist_ok=True)
    corpora = train_tiny.Corpus(data), train_tiny.Corpus(data, held_out=True)
    for table in TABLES:
        path = folder / f"{table}.json"
        if path.exists():
            continue
        at = run(corpora, rotation(mrrope, table))
        path.with_suffix(".new").write_text(json.dumps(at))
        path.with_suffix(".new").replace(path)
        print(f"{table}: perplexity {perplexity(at[0]['all']):.3f} -> {perplexity(at[STEPS]['all']):.3f}", flush=True)


# ---- the page --------------------------------------------------------------------------------------------------------


def perplexity(losses):
    return math.exp(np.mean(losses))


def change(losses, against):
    """Percent of perplexity, and 95 % by drawing windows anew; paired."""
    middle, low, high = (100 * math.expm1(x) for x in interval(np.array(losses) - np.array(against)))
    return f"{middle:+.1f} % ({low:+.1f} … {high:+.1f})" + " \\*" * bool(low > 0 or high < 0)


def rows(runs, step):
    """A line for each table; every change is against yarn after as many steps."""
    for table in TABLES:
        figures = runs[table][str(step)]
        cells = [table, *(f"{perplexity(figures[part]):.3f}" for part in ("short", "all", "last"))]
        cells.append("" if table == "yarn" else change(figures["all"], runs["yarn"][str(step)]["all"]))
        cells += [f"{100 * figures[name]:.0f}" for name in ASKED]
        yield f"| {' | '.join(cells)} |"


def page(folder):
    runs = {table: json.loads((folder / f"{table}.json").read_text()) for table in TABLES}
    head = ["table", f"first {SHORT}", f"all {LENGTH}", f"last {SHORT}", "all, against yarn (95 %)", *ASKED]
    for step in MEASURED:
        yield f"**After {step} steps**" if step else "**Before**"
        yield ""
        yield f"| {' | '.join(head)} |"
        yield "|---" + "|---:" * (len(head) - 1) + "|"
        yield from rows(runs, step)
        yield ""
    yield f"{WINDOWS} texts, {QUESTIONS} questions of each kind. {generated.provenance()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, metavar="RUN_DIR")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--mrrope", default=ROOT / "build/release/mrrope")
    options = parser.parse_args()
    torch.set_num_threads(1)
    run_all(options.run, options.mrrope, os.environ.get("MRROPE_DATA", ROOT.parent / "shared" / "data"))
    lines = [line + "\n" for line in page(options.run)]
    print("".join(lines), end="")
    if options.write:
        generated.renew(DOCUMENT, MARKS, "".join(lines))


if __name__ == "__main__":
    main()
