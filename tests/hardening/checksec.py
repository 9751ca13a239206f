#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the programs and libraries in a folder are built, read with readelf: a table, and status 1 where one lacks something.

    tests/hardening/checksec.py FOLDER [PROGRAM]     PROGRAM has to be in it (mrrope)

Every file: run paths that begin at $ORIGIN, no executable stack, relocations read-only and resolved at the start. Programs
are position independent. What we compile has stack protectors; libraries of llama.cpp (lib*llama*, lib*ggml*, lib*mtmd*)
and of the compiler (libgomp) are looked at for their run paths only."""
import pathlib
import re
import subprocess
import sys

FOREIGN = re.compile(r"lib(llama|ggml(?!-mrrope)|mtmd|gomp)[-\w]*\.so[.\d]*")


def readelf(path):
    return subprocess.run(["readelf", "-W", "-h", "-l", "-d", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def run_paths(text):
    for kind, value in re.findall(r"\((RPATH|RUNPATH)\)\s+Library r(?:un)?path: \[(.*)\]", text):
        yield from value.split(":")


def facts(text):
    flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1|BIND_NOW)\).*", text))
    program = "INTERP" in text
    return {
        "PIE": not program or "PIE" in flags,
        "NX": bool(re.search(r"GNU_STACK.* RW ", text)),
        "RELRO": "GNU_RELRO" in text and "NOW" in flags,
        "canary": "__stack_chk_fail" in text,
        "fortified": len(set(re.findall(r"\b__\w+_chk\b", text))),
        "paths": list(run_paths(text)),
    }


def problems_of(path, found):
    for folder in found["paths"]:
        if not re.fullmatch(r"\$ORIGIN(/(\.\.|[\w.+-]+))*", folder):
            yield f"{path}: the run path has \"{folder}\""
    if FOREIGN.fullmatch(path.name):
        return
    for what in ("PIE", "NX", "RELRO", "canary"):
        if not found[what]:
            yield f"{path}: no {what}"
    if path.name in ("mrrope", "mrrope-eval") and not found["fortified"]:
        yield f"{path}: not fortified"


def main():
    folder = pathlib.Path(sys.argv[1])
    paths = [p for p in sorted(folder.rglob("*")) if not {"CMakeFiles", "_deps"} & set(p.parts) and p.is_file() and not p.is_symlink()
             and (p.suffix in ("", ".so") or ".so." in p.name) and is_elf(p)]
    found = {path: facts(readelf(path)) for path in paths}
    mark = {True: "yes", False: "NO"}
    print(f"{'file':<36} PIE  NX   RELRO canary fortified  run path")
    for path, f in found.items():
        print(f"{str(path.relative_to(folder)):<36} {mark[f['PIE']]:<4} {mark[f['NX']]:<4} {mark[f['RELRO']]:<5} {mark[f['canary']]:<6} "
              f"{f['fortified']:<9}  {':'.join(f['paths'])}")
    problems = [problem for path, f in found.items() for problem in problems_of(path, f)]
    program = sys.argv[2] if len(sys.argv) > 2 else "mrrope"
    if not any(path.name == program for path in paths):
        problems.append(f"{program} was not found")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
