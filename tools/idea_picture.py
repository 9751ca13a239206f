#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/idea.svg: a position as the hands of clocks, inside and beyond the trained length, under three tables.

    tools/idea_picture.py MRROPE            writes it
    tools/idea_picture.py MRROPE --check    exit status 1 if it is another one

The clocks are pairs of a real model, tests/models/tiny-512.gguf, with the factors that `mrrope plan --json` gives.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODEL, PICTURE = ROOT / "tests" / "models" / "tiny-512.gguf", ROOT / "docs" / "idea.svg"
TRAINED, TARGET, POSITION, BEYOND = 512, 2048, 400, 1500
PAIRS = (0, 8, 13, 17, 20, 24)  # two that turn often in training, one that turns twice, three that never complete a turn

WIDTH, LEFT, STEP, RADIUS, TOP, ROW = 760, 214, 92, 31, 78, 92
COLOURS = """
  .seen { fill: #8fcf9b } .dial { fill: #e7e5e0; stroke: #77736b } .hand { stroke: #1d4e2a; stroke-width: 2.6 }
  .lost { stroke: #c62828; stroke-width: 3.4 } .next { stroke-width: 1.2; stroke-dasharray: 3 2 } .close { stroke: #c62828 }
  text { fill: #23211d; font: 13px system-ui, sans-serif } .small { font-size: 11px } .bold { font-weight: 600 } .bad { fill: #b71c1c }
  @media (prefers-color-scheme: dark) {
    .seen { fill: #3f7d4c } .dial { fill: #3a3935; stroke: #96928a } .hand { stroke: #d8f5de } .lost, .close { stroke: #ff8a80 }
    text { fill: #eceae4 } .bad { fill: #ff8a80 }
  }"""

# Title, what to see in it, position, method
ROWS = (
    ("Token 400, as trained", "every hand is where the model has seen it", POSITION, "none"),
    ("Token 1500, unchanged", "slow hands point where none ever was", BEYOND, "none"),
    ("Every clock four times slower", "all in the green, but neighbours run together", BEYOND, "linear"),
    ("MrRoPE-Pro: the slower, the more", "all in the green, neighbours as far apart as before", BEYOND, "mrrope-pro"),
)


def plan(program, method):
    words = [program, "plan", MODEL, "-c", str(TARGET), "--method", method, "--json"]
    return json.loads(subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout)


def point(x, y, turns, length):
    """On a dial, clockwise from noon."""
    return f"{x + length * math.sin(2 * math.pi * turns):.1f} {y - length * math.cos(2 * math.pi * turns):.1f}"


def clock(x, y, speed, trained_speed, position):
    """One pair: its dial, the part that training saw, and its hands at the token and at the next one."""
    seen = TRAINED * trained_speed / (2 * math.pi)
    turns, after = (m * speed / (2 * math.pi) for m in (position, position + 1))
    yield f'<circle class="dial" cx="{x}" cy="{y}" r="{RADIUS}"/>'
    if seen >= 1:
        yield f'<circle class="seen" cx="{x}" cy="{y}" r="{RADIUS - 2}"/>'
    else:
        arc = f"A{RADIUS - 2} {RADIUS - 2} 0 {int(seen > 0.5)} 1 {point(x, y, seen, RADIUS - 2)}"
        yield f'<path class="seen" d="M{x} {y}L{point(x, y, 0, RADIUS - 2)}{arc}Z"/>'
    unseen = seen < 1 and turns > seen
    if after - turns > 0.03:  # 11 degrees; less is not seen in a picture
        close = " close" if after - turns < 0.1 else ""
        yield f'<path class="hand next{close}" d="M{x} {y}L{point(x, y, after, RADIUS - 5)}"/>'
    yield f'<path class="hand{" lost" if unseen else ""}" d="M{x} {y}L{point(x, y, turns, RADIUS - 5)}"/>'


def wrapped(text, width):
    """In lines of so many letters at most."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def row(y, title, note, speeds, trained, position, bad):
    lines = [(line, "bold") for line in wrapped(title, 26)] + [(line, "small bad" if bad else "small") for line in wrapped(note, 31)]
    for i, (line, kind) in enumerate(lines):
        yield f'<text class="{kind}" x="12" y="{y - 8 * len(lines) + 16 * i + 13}">{line}</text>'
    for i, pair in enumerate(PAIRS):
        yield from clock(LEFT + RADIUS + i * STEP, y, speeds[pair], trained[pair], position)


def slowed(factor):
    return "not at all" if factor == 1 else f"{factor:.2g} times"


def picture(program):
    height = TOP + len(ROWS) * ROW + 30
    trained = plan(program, "none")["inv_freq"]
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="what">'
    yield "<!-- SPDX-License-Identifier: MIT. Made by tools/idea_picture.py -->"
    yield '<title id="what">A position as the hands of clocks, inside and beyond the trained length, under three tables</title>'
    yield f"<style>{COLOURS}\n</style>"
    yield f'<text x="{LEFT}" y="20">fast clocks tell neighbours apart</text>'
    yield f'<text x="{LEFT + 6 * STEP - 30}" y="20" text-anchor="end">slow clocks tell chapters apart</text>'
    yield f'<text class="small" x="{LEFT}" y="38">green: where the hand was during training ({TRAINED} tokens); dashed: the next token</text>'
    for i, (title, note, position, method) in enumerate(ROWS):
        yield from row(TOP + 20 + i * ROW, title, note, plan(program, method)["inv_freq"], trained, position, i in (1, 2))
    factors = plan(program, "mrrope-pro")["pair_factors"]
    y = TOP + len(ROWS) * ROW
    yield f'<text class="small" x="12" y="{y}">MrRoPE-Pro slows it down</text>'
    for i, pair in enumerate(PAIRS):
        yield f'<text class="small" x="{LEFT + RADIUS + i * STEP}" y="{y}" text-anchor="middle">{slowed(factors[pair])}</text>'
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="MRROPE")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    text = "\n".join(picture(asked.program)) + "\n"
    if not asked.check:
        PICTURE.write_text(text, encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != text:
        sys.exit("docs/idea.svg is not what tools/idea_picture.py makes")


if __name__ == "__main__":
    main()
