#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the generated part of docs/engines.md from the rules in src/targets/hf_rules.cpp.

    tools/engines_table.py build/release/hf_target_dump            # renew docs/engines.md
    tools/engines_table.py build/release/hf_target_dump --check    # exit 1 if it is not current

Every cell is a prediction: one config of a Llama per rope type, what each engine makes of it, and
how that differs from transformers 5.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import generated

DOCUMENT = Path(__file__).resolve().parents[1] / "docs/engines.md"
MARKS = "<!-- generated: tools/engines_table.py -->\n", "<!-- end -->\n"

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "head_dim": 128,
    "max_position_embeddings": 32768,
    "rope_theta": 500000.0,
}
PAIRS = 64
LONG = [1 + 3 * i / (PAIRS - 1) for i in range(PAIRS)]
ORIGINAL = {"original_max_position_embeddings": 8192}
TYPES = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.2, **ORIGINAL},
    "llama3": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **ORIGINAL},
    "longrope": {
        "rope_type": "longrope",
        "short_factor": [1.0] * PAIRS,
        "long_factor": LONG,
        "factor": 4.0,
        "attention_factor": 1.2,
        **ORIGINAL,
    },
}

HOW_TO_READ = """The name in brackets is what `--target` and `mrrope doctor` use. Lines that begin with a rope type are about the config of the table above:
8192, 32768, 131072, 1.2, 1.07417 and 1.13863 are its numbers, not limits of the engine. Of the lines that begin with "on", the first that
fits model and rope type decides; "other models" are all that no earlier line covers. M is `max_position_embeddings`, L is
`original_max_position_embeddings`.
"""


def main():
    dump = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        text = tables(dump, Path(folder))
    document = DOCUMENT.read_text(encoding="utf-8")
    renewed = generated.renewed(document, MARKS, text)
    if "--check" in sys.argv:
        if renewed != document:
            print(f"{DOCUMENT} is not current; run tools/engines_table.py {sys.argv[1]}")
        return int(renewed != document)
    DOCUMENT.write_text(renewed, encoding="utf-8")
    return 0


def ask(dump, *args):
    run = subprocess.run([dump, *map(str, args)], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def tables(dump, folder):
    engines = ask(dump, "engines")
    cells, notes = {}, {engine["name"]: [] for engine in engines}
    for kind, rope in TYPES.items():
        config = dict(LLAMA, rope_scaling=rope)
        if kind == "dynamic":
            config["max_position_embeddings"] = 8192  # it acts beyond this length only
        path = folder / f"{kind}.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        expected = ask(dump, "effective", "transformers5", path, 32768)
        plain = [500000.0 ** (-i / PAIRS) for i in range(PAIRS)]
        for engine in engines:
            found = ask(dump, "effective", engine["name"], path, 32768)
            cells[engine["name"], kind] = cell(found, expected, plain)
            new = [note for note in found["notes"] if note not in notes[engine["name"]]]
            notes[engine["name"]] += [f"{kind}: {note}" for note in new]
    path = folder / "plain.json"
    path.write_text(json.dumps(dict(LLAMA, max_position_embeddings=8192)), encoding="utf-8")
    for service in ask(dump, "deliver", "universal", path, 32768, "mrrope-pro")["services"]:
        cells[service["engine"], "universal"] = "yes" if service["served"] else "own file" if service["own_file"] else "no"
    return render(engines, cells, notes)


def cell(found, expected, plain):
    """What became of the config, against transformers 5."""
    if not found["loads"]:
        return "refused"
    ours, theirs = found["groups"][0], expected["groups"][0]
    if close(ours["inv_freq"], theirs["inv_freq"]):
        same_scale = abs(ours["attention_scale"] / theirs["attention_scale"] - 1) < 1e-6
        return "same" if same_scale else f"scale {ours['attention_scale']:.4f}"
    if not close(ours["inv_freq"], plain):
        return "other table"
    # A short list of ones is a plain table too; its attention scale gives it away
    return "ignored" if ours["attention_scale"] == 1 else "short list"


def close(a, b):
    return len(a) == len(b) and max(abs(x / y - 1) for x, y in zip(a, b)) < 1e-9


def render(engines, cells, notes):
    kinds = [*TYPES, "universal"]
    lines = [f"| engine | version | evidence | {' | '.join(kinds)} |", "|---" * (3 + len(kinds)) + "|"]
    for engine in engines:
        row = [engine["title"], engine["versions"], f"{engine['evidence']} {engine['verified']}".strip()]
        lines.append(f"| {' | '.join(row + [cells[engine['name'], kind] for kind in kinds])} |")
    lines += ["", "## Engine by engine", "", HOW_TO_READ]
    for engine in engines:
        lines += [f"### {engine['title']} (`{engine['name']}`)", ""]
        lines.append(f"{engine['versions']}, {engine['evidence']}: `{engine['source']}`.")
        if engine["models"]:
            lines.append(f"Run on {engine['verified']} with {', '.join(engine['models'].split())}; of other models, read or not at all.")
        if engine["remark"]:
            lines.append(engine["remark"])
        items = [f"- {note}" for note in notes[engine["name"]]]
        for row in engine["exceptions"]:
            models = ", ".join(row["models"].split()) or "other models"
            run = set(row["models"].split()) & set(engine["models"].split())
            where = f" (`{row['source']}`)" if row["source"] else "" if run or not row["checked"] else " (read, not run)"
            if not row["checked"]:
                where += ": not checked"
            items.append(f"- on {models}: it {row['says']}{where}")
        lines += ([""] + items if items else []) + [""]
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(main())
