#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what mrrope says of engines with the engines themselves, installed on a CPU.

    tools/verify_engines.py                      # the pinned versions (tools/engine_env): CI's stage `engines`
    tools/verify_engines.py vllm sglang          # some of them
    tools/verify_engines.py --newest vllm        # the newest release: what has changed since ours was verified

For each engine one line: the version, how many cells (a config and a question about it) came out as predicted, and the
cells that did not. Exit status 1 if there are any. When a newest version passes, write it into tools/engine_env and
src/targets/hf_rules.cpp (`versions` and kVerified), and renew docs/engines.md with tools/engines_table.py.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRANSFORMERS = ["test_transformers.py", "test_targets.py", "test_transformers_traps.py", "test_families.py",
                "test_conformance.py", "test_sections.py"]
# environment of tools/engine_env: (package, beginning of its versions, adapter, tests)
ENGINES = {
    "transformers5": ("transformers", "5.", "transformers", [*TRANSFORMERS, "test_hf_configs.py"]),
    "transformers4": ("transformers", "4.", "transformers", TRANSFORMERS),
    "vllm": ("vllm", "", "vllm", ["test_conformance.py", "test_sections.py", "test_vllm.py"]),
    "sglang": ("sglang", "", "sglang", ["test_conformance.py", "test_sections.py", "test_sglang.py"]),
    "lmdeploy": ("lmdeploy", "", "lmdeploy", ["test_conformance.py"]),
    "exllamav3": ("exllamav3", "", "exllamav3", ["test_conformance.py"]),
    "mlx_lm": ("mlx-lm", "", "mlx_lm", ["test_conformance.py", "test_mlx_lm.py"]),
    "onnxruntime_genai": (
        "onnxruntime-genai", "", "onnxruntime_genai", ["test_conformance.py", "test_onnxruntime_genai.py"],
    ),
    "openvino": ("optimum-intel", "", "openvino", ["test_conformance.py"]),
    "mistralrs": ("mistralrs", "", None, ["test_mistralrs.py"]),
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help=f"of {', '.join(ENGINES)}; all by default")
    parser.add_argument("--newest", action="store_true", help="the newest release of each")
    args = parser.parse_args()
    unknown = [e for e in args.engines if e not in ENGINES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    total, wrong = 0, 0
    names = args.engines or list(ENGINES)
    with concurrent.futures.ThreadPoolExecutor(2) as two:  # most of the time is importing and waiting
        results = two.map(lambda name: verify(name, args.newest), names)
    for name, (good, bad, skipped, seconds, version) in zip(names, results):
        print(f"{name} {version}: {good} as predicted, {len(bad)} not, {seconds:.0f} s", flush=True)
        for cell in bad:
            print(f"  not: {cell}")
        for reason, count in skipped.items():
            print(f"  {count} skipped: {reason}")
        total, wrong = total + good, wrong + len(bad)
    print(f"{total} cells as predicted, {wrong} not")
    return int(wrong > 0)


def newest(package, beginning):
    """The newest release on the package index whose version begins so."""
    out = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", package], capture_output=True, text=True, check=True
    ).stdout
    versions = re.search(r"Available versions: (.*)", out).group(1).split(", ")
    return next(v for v in versions if v.startswith(beginning))


def verify(name, with_newest):
    """(cells as predicted, cells that are not, {reason: how many were skipped}, seconds, version)"""
    package, beginning, adapter, tests = ENGINES[name]
    environment = dict(os.environ, MRROPE_REQUIRE_ENGINES="1")
    version = "pinned"
    if with_newest:
        version = newest(package, beginning)
        environment |= {"ENGINE_VERSION": version, "MRROPE_ENGINE_NEWEST": "1"}
    if adapter:
        environment["MRROPE_ENGINE"] = adapter
    made = subprocess.run([ROOT / "tools/engine_env", name], env=environment, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return 0, [f"{package} {version} cannot be installed: {made.stderr[-2000:]}"], {}, 0, version
    python = made.stdout.strip()
    if not with_newest:
        version = Path(python).parents[1].name.split("-")[-2]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        files = [str(ROOT / "tests/engines" / t) for t in tests]
        run = subprocess.run([*command, *files], env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
        if not report.exists():
            return 0, [f"pytest did not run: {(run.stdout + run.stderr)[-2000:]}"], {}, 0, version
        suite = ElementTree.parse(report).getroot().find("testsuite")
    return (*outcomes(suite, run.returncode), float(suite.get("time")), version)


def outcomes(suite, status):
    good, bad, skipped = 0, [], {}
    for case in suite.iter("testcase"):
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        if failure is not None:
            bad.append(f"{case.get('name')}: {(failure.get('message') or '').splitlines()[0][:200]}")
        elif (skip := case.find("skipped")) is not None:
            reason = re.sub(r"\(rope_\w+.*", "", skip.get("message") or "")
            skipped[reason] = skipped.get(reason, 0) + 1
        else:
            good += 1
    if status not in (0, 1) and not bad:
        bad.append(f"pytest ended with status {status}")
    return good, bad, skipped


if __name__ == "__main__":
    sys.exit(main())
