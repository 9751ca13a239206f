#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What mrrope probe says of llama-server in each of the ways people start it: the table of docs/probe.md.

    tools/probe_cases.py build/release/mrrope -o build/probe_cases
    tools/probe_cases.py build/release/mrrope -o build/probe_cases --model SmolLM2.Q8_0.gguf --other SmolLM2.Q4_1.gguf --table-tokens 256

--other: a file of the same model with other weights (a quantisation, a finetune), served where the case says so; the model
is what mrrope knows. A line per case in FOLDER/cases.jsonl; what is there is not asked again. The plug-in is asked where
build/release has one.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import subprocess
import time
import urllib.request

from probe_study import MODEL, ROOT, free_port


def cases(args):
    """Name, what to serve (words for llama-server, environment), what it has to be called."""
    trained = args.trained

    def flags(kind, factor):
        length = trained * factor
        return ["-c", min(length, 4 * trained), "--rope-scaling", kind, "--rope-scale", factor, "--yarn-orig-ctx", trained,
                "--override-kv", f"llama.context_length=int:{length}"]

    def extended(method, factor=4):
        path = args.output / f"{args.model.stem}-{method}-x{factor}.gguf"
        if not path.exists():
            subprocess.run([args.mrrope, "extend", args.model, "--method", method, "-c", str(trained * factor), "-o", path],
                           check=True, capture_output=True)
        return path

    model, short = args.model, ["-c", trained]
    yield "plain", model, short, {}, ("none", 1)
    for factor in (2, 4, 16):
        yield f"--rope-scaling yarn, x{factor}", model, flags("yarn", factor), {}, ("yarn", factor)
    yield "--rope-scaling linear, x4", model, flags("linear", 4), {}, ("linear", 4)
    yield "--rope-freq-base, 4 times", model, [*short, "--rope-freq-base", 4 * args.base], {}, ("ntk", 4 ** (1 - 1 / args.pairs))
    for method in ("mrrope-pro", "mrrope-uni", "yarn-rotations"):
        yield f"factor tensor of {method} x4", extended(method), ["-c", 4 * trained], {}, (method, 4)
    # With a factor tensor, attn_factor is what cosines and sines are multiplied by: 1 + 0.1 ln 4, and 5 % more
    scale = 1.05 * (1 + 0.1 * math.log(4))
    yield ("mrrope-pro x4, attention factor + 5 %", extended("mrrope-pro"),
           ["-c", 4 * trained, "--override-kv", f"llama.rope.scaling.attn_factor=float:{scale:.6f}"], {}, ("mrrope-pro", 4, 0.05))
    # llama.cpp computes this factor anew where it runs YaRN, and the flag changes nothing
    yield "yarn x4, --yarn-attn-factor 1.05", model, [*flags("yarn", 4), "--yarn-attn-factor", 1.05], {}, ("yarn", 4)
    for kind in ("q8_0", "q4_0"):
        yield f"mrrope-pro x4, cache {kind}", extended("mrrope-pro"), ["-c", 4 * trained, "-fa", "on", "-ctk", kind, "-ctv", kind], {}, ("mrrope-pro", 4)
    sidecar = args.output / "sidecar"
    if not sidecar.exists():
        subprocess.run([args.mrrope, "extend", args.model, "-c", str(4 * trained), "--sidecar", "-o", sidecar], check=True, capture_output=True)
    yield "sidecar of mrrope-pro x4", sidecar / "serve.sh", [], {"PATH": f"{args.llama}:{os.environ['PATH']}"}, ("mrrope-pro", 4)
    if args.plugin.exists():
        plan = args.output / "plan.json"
        plan.write_bytes(subprocess.run([args.mrrope, "plan", args.model, "-c", str(4 * trained), "--method", "mrrope-uni", "--json"],
                                        check=True, capture_output=True).stdout)
        yield ("plug-in, mrrope-uni x4", model,
               ["-c", 4 * trained, "-dev", "MRROPE", "-ngl", 0, "--override-kv", f"llama.context_length=int:{4 * trained}"],
               {"GGML_BACKEND_PATH": str(args.plugin), "MRROPE_PLAN": str(plan)}, ("mrrope-uni", 4))
    yield "mrrope-pro x4, context shift on", extended("mrrope-pro"), ["-c", 4 * trained, "--context-shift"], {}, ("mrrope-pro", 4)
    yield "mrrope-pro x4, -c at half of it", extended("mrrope-pro"), ["-c", 2 * trained], {}, ("mrrope-pro", 4)
    if args.other:
        yield "plain, other weights", args.other, short, {}, ("none", 1)
        yield "yarn x4, other weights", args.other, flags("yarn", 4), {}, ("yarn", 4)


@contextlib.contextmanager
def serving(args, served, words, env):
    port = free_port()
    program = [served] if served.suffix == ".sh" else [args.llama / "llama-server", "-m", served]
    command = [str(word) for word in [*program, *words, "--port", port, "-np", 1, "-t", 1]]
    with open(args.output / "server.log", "ab") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "OMP_WAIT_POLICY": "passive", **env})
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).status == 200:
                    break
            if server.poll() is not None:
                raise SystemExit(f"llama-server ended: {' '.join(command)}; see {args.output}/server.log")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def ask(args, name, served, words, env, truth):
    with serving(args, served, words, env) as url:
        start = time.monotonic()
        command = [args.mrrope, "probe", url, "-m", args.model, "--json", "--fail-on", "never", "--threads", args.threads,
                   *(["--table-tokens", args.table_tokens] if args.table_tokens else []), *(["--only", "table"] if args.table_only else [])]
        asked = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if not asked.stdout:
            raise SystemExit(f"{name}: {asked.stderr}")
        answer = json.loads(asked.stdout)
    table, length = answer["table"], answer["length"] or {}
    row = {"case": name, "truth": truth, "seconds": round(time.monotonic() - start, 1), "requests": answer["requests"],
           "codes": sorted({finding["code"] for finding in answer["findings"]}), "verdict": "unclear", "name": ""}
    if table:
        row |= {key: table[key] for key in ("verdict", "name", "method", "factor_low", "factor_high", "scale_off", "cache_type")}
    return row | {"length": [length.get(key) for key in ("advertised", "accepted", "read")]}


def judgement(row):
    if row["verdict"] != "named":
        return row["verdict"]
    method, factor, *scale = row["truth"]
    right = row["method"].partition(":")[0] == method and (method == "none" or row["factor_low"] * 0.97 <= factor <= row["factor_high"] * 1.03)
    right = right and abs((row["scale_off"] or 0) - (scale[0] if scale else 0)) < 0.01
    return "right" if right else "WRONG"


def report(rows):
    print("| llama-server | called | | advertised, accepted, read | findings | seconds |\n|---|---|---|---|---|---:|")
    for row in rows:
        called = row["name"] + (f", scale {100 * row['scale_off']:+.1f} %" if row.get("scale_off") else "")
        called += f", cache {row['cache_type']}" if row.get("cache_type") else ""
        length = ", ".join("-" if tokens is None else str(tokens) for tokens in row["length"])
        print(f"| {row['case']} | {called} | {judgement(row)} | {length} | {' '.join(row['codes']) or '-'} | {row['seconds']:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mrrope", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, default=MODEL)
    parser.add_argument("--other", type=pathlib.Path)
    parser.add_argument("--table-tokens", type=int)
    parser.add_argument("--table-only", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    args.mrrope, args.model = args.mrrope.resolve(), args.model.resolve()
    prefix = subprocess.run([ROOT / "tools" / "llama_cpp", "--prefix"], check=True, capture_output=True, text=True).stdout.strip()
    args.llama, args.plugin = pathlib.Path(prefix) / "bin", ROOT / "build" / "release" / "libggml-mrrope.so"
    spec = json.loads(subprocess.run([args.mrrope, "plan", args.model, "--factor", "2", "--json"], check=True, capture_output=True).stdout)["spec"]
    group = spec["groups"][0] if "groups" in spec else spec
    args.trained, args.base, args.pairs = spec["context_trained"], group["base"], group["rotary_dim"] // 2
    args.output = args.output.resolve()
    args.output.mkdir(parents=True, exist_ok=True)
    file = args.output / "cases.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {row["case"] for row in rows}
    for case in cases(args):
        if case[0] in known:
            continue
        rows.append(ask(args, *case))
        with file.open("a") as out:
            out.write(json.dumps(rows[-1]) + "\n")
    report(rows)


if __name__ == "__main__":
    main()
