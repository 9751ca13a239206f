#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a table that grows with the text does for perplexity and passkeys (docs/results/climb.md), and which ratio its rungs want.

    tools/climb_study.py texts build/climb                                      six unrelated sources, from MRROPE_DATA and Debian
    tools/climb_study.py run build/climb tests/models/tiny-512.gguf --factor 16 all methods over all sources; again to go on
    tools/climb_study.py page build/climb                                       renews the tables of the page
    tools/climb_study.py page                                                   from the records in docs/results/climb

Texts are what Debian 12 installs or `apt-get download` brings (law: licences; code: Python's library; a manual, a dictionary) and
the novel and the mathematics of MRROPE_DATA; each is cut from its first third on. Records are those of mrrope eval.
"""
import argparse
import gzip
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from generated import processor, renew  # noqa: E402  pylint: disable=wrong-import-position

PAGE = ROOT / "docs/results/climb.md"
RECORDS = ROOT / "docs/results/climb"
MARKS = ("<!-- tables: tools/climb_study.py page -->\n", "<!-- end of tables -->\n")
CLIMB = "climb:{}mrrope-pro"
METHODS = ["none", "yarn", "mrrope-pro", *(CLIMB.format(r) for r in ("", "ratio=1.41:", "ratio=1.19:")), "climb:yarn", "climb:mrrope-uni",
           "climb:mrrope-power:p=2", "climb:mrrope-power:p=3"]
LICENCES = ["Artistic", "MPL-2.0", "GPL-3", "Apache-2.0", "GFDL-1.3", "LGPL-2.1", "CC0-1.0", "MPL-1.1", "GPL-2"]
MODULES = ["argparse", "ast", "calendar", "configparser", "datetime", "decimal", "difflib", "doctest", "inspect", "pathlib", "tarfile",
           "typing"]
T95 = [math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]  # Student's t, 97.5 %, by degrees of freedom


# ---------------------------------------------------------------------------------------------------------------------- texts


def packaged(package, path):
    """A file of a Debian package, which is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["dpkg-deb", "-x", next(pathlib.Path(folder).glob("*.deb")), "x"], cwd=folder, check=True)
        with gzip.open(pathlib.Path(folder) / "x" / path) as file:
            return file.read()


def texts(folder):
    data = pathlib.Path(os.environ.get("MRROPE_DATA", ROOT / "../shared/data"))
    library = pathlib.Path("/usr/lib/python3.11")
    sources = {
        "novel.md": lambda: (data / "novels/the-moonstone.md").read_bytes(),
        "mathematics.tex": lambda: (data / "math/chow.tex").read_bytes(),
        "manual.txt": lambda: packaged("debian-policy", "usr/share/doc/debian-policy/policy.txt.gz"),
        "law.txt": lambda: b"\n".join((pathlib.Path("/usr/share/common-licenses") / name).read_bytes() for name in LICENCES),
        "code.py": lambda: b"\n".join((library / f"{name}.py").read_bytes() for name in MODULES),
        "dictionary.txt": lambda: packaged("dict-gcide", "usr/share/dictd/gcide.dict.dz"),
    }
    (folder / "texts").mkdir(parents=True, exist_ok=True)
    for name, read in sources.items():
        text = read().replace(b"\r", b"")
        begin = text.index(b"\n", len(text) // 3) + 1
        (folder / "texts" / name).write_bytes(text[begin:begin + 400_000])


# ---------------------------------------------------------------------------------------------------------------------- runs


def run(args):
    """Perplexities, each length read anew by a ladder of servers' rungs beside them; then passkeys."""
    program = [os.environ.get("MRROPE_BIN", ROOT / "build/release/mrrope")]
    model, factor = args.model, args.factor
    out = args.folder / f"{model.stem}-x{factor}"
    length = subprocess.run([*program, "inspect", model, "--json"], capture_output=True, text=True, check=True).stdout
    trained = json.loads(length)["context_trained"]
    target = trained * factor
    doubles = [trained * 2**k for k in range(int(math.log2(factor)) + 1)]
    out.mkdir(parents=True, exist_ok=True)
    ladder = out / "ladder.json"
    ladder.write_bytes(subprocess.run([*program, "plan", model, "-c", str(target), "--method", "climb:ratio=2:mrrope-pro", "--json"],
                                      capture_output=True, check=True).stdout)
    common = ["-m", model, "--methods", ",".join(args.methods.split(",") if args.methods else METHODS), "--factor", str(factor),
              "--ladder", ladder, "-o", out / "ppl"]
    sources = args.sources.split(",") if args.sources else sorted(path.name for path in (args.folder / "texts").iterdir())
    subprocess.run([*program, "eval", "ppl", *common, *(word for name in sources for word in ("-f", args.folder / "texts" / name)),
                    "--lengths", ",".join(map(str, doubles))], check=True)
    if args.samples:
        subprocess.run([*program, "eval", "infinitebench", "-m", model, "--tasks", "passkey", "--methods",
                        "none,yarn,mrrope-pro,climb:mrrope-pro,climb:ratio=1.41:mrrope-pro", "--factor", str(factor), "--ladder", ladder,
                        "--lengths", ",".join(map(str, doubles)), "--samples", str(args.samples), "-o", out / "passkey"], check=True)


# ---------------------------------------------------------------------------------------------------------------------- page


def records_of(folder):
    """{model and factor: [records]}"""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        found[path.stem] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return found


def collect(folder):
    """The records of runs, without what the page does not need, in the tree."""
    RECORDS.mkdir(exist_ok=True)
    for out in sorted(path for path in folder.iterdir() if (path / "ppl").is_dir()):
        lines = []
        for part in ("ppl", "passkey"):
            path = out / part / "records.jsonl"
            for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
                record = json.loads(line)
                kept = {key: record[key] for key in ("method", "factor", "rung", "task", "document") if key in record}
                if part == "ppl":
                    kept |= {"document": pathlib.Path(record["document"]).name, "points": record["points"],
                             "bucket_nll": [round(value, 4) for value in record["bucket_nll"]], "seconds": round(record["seconds"], 1)}
                else:
                    answer = record["answer"]
                    kept |= {"length": answer["length"], "score": answer["score"], "right": answer.get("right")}
                lines.append(json.dumps(kept, separators=(",", ":")))
        if not lines:
            continue
        (RECORDS / f"{out.name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        shutil.copyfile(out / "ppl/run.json", RECORDS / f"{out.name}.run.json")


def segments(records):
    """{(method, source): [-ln p a token by segment]}, the segments between doubles of the trained length, and those."""
    out, doubles = {}, sorted({p["length"] for r in records if r["task"] == "ppl" for p in r["points"]})
    for record in (r for r in records if r["task"] == "ppl"):
        at = {p["length"]: p["nll"] for p in record["points"]}
        row = out.setdefault(("read anew" if record.get("rung") else record["method"], record["document"]), [None] * len(doubles))
        for i, end in enumerate(doubles):
            begin = doubles[i - 1] if i else 0
            if end not in at:
                continue
            inside = record["bucket_nll"][begin // 256:end // 256]  # what the stretches from `begin` on say
            row[i] = sum(inside) / (end - begin - (0 if i else 1))
    return out, doubles


def compared(a, b):
    """Perplexity of a less that of b in percent, and half of its 95 % interval by source."""
    d = [x - y for x, y in zip(a, b)]
    mean = statistics.fmean(d)
    half = T95[len(d) - 1] * statistics.stdev(d) / math.sqrt(len(d)) if len(d) > 1 else math.inf
    return 100 * math.expm1(mean), 100 * half


def ppl_table(name, records):
    rows, doubles = segments(records)
    methods = list(dict.fromkeys(method for method, _ in rows))
    sources = sorted({source for _, source in rows})
    complete = [s for s in sources if all((m, s) in rows and None not in rows[m, s] for m in methods)]
    if not complete:
        return ""
    names = [f"0 to {doubles[0]}", *(f"to {end}" for end in doubles[1:])]
    lines = [f"### {name}: perplexity, {len(complete)} sources", "",
             "Perplexity by segment of the text, mean over sources of -ln p; in brackets the difference to the better of the static yarn and"
             " mrrope-pro in percent, ± half of the 95 % interval by source.", "",
             "| |" + "|".join(names) + "|", "|---" * (len(names) + 1) + "|"]
    for method in methods:
        cells = []
        for i in range(len(doubles)):
            mine = [rows[method, s][i] for s in complete]
            cell = f"{math.exp(statistics.fmean(mine)):.3f}"
            static = min((m for m in ("yarn", "mrrope-pro") if m in methods),
                         key=lambda m, i=i: statistics.fmean(rows[m, s][i] for s in complete), default=None)
            if static and method not in ("yarn", "mrrope-pro"):
                difference, half = compared(mine, [rows[static, s][i] for s in complete])
                cell += f" ({difference:+.1f} ± {half:.1f})" if half < 1000 else f" ({difference:+.1f})"
            cells.append(cell)
        lines.append(f"| {method} |" + "|".join(cells) + "|")
    return "\n".join([*lines, "", "Sources: " + ", ".join(complete) + ".", ""])


def passkey_table(name, records):
    answers = [r for r in records if r["task"] != "ppl"]
    if not answers:
        return ""
    lengths = sorted({r["length"] for r in answers})
    methods = list(dict.fromkeys("read anew" if r.get("rung") else r["method"] for r in answers))
    cells = {}
    for r in answers:
        cells.setdefault(("read anew" if r.get("rung") else r["method"], r["length"]), []).append(r)
    lines = [f"### {name}: passkeys found", "",
             f"Of {len(answers) // len(methods) // len(lengths)} prompts a cell (InfiniteBench's); in brackets -ln p of the right answer a token.",
             "", "| |" + "|".join(map(str, lengths)) + "|", "|---" * (len(lengths) + 1) + "|"]
    for method in methods:
        row = []
        for length in lengths:
            found = cells.get((method, length), [])
            nll = sum(r["right"]["nll"] for r in found if r["right"]) / max(1, sum(r["right"]["tokens"] for r in found if r["right"]))
            row.append(f"{sum(r['score'] for r in found):.0f} ({nll:.3f})" if found else "")
        lines.append(f"| {method} |" + "|".join(row) + "|")
    return "\n".join([*lines, ""])


def measured():
    """Machine, engine, version and day of each run, as its records say."""
    lines = []
    for path in sorted(RECORDS.glob("*.run.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        lines.append(f"- {path.name.removesuffix('.run.json')}: {run['machine']}, {run['engine']}, mrrope {run['version']}, {run['started'][:10]}")
    return "\n".join(lines)


def page(folder):
    if folder:
        collect(folder)
    parts = [table(name, records) for name, records in records_of(RECORDS).items() for table in (ppl_table, passkey_table)]
    renew(PAGE, MARKS, "\n" + "\n".join(part for part in parts if part) + f"\n{measured()}\n\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("texts", "run", "page"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=pathlib.Path, nargs="?" if name == "page" else None)
        if name == "run":
            command.add_argument("model", type=pathlib.Path)
            command.add_argument("--factor", type=int, required=True)
            command.add_argument("--methods", help="default: all of the study")
            command.add_argument("--sources", help="names of texts, by commas; default: all")
            command.add_argument("--samples", type=int, default=0, help="passkeys a length; 0: none")
    args = parser.parse_args()
    {"texts": lambda: texts(args.folder), "run": lambda: run(args), "page": lambda: page(args.folder)}[args.command]()


if __name__ == "__main__":
    main()
