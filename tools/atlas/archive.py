# SPDX-License-Identifier: MIT
"""All of it for others: records, plans, campaign files and pages, in an archive whose bytes depend on nothing else.

    runs/CAMPAIGN/MODEL/MEASURE/PLAN/SHARD/   run folders, as `mrrope compare` reads them; without this machine's paths
    plans/CAMPAIGN/…                          plan files
    campaigns/atlas, docs/results             what was asked, and what came of it
"""
import gzip
import io
import json
import pathlib
import tarfile

from . import ROOT
from .records import folders_of, words_of

TREE = ("campaigns/atlas", "docs/results")


def files_of(runs, data):
    """{name in the archive: bytes}."""
    found = {}
    for path in map(pathlib.Path, runs):
        for folder in folders_of([path]):
            place = pathlib.PurePosixPath("runs", path.resolve().name, *[p for p in folder.relative_to(path).parts if p != "runs"])
            info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            info["command"] = [pathlib.Path(info["command"][0]).name, *words_of(info["command"], data)]
            found[f"{place}/run.json"] = (json.dumps(info, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
            found[f"{place}/records.jsonl"] = (folder / "records.jsonl").read_bytes()
        for plan in sorted((path / "plans").rglob("*.json")):
            found[str(pathlib.PurePosixPath("plans", path.resolve().name, plan.relative_to(path / "plans")))] = plan.read_bytes()
    for folder in TREE:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file():
                found[str(file.relative_to(ROOT))] = file.read_bytes()
    return found


def write(out, runs, data):
    """The same files give the same bytes."""
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in sorted(files_of(runs, data).items()):
            entry = tarfile.TarInfo(f"mrrope-atlas/{name}")
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
