#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The atlas of docs/results: from measured runs to pages (docs/results/README.md).

    tools/atlas.py collect RUN…                  run folders, or folders of campaigns, into docs/results/atlas
    tools/atlas.py pages                         the pages, and src/plan/evidence_table.h, from docs/results/atlas alone
    tools/atlas.py --check                       exit status 1 if the pages, or the verdicts, are not what the items say
    tools/atlas.py rerun --cells 10 --seed 1     cells at random, measured from scratch; exit status 1 if one does not agree
    tools/atlas.py archive OUT.tar.gz RUN…       all records, for others

Environment: MRROPE_BIN, the program (build/release/mrrope; --check needs it for the verdicts only, and says so where it is not
there); MRROPE_DATA, the texts (../shared/data).
"""
import argparse
import json
import os
import pathlib
import sys

from atlas import DATA, FRONT, ROOT, archive, compare, evidence, front_page, model_page, plan_text, records, rerun, theory
from atlas.cells import all_models
from atlas.items import Contradiction, Model, read_lines, write_lines

PROGRAM = os.environ.get("MRROPE_BIN", str(ROOT / "build" / "release" / "mrrope"))
TEXTS = os.environ.get("MRROPE_DATA", str(ROOT / ".." / "shared" / "data"))


def stored():
    return [Model.read(file.parent) for file in sorted(DATA.glob("*/model.json"))]


def model_file(model):
    return pathlib.Path(rerun.absolute(records.after(model.runs[0]["words"], "-m"), TEXTS))


def collect(asked):
    models = {model.name: model for model in stored()}
    touched = {}
    for folder in records.folders_of(asked.runs):
        model = records.add_run(models, folder, TEXTS)
        touched[model.name] = model
    for name, model in sorted(touched.items()):
        verdicts = list(compare.verdicts(model, PROGRAM))
        said = theory.analyzed(PROGRAM, model_file(model), model)
        model.write(DATA / name)  # only now: what did not work out changes nothing
        write_lines(DATA / name / "verdicts.jsonl", verdicts)
        (DATA / name / "theory.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {len(rerun.all_cells(model))} cells, {len(model.runs)} runs")
    return write_pages(asked)


def pages():
    """{path: text} of all that is made from the data."""
    models = all_models()
    return {FRONT: front_page.page(models), evidence.FILE: evidence.header(models), **{DATA / cells.name / "README.md": model_page.page(cells) for cells in models}}


def write_pages(_):
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


def check():
    wrong = [path for path, text in pages().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if pathlib.Path(PROGRAM).exists():
        for model in stored():
            lines = [json.loads(json.dumps(line)) for line in compare.verdicts(model, PROGRAM)]
            wrong += [] if lines == read_lines(DATA / model.name / "verdicts.jsonl") else [DATA / model.name / "verdicts.jsonl"]
            file = DATA / model.name / "theory.json"
            if not model_file(model).is_file():
                print(f"{model_file(model).name} is not here: its theory was not computed again")
            elif theory.analyzed(PROGRAM, model_file(model), model) != json.loads(file.read_text(encoding="utf-8")):
                wrong.append(file)
    else:
        print("no mrrope here (MRROPE_BIN): the verdicts were not computed again")
    for path in wrong:
        print(f"{path.relative_to(ROOT)} is not what the records say; tools/atlas.py renews it", file=sys.stderr)
    return 1 if wrong else 0


def rerun_cells(asked):
    bad = 0
    for model, cell in rerun.picked(stored(), asked.cells, asked.seed):
        again, same = rerun.measured_again(PROGRAM, model, cell, TEXTS)
        said = rerun.disagreement(model, cell, again, same)
        bad += bool(said)
        measure, task, length, plan, factor = cell
        where = "" if same else " (another machine or version)"
        print(f"{model.name}: {task or measure} at {length}, {plan_text(plan, factor)}: {said or 'agrees'}{where}", flush=True)
    return 1 if bad else 0


def main(words):
    if words == ["--check"]:
        return check()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("collect", help="runs into docs/results/atlas, and the pages")
    command.add_argument("runs", nargs="+", metavar="RUN")
    command.set_defaults(act=collect)
    commands.add_parser("pages", help="from docs/results/atlas").set_defaults(act=write_pages)
    command = commands.add_parser("rerun", help="cells at random")
    command.add_argument("--cells", type=int, default=10)
    command.add_argument("--seed", type=int, default=1)
    command.set_defaults(act=rerun_cells)
    command = commands.add_parser("archive", help="for others")
    command.add_argument("out", metavar="OUT.tar.gz")
    command.add_argument("runs", nargs="+", metavar="RUN")
    command.set_defaults(act=lambda asked: archive.write(asked.out, asked.runs, TEXTS))
    asked = parser.parse_args(words)
    try:
        return asked.act(asked)
    except (Contradiction, records.Unusable, RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
