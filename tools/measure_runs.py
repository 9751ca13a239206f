#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What large runs cost: the numbers of docs/scale.md.

    tools/measure_runs.py build/release/mrrope [RECORDS [FOLDER]]

Makes RECORDS records (default 1,000,000) of two plans, 13 tasks and 6 lengths in 16 shards, one record in a hundred in two
shards, and prints seconds and peak memory of merge, of compare and report (which read the whole run) and of export (which reads
it twice). FOLDER: where (default: the temporary one; 2 KB per record are needed).
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

SHARDS = 16
TASKS = [f"niah_{kind}" for kind in ("single_1", "single_2", "single_3", "multikey_1", "multikey_2", "multikey_3",
                                     "multivalue", "multiquery")] + ["vt", "cwe", "fwe", "qa_1", "qa_2"]
LENGTHS = [4096 << i for i in range(6)]
PLANS = [("yarn", 4), ("mrrope-pro", 4)]
INFO = {"schema": "mrrope.run/1", "task": "ruler", "model": "m", "model_hash": "ab" * 16, "architecture": "llama",
        "context_trained": 8192, "engine": "vLLM", "served": False, "version": "0.1.0", "machine": "", "started": "", "command": []}


def record(number, rng):
    method, factor = PLANS[number % 2]
    sample = number // 2
    task, length = TASKS[sample % 13], LENGTHS[sample // 13 % 6]
    index = sample // 78
    value = str(rng.randrange(1000000, 9999999))
    answer = {"length": length, "index": index, "depth": rng.random(), "prompt_tokens": length - 140, "new_tokens": 24,
              "text": f" The special magic number for long-needle mentioned in the provided text is {value}.",
              "finish": "stop", "references": [value], "score": float(rng.random() < 0.8), "rotation": "0123456789abcdef"}
    return {"schema": "mrrope.record/1", "key": f"{number:032x}", "task": task, "method": method, "factor": factor,
            "document": f"{task} {length} #{index}", "document_hash": f"{sample:032x}", "answer": answer,
            "seconds": 1.25}


def write_shards(folder, count):
    rng = random.Random(1)
    files = []
    for i in range(SHARDS):
        (folder / f"run-{i}").mkdir()
        (folder / f"run-{i}/run.json").write_text(json.dumps(INFO | {"settings": {}}))
        files.append(open(folder / f"run-{i}/records.jsonl", "w", encoding="utf-8", buffering=1 << 20))
    for number in range(count):
        line = json.dumps(record(number, rng), separators=(",", ":")) + "\n"
        files[number // 2 % SHARDS].write(line)
        if number % 100 == 0:
            files[(number // 2 + 1) % SHARDS].write(line)
    for file in files:
        file.close()


def timed(*command):
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command}: exit status {os.waitstatus_to_exitcode(status)}")
    print(f"{command[1]:8} {time.perf_counter() - start:8.1f} s {usage.ru_utime + usage.ru_stime:8.1f} s of processor "
          f"{usage.ru_maxrss / 1024:8.0f} MB", flush=True)
    return output


def main():
    program = pathlib.Path(sys.argv[1]).absolute()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as name:
        folder = pathlib.Path(name)
        write_shards(folder, count)
        bytes_total = sum(path.stat().st_size for path in folder.glob("*/records.jsonl"))
        print(f"{count} records, {bytes_total / count / 1.01:.0f} bytes each")
        shards = [folder / f"run-{i}" for i in range(SHARDS)]
        merged = json.loads(timed(program, "merge", *shards, "-o", folder / "run", "--json"))
        assert merged["records"] == count and merged["contradictions"] == 0, merged
        timed(program, "compare", folder / "run")
        timed(program, "report", folder / "run", "-o", folder / "page.html")
        timed(program, "export", folder / "run", "--lm-eval", folder / "out")


if __name__ == "__main__":
    main()
