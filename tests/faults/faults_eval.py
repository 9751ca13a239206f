#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets every call that touches a file go wrong once while a benchmark fills a run folder:

    faults_eval.py MRROPE INJECT_LIBRARY [--every N]

As faults_everywhere.py, with other things to hold, for a run folder grows line by line. After each fault:

- every complete line of records.jsonl is the record of a sample, and none is there twice;
- status 0 is only said of a complete run;
- the same command, asked again, completes the run, and asks the server for what is missing only."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import answering_server  # noqa: E402  pylint: disable=wrong-import-position

FAULTS = ["ENOSPC", "EIO", "EINTR", "EACCES", "short", "kill"]
SAMPLES = 3


def records(folder):
    """{key: record without times} of the complete lines, and what is wrong with them."""
    path = folder / "run/records.jsonl"
    found = {}
    for line in path.read_bytes().split(b"\n")[:-1] if path.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:
            return found, f"a complete line is no JSON: {line[:80]!r}"
        record.pop("seconds", None)
        if record["key"] in found:
            return found, f"a record is there twice: {record['key']}"
        found[record["key"]] = record
    return found, ""


class Bench:
    def __init__(self, program, inject, url, place):
        self.words = [program, "niah", "--endpoint", url, "--model", "m", "--lengths", "1k", "--depths", str(SAMPLES), "-o", "run", "--json"]
        self.inject, self.place = inject, place
        folder = self.fresh("reference")
        done = self.run(folder, FAULT_LOG=str(place / "calls"))
        assert done.returncode == 0, done.stderr
        self.calls = int((place / "calls").read_text())
        self.all, problem = records(folder)
        assert len(self.all) == SAMPLES and not problem, problem

    def fresh(self, name):
        folder = self.place / name
        folder.mkdir()
        return folder

    def run(self, folder, **environment):
        preload = {"LD_PRELOAD": self.inject} if environment else {}
        return subprocess.run(self.words, cwd=folder, capture_output=True, env=os.environ | preload | environment, timeout=60, check=False)

    def try_fault(self, call, fault):
        folder = self.fresh(f"{call}-{fault}")
        log = self.place / f"{call}-{fault}.log"
        done = self.run(folder, FAULT_AT=str(call), FAULT=fault, FAULT_LOG=str(log))
        reached = log.read_text() if log.exists() else "not reached"
        problem = self.look_at(folder, done, fault)
        shutil.rmtree(folder)
        log.unlink(missing_ok=True)
        return f"call {call} ({reached}) {fault}: {problem}" if problem else ""

    def look_at(self, folder, done, fault):
        if done.returncode < 0 and fault != "kill":
            return f"ended by signal {-done.returncode}: {done.stderr.decode()}"
        found, problem = records(folder)
        if problem or not found.items() <= self.all.items():
            return problem or "a record is not what it is without faults"
        if done.returncode == 0 and found != self.all:
            return "status 0, but the run is not complete"
        again = self.run(folder)
        if again.returncode != 0:
            return f"the same command fails: {again.stderr.decode()}"
        complete, problem = records(folder)
        if problem or complete != self.all:
            return problem or f"the same command leaves {len(complete)} records"
        others = [p.name for p in (folder / "run").iterdir() if p.name not in ("run.json", "records.jsonl") and not re.search(r"\.tmp$", p.name)]
        return f"left behind: {others}" if others else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mrrope")
    parser.add_argument("inject")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    program = str(pathlib.Path(options.mrrope).resolve().with_name("mrrope-eval"))  # calls of one process are counted
    with answering_server.running() as url, tempfile.TemporaryDirectory() as place, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bench = Bench(program, os.path.abspath(options.inject), url, pathlib.Path(place))
        tries = [(call, fault) for i, fault in enumerate(FAULTS) for call in range(1 + i % options.every, bench.calls + 1, options.every)]
        problems = [problem for problem in pool.map(lambda t: bench.try_fault(*t), tries) if problem]
    print(f"eval {bench.calls} calls x {len(FAULTS)} faults: {len(tries)} tried, {len(problems)} problems")
    print("\n".join(problems[:40]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
