#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the files of a release are built, read with readelf: a table, and status 1 where one lacks something.

    tests/packaging/hardening_test.py build/release-VERSION     (MRROPE_RELEASE_PARTS: as in release_parts.py)

Programs of the packages are looked at as those of a build (tests/hardening/checksec.py). Static ones of the archives have no
symbols left: position independent without a loader, no executable stack, relocations read-only, no library asked for; on x86-64
code that reads the stack protector's word, which is at %fs:0x28. musl has no fortified calls, so none are looked for. Of programs of
macOS only what their header says is looked at: position independent, no executable stack. Windows: test_windows_zip.py."""
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import mach_o

CHECKSEC = pathlib.Path(__file__).resolve().parents[1] / "hardening/checksec.py"
# mov, sub, xor or cmp of a 64-bit register with %fs:0x28
GUARDED = re.compile(rb"\x64[\x48\x4c][\x8b\x2b\x33\x3b].\x25\x28\x00\x00\x00", re.DOTALL)
FEW = 100  # the compiler's own libraries have a dozen
PARTS = {"linux-x64", "linux-arm64", "macos-arm64", "macos-x64", "debs"}


def static_facts(path):
    text = subprocess.run(["readelf", "-W", "-h", "-l", "-d", path], capture_output=True, text=True, check=True).stdout
    facts = {
        "PIE": "Type:                              DYN" in text and "INTERP" not in text,
        "NX": bool(re.search(r"GNU_STACK.* RW ", text)),
        "RELRO": "GNU_RELRO" in text,
        "alone": "(NEEDED)" not in text and "(RUNPATH)" not in text and "(RPATH)" not in text,
    }
    if "X86-64" in text:
        facts["canary"] = len(GUARDED.findall(path.read_bytes())) > FEW
    return facts


def macos_facts(path):
    program = mach_o.Program(path.read_bytes())
    return {"Mach-O": program.magic == mach_o.MAGIC, "PIE": bool(program.flags & mach_o.PIE), "NX": not program.flags & mach_o.STACK_IS_CODE}


def check_archive(archive, folder):
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    for path in sorted(folder.glob("*/bin/*")):
        facts = macos_facts(path) if "-macos-" in archive.name else static_facts(path)
        print(f"{archive.name}: {path.name}: " + ", ".join(f"{name} {'yes' if good else 'NO'}" for name, good in facts.items()))
        yield all(facts.values())


def check_debs(debs):
    with tempfile.TemporaryDirectory() as folder:
        for deb in debs:
            subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
        yield subprocess.run([CHECKSEC, folder]).returncode == 0


def main():
    release = pathlib.Path(sys.argv[1])
    good = []
    for part in sorted(PARTS & set(os.environ.get("MRROPE_RELEASE_PARTS", " ".join(PARTS)).split())):
        files = sorted(release.glob("*.deb" if part == "debs" else f"mrrope-*-{part}.tar.gz"))
        if not files:
            print(f"{release.name} has no {part}")
            good.append(False)
        elif part == "debs":
            good += check_debs(files)
        else:
            with tempfile.TemporaryDirectory() as folder:
                good += check_archive(files[0], pathlib.Path(folder))
    print(f"{sum(good)} of {len(good)} as they should be")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
