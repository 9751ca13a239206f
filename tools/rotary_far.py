#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A text at the start and the same text a million tokens on: does attention between its tokens change?

    cmake --preset release -DMRROPE_BUILD_PLUGIN=ON && cmake --build --preset release --target ggml-mrrope
    $(tools/engine_env gguf) tools/rotary_far.py             the table of docs/rotary.md
    $(tools/engine_env gguf) tools/rotary_far.py --write     renews it, and its picture

Unmodified llama.cpp on the small trained model of tests/models, first with ggml's rotation, then with ours (the plug-in,
without a plan). 256 tokens, weights as float32 (with float16 ggml rounds activations to it, which hides the rest);
tests/llama/attention.cpp says what is compared. The result does not depend on the machine's load.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import generated

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "llama"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

DOCUMENT, PICTURE = ROOT / "docs" / "rotary.md", ROOT / "docs" / "rotary-far.svg"
MARKS = "<!-- generated: tools/rotary_far.py -->\n", "<!-- end far -->\n"
POSITIONS = [2**12, 2**14, 2**17, 2**20, 2**24 - 512]
NAMES = {2**12: "4096", 2**14: "16 384", 2**17: "131 072", 2**20: "1 048 576", 2**24 - 512: "16 776 704"}


def measure(model, environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GGML_", "MRROPE_"))}
    command = [harness.program("attention"), model, ROOT / "docs/theory.md", 256, 0, *POSITIONS]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, env={**clean, **environment})
    return {row["position"]: row for row in json.loads(done.stdout)}


def table(ours, theirs):
    yield "| text begins at | largest change of a weight, mrrope | ggml | mean change, mrrope | ggml | perplexity, mrrope | ggml |"
    yield "|---|---|---|---|---|---|---|"
    for position in [0, *POSITIONS]:
        cells = [f"{rows[position][key]:.1e}" for key in ("largest", "mean") for rows in (ours, theirs)]
        cells += [f"{math.exp(rows[position]['nll']):.5f}" for rows in (ours, theirs)]
        yield f"| {NAMES.get(position, position)} | {' | '.join(cells)} |"


def picture(ours, theirs):
    """Two curves over positions, both axes logarithmic: decades 10^3 … 10^7.3 and 10^-8 … 1."""
    width, height, left, top = 560, 260, 70, 28
    x = lambda position: left + (math.log10(position) - 3.4) / 4.0 * (width - left - 120)
    y = lambda value: top - math.log10(max(value, 1e-8)) / 8 * (height - top - 50)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
    yield "<!-- SPDX-License-Identifier: MIT -->"
    yield f'<rect width="{width}" height="{height}" fill="white"/>'
    yield f'<text x="{left}" y="12">largest change of an attention weight</text>'
    for decade in range(0, 9, 2):
        yield f'<path d="M{left} {y(10.0**-decade):.1f}H{width - 110}" stroke="#ddd"/>'
        label = "1" if decade == 0 else f"1e-{decade}"
        yield f'<text x="{left - 6}" y="{y(10.0**-decade) + 4:.1f}" text-anchor="end">{label}</text>'
    for position in POSITIONS:
        yield f'<text x="{x(position):.1f}" y="{height - 30}" text-anchor="middle">{NAMES[position]}</text>'
    yield f'<text x="{(left + width - 110) / 2:.0f}" y="{height - 10}" text-anchor="middle">position at which the text begins</text>'
    for name, color, rows in (("ggml", "#c33", theirs), ("mrrope", "#06c", ours)):
        points = [(x(p), y(rows[p]["largest"])) for p in POSITIONS]
        yield f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{color}" stroke-width="2"/>'
        yield f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}" fill="{color}">{name}</text>'
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--plugin", default=ROOT / "build/release/libggml-mrrope.so")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "f32.gguf"
        harness.run(harness.llama_bin("llama-quantize"), "--allow-requantize", ROOT / "tests/models/tiny-512.gguf", model, "F32")
        theirs, ours = measure(model, {}), measure(model, {"GGML_BACKEND_PATH": str(options.plugin)})
    text = "\n".join(table(ours, theirs)) + "\n"
    if options.write:
        generated.renew(DOCUMENT, MARKS, text)
        PICTURE.write_text("\n".join(picture(ours, theirs)) + "\n", encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
