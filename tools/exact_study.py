#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does exactness of angles matter? The same texts and questions far from position 0, with float32 and with exact angles.

    cmake --preset release -DMRROPE_BUILD_PLUGIN=ON && cmake --build --preset release --target mrrope_cli ggml-mrrope
    $(tools/engine_env gguf) tools/exact_study.py              the small model of tests/models: the table of docs/rotary.md
    $(tools/engine_env gguf) tools/exact_study.py --smollm2    SmolLM2-135M as well, a quarter of an hour of one core
    … --write                                                  renews the table

Unmodified llama.cpp as it is by default (float16 cache, flash attention), first with ggml's rotation, then with ours (the
plug-in, without a plan); tests/llama/shifted.cpp reads. The texts are of The Moonstone in $MRROPE_DATA, which the small
model was not trained on. Everything is compared with the same text, model and rotation at position 0, so the intervals are
of paired differences: 95 %, by drawing texts anew. The result does not depend on the machine's load.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import typing

import generated
from interval import interval

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "llama"))
import harness  # noqa: E402  pylint: disable=wrong-import-position
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position

DOCUMENT, TINY = ROOT / "docs" / "rotary.md", ROOT / "tests" / "models" / "tiny-512.gguf"
NOVEL = pathlib.Path(os.environ.get("MRROPE_DATA", ROOT.parent / "shared" / "data")) / "novels" / "the-moonstone.md"
MARKS = "<!-- generated: tools/exact_study.py -->\n", "<!-- end study -->\n"
# 1000 is near enough for float32 to be right: what changes there comes of rounding turned keys and queries to float16.
POSITIONS = [0, 10**3, 10**5, 10**6, 10**7]


class Case(typing.NamedTuple):
    name: str
    model: pathlib.Path
    texts: int
    text_bytes: int
    questions: int
    question_bytes: int


# ---- texts and questions ---------------------------------------------------------------------------------------------


def questions(novel, count, length):
    """(text, answer): in turns a pass key, one of two magic numbers and one of four, planted in the novel, in the words that the
    small model knows (tools/train_tiny.py). `length` bytes with the answer."""
    rng = random.Random(1)
    words = sorted(set(re.findall(r"\b[a-z]{5,7}\b", novel)))
    for i in range(count):
        value = "".join(rng.choices("0123456789", k=6))
        if i % 3 == 0:
            needles = [f" The pass key is {value}. Remember it. "]
            tail = "\nWhat is the pass key? The pass key is "
        else:
            names = ["-".join(rng.sample(words, 2)) for _ in range(2 * (i % 3))]
            numbers = [value] + [f"{rng.randrange(10**6):06}" for _ in names[1:]]
            needles = [f" One of the special magic numbers for {name} is: {number}. " for name, number in zip(names, numbers)]
            tail = (f"\nWhat is the special magic number for {names[0]} mentioned in the provided text? "
                    f"The special magic number for {names[0]} mentioned in the provided text is ")
        room = length - len("".join(needles) + tail + value)
        start = rng.randrange(len(novel) - room)
        hay = novel[start : start + room]
        cuts = sorted(rng.randrange(room + 1) for _ in needles)
        pieces = [hay[a:b] for a, b in zip([0, *cuts], [*cuts, room])]
        rng.shuffle(needles)
        yield pieces[0] + "".join(needle + piece for needle, piece in zip(needles, pieces[1:])) + tail, value


def prompts_of(case):
    novel = NOVEL.read_bytes().decode("ascii", "ignore")  # one byte, one token of the small model
    for i in range(case.texts):
        start = (2 * i + 1) * (len(novel) - case.text_bytes) // (2 * case.texts)
        yield novel[start : start + case.text_bytes], ""
    yield from questions(novel, case.questions, case.question_bytes)


# ---- measuring -------------------------------------------------------------------------------------------------------


def read(case, environment):
    """{position: (tokens, -ln p, found)}, each an array over the prompts."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GGML_", "MRROPE_"))}
    with tempfile.NamedTemporaryFile() as file:
        file.write("".join(f"{text}\0{answer}\0" for text, answer in prompts_of(case)).encode())
        file.flush()
        command = [harness.program("shifted"), case.model, file.name, *POSITIONS]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, env={**clean, **environment})
    answer = json.loads(done.stdout)
    if ("MRROPE" in answer["backends"]) != bool(environment):
        raise RuntimeError(f"backends {answer['backends']} with {environment}")
    rows = lambda position, key: np.array([r[key] for r in answer["readings"] if r["position"] == position])
    return {position: tuple(rows(position, key) for key in ("tokens", "nll", "found")) for position in POSITIONS}


def cells(readings, position, texts):
    """Perplexity, its change, answers found, change of -ln p per token of an answer."""
    (tokens, start, found_there), (_, here, found) = readings[0], readings[position]
    text, question = slice(0, texts), slice(texts, None)
    perplexity = math.exp(np.average(here[text], weights=tokens[text]))
    answers = f"{np.mean(found[question]):.1%}".replace("%", " %")
    if position == 0:
        return f"{perplexity:.4f}", "", answers, f"{np.mean(here[question]):.4f}"
    change = [100 * math.expm1(value) for value in interval((here - start)[text], tokens[text])]
    lost, gained = np.sum(found_there[question] & ~found[question]), np.sum(found[question] & ~found_there[question])
    answers += f", {lost} lost" * bool(lost) + f", {gained} gained" * bool(gained)
    of_answer = interval((here - start)[question], tokens[question])
    return (f"{perplexity:.4f}", "{:+.3f} % ({:+.3f} … {:+.3f})".format(*change), answers,
            "{:+.4f} ({:+.4f} … {:+.4f})".format(*of_answer))


def table(models, plugin):
    yield "| model | begins at | angles | perplexity | its change (95 %) | right answers | -ln p of an answer's token, or its change (95 %) |"
    yield "|---|---|---|---|---|---|---|"
    for case in models:
        with concurrent.futures.ThreadPoolExecutor() as both:
            sides = dict(zip(("float32", "exact"), both.map(read, [case] * 2, [{}, {"GGML_BACKEND_PATH": str(plugin)}])))
        for position in POSITIONS:
            for name, readings in sides.items():
                columns = (case.name, f"{position:,}".replace(",", " "), name, *cells(readings, position, case.texts))
                yield f"| {' | '.join(columns)} |"
    yield ""
    yield generated.provenance()


def cases(options, folder):
    """Models as they are, then the small one as people use it further than it was trained: with a table for four times that."""
    yield Case("tiny-512", TINY, 24, 511, 60, 511)
    if options.smollm2:
        yield Case("SmolLM2-135M", harness.smollm2(), 4, 4000, 12, 800)
    for method in ("yarn", "mrrope-pro"):
        path = pathlib.Path(folder) / f"tiny-512-{method}.gguf"
        harness.run(options.mrrope, "extend", TINY, "-c", "2048", "--method", method, "-o", path)
        yield Case(f"tiny-512, {method} x4", path, 16, 1023, 30, 1023)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--smollm2", action="store_true")
    parser.add_argument("--plugin", default=ROOT / "build/release/libggml-mrrope.so")
    parser.add_argument("--mrrope", default=ROOT / "build/release/mrrope")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for line in table(cases(options, folder), options.plugin):
            print(line, flush=True)  # the next takes minutes
            lines.append(line + "\n")
    if options.write:
        generated.renew(DOCUMENT, MARKS, "".join(lines))


if __name__ == "__main__":
    main()
