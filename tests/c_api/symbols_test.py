# SPDX-License-Identifier: MIT
"""libmrrope_c.so shows the functions of symbols.txt and of mrrope/c.h, and nothing else: no C++, nothing of a library inside.

    symbols_test.py LIBRARY ROOT

A name that goes from the list, or changes what it means, is a new SOVERSION (docs/c-api.md).
"""
import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    library, root = sys.argv[1], pathlib.Path(sys.argv[2])
    header = (root / "include/mrrope/c.h").read_text(encoding="utf-8")
    abi = re.search(r"#define MRROPE_C_ABI (\d+)", header)[1]
    listed = (root / "tests/c_api/symbols.txt").read_text(encoding="utf-8").split()
    shown = [line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()]
    declared = re.findall(r"^MRROPE_C_API [\w* ]*?\**(\w+)\(", header, re.MULTILINE)
    problems = []
    nodes = {name for name in shown if name.startswith("MRROPE_")}  # one of the ABI, and one for each addition to it
    functions = [name.partition("@@") for name in shown if name not in nodes]
    if sorted(name for name, _, _ in functions) != sorted(listed) or {node for _, _, node in functions} != nodes:
        problems.append(f"the library shows {shown}, the list is {listed}")
    if any(node != f"MRROPE_{abi}" and not node.startswith(f"MRROPE_{abi}_") for node in nodes):
        problems.append(f"the library has nodes {nodes} of another ABI than {abi}")
    if sorted(declared) != sorted(listed):
        problems.append(f"mrrope/c.h declares {declared}, the list is {listed}")
    if f"[libmrrope_c.so.{abi}]" not in output("readelf", "-d", library):
        problems.append(f"the library is not libmrrope_c.so.{abi}, as MRROPE_C_ABI says")
    print("\n".join(problems) or f"{len(listed)} functions, and nothing else")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
