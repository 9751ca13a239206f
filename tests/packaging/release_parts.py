# SPDX-License-Identifier: MIT
"""The files that tools/release made, for the tests of them: MRROPE_RELEASE names the folder, build/release-VERSION.

All parts have to be there. Who made some names them in MRROPE_RELEASE_PARTS ("linux-x64 debs"); tests of the others are skipped.
"""
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = pathlib.Path(os.environ["MRROPE_RELEASE"]).resolve()
VERSION = re.search(r'MRROPE_VERSION "(.*)"', (ROOT / "include/mrrope/version.h").read_text())[1]
ALL = "linux-x64 linux-arm64 windows-x64 macos-arm64 macos-x64 debs image"
PARTS = os.environ.get("MRROPE_RELEASE_PARTS", ALL).split()
assert PARTS and set(PARTS) <= set(ALL.split()), f"MRROPE_RELEASE_PARTS: some of {ALL}"

# What pages of `mrrope report` and ladders carry: an assembler puts these files into the program as they are (cmake/embed.cmake).
EMBEDDED = ("src/report/page.css", "src/report/page.js", "src/deploy/mrrope_ladder.py")


def made(part, name):
    """The path of the file `name` that belongs to `part`."""
    if part not in PARTS:
        pytest.skip(f"MRROPE_RELEASE_PARTS has no {part}")
    path = RELEASE / name
    assert path.exists(), f"{RELEASE.name} has no {name}"
    return path


def check_embedded(program, name):
    """An object of an older build would carry an older file."""
    for file in EMBEDDED:
        assert (ROOT / file).read_bytes() in program, f"{name} does not carry {file} as it is in this checkout"
