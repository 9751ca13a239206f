#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What mrrope probe calls servers whose table is known: a confusion table (docs/probe.md).

    tools/probe_study.py build/release/mrrope --servers 200 -o build/probe_study

Starts llama-server again and again on the small model: a method, a factor, types of the cache and a quantisation of the
weights by chance (seeded), and asks `mrrope probe --only table` with the weights of tests/models/tiny-512.gguf. One line
per server in FOLDER/servers.jsonl; what is there is not asked again, so that a study that was stopped goes on."""
import argparse
import collections
import json
import os
import pathlib
import random
import socket
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "tests" / "models" / "tiny-512.gguf"
METHODS = ["none", "linear", "ntk", "yarn", "yarn-rotations", "mrrope-uni", "mrrope-pro", "mrrope-mirror", "mrrope-power:p=2"]
FACTORS = [2, 3, 4, 6, 8, 16]
CACHES = ["f16", "f16", "q8_0", "q4_0"]
WEIGHTS = ["same", "same", "Q4_0", "Q4_1"]
TRAINED = 512
NEAR = 0.05  # a factor this near the range that was found is the server's


def draw(index):
    chance = random.Random(f"probe {index}")
    method = chance.choice(METHODS)
    return {"index": index, "method": method, "factor": 1 if method == "none" else chance.choice(FACTORS),
            "keys": chance.choice(CACHES), "values": chance.choice(CACHES), "weights": chance.choice(WEIGHTS)}


def served_file(args, case):
    """The GGUF to serve: the weights as drawn, with the plan written by mrrope extend."""
    weights = MODEL
    if case["weights"] != "same":
        weights = args.output / f"{case['weights']}.gguf"
        if not weights.exists():
            subprocess.run([args.llama / "llama-quantize", "--allow-requantize", MODEL, weights, case["weights"]],
                           check=True, capture_output=True)
    if case["method"] == "none":
        return weights
    extended = args.output / f"extended-{args.shard[0]}.gguf"
    extended.unlink(missing_ok=True)
    subprocess.run([args.mrrope, "extend", weights, "--method", case["method"], "-c", str(case["factor"] * TRAINED), "-o", extended],
                   check=True, capture_output=True)
    return extended


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(args, case):
    port = free_port()
    command = [args.llama / "llama-server", "-m", served_file(args, case), "--port", str(port), "-np", "1", "-t", "1", "-fa", "on",
               "-c", str(max(2, case["factor"]) * TRAINED), "-ctk", case["keys"], "-ctv", case["values"]]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    try:
        for _ in range(300):
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).status == 200:
                    break
            except OSError:
                time.sleep(0.1)
        start = time.monotonic()
        asked = subprocess.run([args.mrrope, "probe", f"http://127.0.0.1:{port}", "-m", MODEL, "--only", "table", "--json",
                                "--table-tokens", str(args.table_tokens), "--threads", str(args.threads), "--fail-on", "never"], capture_output=True, text=True)
        if not asked.stdout:
            raise SystemExit(f"{case}: {asked.stderr}")
        answer = json.loads(asked.stdout)
    finally:
        server.kill()
        server.wait()
    table = answer["table"] or {"verdict": "unclear", "name": "", "why": answer["missing"].get("table", "")}
    return case | {"verdict": table["verdict"], "name": table["name"], "method_found": table.get("method"), "factor_found": table.get("factor"),
                   "factor_low": table.get("factor_low"), "factor_high": table.get("factor_high"), "tied": table.get("tied", []),
                   "cache_found": table.get("cache_type"), "why": table.get("why"), "requests": answer["requests"],
                   "seconds": round(time.monotonic() - start, 1)}


def is_right(row):
    if row["method_found"] != row["method"].partition(":")[0]:
        return False
    if row["method"] == "none":
        return True
    return row["factor_low"] * (1 - NEAR) <= row["factor"] <= row["factor_high"] * (1 + NEAR)


def report(rows):
    """A row per method: named right, named wrong, tied (with the truth among them or not), none, unclear."""
    names = ["right", "wrong", "tied", "none", "unclear"]
    count = collections.defaultdict(collections.Counter)
    for row in rows:
        what = row["verdict"]
        if what == "named":
            what = "right" if is_right(row) else "wrong"
        for key in (row["method"], "weights " + row["weights"], f"cache {'f16' if row['keys'] == row['values'] == 'f16' else 'quantised'}", "all"):
            count[key][what] += 1
    print("| servers | " + " | ".join(["named right", "named wrong", "tied", "none of these", "cannot tell"]) + " |")
    print("|---|" + "---:|" * len(names))
    for key in [*METHODS, "weights same", "weights Q4_0", "weights Q4_1", "cache f16", "cache quantised", "all"]:
        if key in count:
            print(f"| {key} | " + " | ".join(str(count[key][name]) for name in names) + " |")
    seconds = sorted(row["seconds"] for row in rows)
    print(f"\n{len(rows)} servers; median {seconds[len(seconds) // 2]} s, longest {seconds[-1]} s; most requests {max(row['requests'] for row in rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mrrope", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--servers", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--table-tokens", type=int, default=512, help="the longest prompt; half of what mrrope probe takes, and a third of the time")
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th server from the i-th on, so that n of these run beside each other")
    args = parser.parse_args()
    args.shard = [int(part) for part in args.shard.split("/")]
    args.mrrope = args.mrrope.resolve()
    prefix = subprocess.run([ROOT / "tools" / "llama_cpp", "--prefix"], check=True, capture_output=True, text=True).stdout.strip()
    args.llama = pathlib.Path(prefix) / "bin"
    args.output.mkdir(parents=True, exist_ok=True)
    file = args.output / "servers.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {row["index"] for row in rows}
    for index in range(args.shard[0], args.servers, args.shard[1]):
        if index in known:
            continue
        rows.append(ask(args, draw(index)))
        with file.open("a") as out:
            out.write(json.dumps(rows[-1]) + "\n")
    report(rows)


if __name__ == "__main__":
    main()
