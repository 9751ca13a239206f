#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts its table into docs/models.md: what `mrrope extend` writes for each family of tests/families and each engine.

    tools/families_table.py build/release/mrrope            renews what stands between the marks
    tools/families_table.py build/release/mrrope --check    exit status 1 if that is not what the program says

Nothing is written but docs/models.md: the commands are dry runs, to four times the trained length.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import generated

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "families"))
import families  # noqa: E402  pylint: disable=wrong-import-position

MARKS = "<!-- families -->\n", "<!-- end of families -->"
ENGINES = {"llama.cpp": "llama.cpp", "vLLM": "vllm", "SGLang": "sglang", "transformers": "transformers5"}
PLUG_IN = "commands of the plug-in"  # what extend says to type then


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    page = ROOT / "docs" / "models.md"
    text = page.read_text(encoding="utf-8")
    renewed = generated.renewed(text, MARKS, table(program))
    if "--check" in sys.argv:
        if renewed != text:
            print(f"{page} is not current; run tools/families_table.py {sys.argv[1]}")
        return int(renewed != text)
    page.write_text(renewed, encoding="utf-8")
    return 0


def table(program):
    rows = {}  # by maker and cells: families that fare alike share a row
    with tempfile.TemporaryDirectory() as folder:
        for family in families.FAMILIES.values():
            cells = cells_of(program, family, pathlib.Path(folder))
            maker, _, version = family["name"].partition(" ")
            rows.setdefault((maker, *cells), []).append(version)
    lines = [f"| family | {' | '.join([*ENGINES, 'Ollama'])} |", "|---" * (len(ENGINES) + 2) + "|"]
    lines += [f"| {' '.join([maker, ', '.join(filter(None, versions))]).strip()} | {' | '.join(cells)} |" for (maker, *cells), versions in rows.items()]
    return "\n".join(lines) + "\n"


def cells_of(program, family, folder):
    gguf, config = families.write_gguf(folder, family), families.write_config(folder, family)
    cells = [cell(program, gguf if engine == "llama.cpp" else config, engine) for engine in ENGINES.values()]
    return [*cells, "no" if cells[0] == "plug-in" else "as llama.cpp"]


def cell(program, model, engine):
    """What extend would write, by the plan that it takes without being told one."""
    done = extend(program, model, engine)
    if done.returncode != 0:
        return "any length" if "no table limits" in done.stderr else "plug-in" if PLUG_IN in done.stderr else "no"
    said = json.loads(done.stdout)
    if any("was not checked with" in note for note in said["notes"]):
        return "not checked"
    law, _, parameters = said["method"].partition(":")
    if law == "custom":
        return "YaRN"  # one YaRN in the place of the model's own, which is no YaRN of what it has
    words = {"mrrope-pro": "any table", "none": "any length", "yarn": "YaRN", "ntk": "NTK", "linear": "linear"}[law]
    return words + (", no scale" if law == "mrrope-pro" and parameters else "")


def extend(program, model, engine):
    command = [program, "extend", model, "--factor", "4", "--target", engine, "-o", f"{model}.longer", "--dry-run", "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
