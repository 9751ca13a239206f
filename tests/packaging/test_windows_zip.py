# SPDX-License-Identifier: MIT
"""The zip for Windows as people get it: what is inside, what it asks of Windows, how it is built. What its programs do is tested by
tests/windows, on the unpacked zip (.ci/run archives).

MRROPE_RELEASE names the folder, build/release-VERSION.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = pathlib.Path(os.environ["MRROPE_RELEASE"]).resolve()
VERSION = re.search(r'MRROPE_VERSION "(.*)"', (ROOT / "include/mrrope/version.h").read_text())[1]
NAME = f"mrrope-{VERSION}-windows-x64"
# Part of every Windows since 7
SYSTEM = {"advapi32.dll", "bcrypt.dll", "crypt32.dll", "iphlpapi.dll", "kernel32.dll", "msvcrt.dll", "secur32.dll", "shell32.dll",
          "user32.dll", "ws2_32.dll"}
# Bits of DllCharacteristics
ADDRESSES_VARY, OF_64_BITS, DATA_IS_NO_CODE = 0x40, 0x20, 0x100


@pytest.fixture(scope="module")
def archive():
    path = RELEASE / f"{NAME}.zip"
    if not path.exists():
        pytest.skip(f"{path.name} was not made")
    with zipfile.ZipFile(path) as packed:
        yield packed


def programs(archive):
    return {name: archive.read(name) for name in archive.namelist() if name.endswith(".exe")}


def test_everything_that_belongs_to_it_is_inside(archive):
    files = {name.removeprefix(NAME + "/") for name in archive.namelist()}
    assert {"bin/mrrope.exe", "bin/mrrope-eval.exe", "share/man/man1/mrrope.1", "share/doc/mrrope/README.md",
            "share/doc/mrrope/LICENSE"} <= files
    document = json.loads(archive.read(f"{NAME}/share/doc/mrrope/mrrope.cdx.json"))
    assert document["metadata"]["component"]["version"] == VERSION
    inside = {component["name"] for component in document["components"]}
    assert {"nlohmann-json", "fmt", "CLI11", "highway", "xxHash", "zlib", "curl", "vega"} <= inside and "openssl" not in inside
    licences = {pathlib.PurePath(name).stem for name in files if "/licenses/" in name}
    for name in inside:
        assert {"vega-lite": "vega", "vega-embed": "vega", "libstdc++": "gcc-runtime"}.get(name, name.lower()) in licences, name


def test_programs_ask_for_no_library_that_windows_lacks(archive, tmp_path):
    for name, data in programs(archive).items():
        (tmp_path / "program.exe").write_bytes(data)
        said = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", tmp_path / "program.exe"], capture_output=True, text=True, check=True).stdout
        asked = {dll.lower() for dll in re.findall(r"DLL Name: (\S+)", said)}
        assert asked and asked <= SYSTEM, (name, asked - SYSTEM)


def test_programs_are_hardened_as_far_as_windows_goes(archive):
    for name, data in programs(archive).items():
        (header,) = struct.unpack_from("<I", data, 0x3C)
        assert data[header : header + 4] == b"PE\0\0"
        (flags,) = struct.unpack_from("<H", data, header + 24 + 70)  # DllCharacteristics of the optional header
        wanted = ADDRESSES_VARY | OF_64_BITS | DATA_IS_NO_CODE
        assert flags & wanted == wanted, f"{name}: {flags:#x}"
        assert b"stack smashing detected" in data, f"{name} has no stack protector"


def test_an_archive_does_not_tell_who_made_it_and_when(archive):
    assert archive.namelist() == sorted(archive.namelist(), key=lambda name: pathlib.PurePath(name).parts)
    assert len({entry.date_time for entry in archive.infolist()}) == 1
    for name, data in programs(archive).items():
        assert str(ROOT).encode() not in data, f"{name} names the checkout"
