# SPDX-License-Identifier: MIT
"""The zip for Windows as people get it: what is inside, what it asks of Windows, how it is built. What its programs do is tested by
tests/windows, on the unpacked zip (.ci/run archives).

release_parts.py says where it is.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import zipfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from builder import check_no_place_of_the_builder
from release_parts import VERSION, check_embedded, made

NAME = f"mrrope-{VERSION}-windows-x64"
# Part of every Windows since 7
SYSTEM = {"advapi32.dll", "bcrypt.dll", "crypt32.dll", "iphlpapi.dll", "kernel32.dll", "msvcrt.dll", "secur32.dll", "shell32.dll",
          "user32.dll", "ws2_32.dll"}
# Bits of DllCharacteristics
ADDRESSES_VARY, OF_64_BITS, DATA_IS_NO_CODE = 0x40, 0x20, 0x100
# Functions that check the stack's guard. Programs built without the flag had 0 (mrrope.exe) and 386 (mrrope-eval.exe, all of them
# curl's); objects of our rooms have 2596 between them (2026-11-18).
MANY = 600


@pytest.fixture(scope="module")
def archive():
    with zipfile.ZipFile(made("windows-x64", f"{NAME}.zip")) as packed:
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


def sections(data):
    """{name: (address, bytes)}"""
    (header,) = struct.unpack_from("<I", data, 0x3C)
    count, optional = struct.unpack_from("<H", data, header + 6)[0], struct.unpack_from("<H", data, header + 20)[0]
    found = {}
    for at in range(header + 24 + optional, header + 24 + optional + 40 * count, 40):
        size, address, stored, offset = struct.unpack_from("<4I", data, at + 8)
        found[data[at : at + 8].rstrip(b"\0")] = (address, data[offset : offset + min(size, stored)])
    return found


def calls_of_the_guard(data):
    """How many calls go to __stack_chk_fail. Names are stripped: it is the function that begins less than 32 bytes before the address of
    its message is taken (lea REGISTER, [rip + N])."""
    code_at, code = sections(data)[b".text"]
    constants_at, constants = sections(data)[b".rdata"]
    messages = {constants_at + found.start() for found in re.finditer(rb"\*\*\* stack smashing detected", constants)}
    taken = [code_at + found.start() for found in re.finditer(rb"[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](....)", code, re.DOTALL)
             if code_at + found.end() + struct.unpack("<i", found[1])[0] in messages]
    targets = (code_at + found.start() + 5 + struct.unpack("<i", found[1])[0] for found in re.finditer(rb"\xe8(?=(....))", code, re.DOTALL))
    return sum(any(0 <= place - target < 32 for place in taken) for target in targets)


def test_programs_carry_the_files_of_this_checkout(archive):
    check_embedded(archive.read(f"{NAME}/bin/mrrope.exe"), "windows-x64")


def test_programs_are_hardened_as_far_as_windows_goes(archive):
    for name, data in programs(archive).items():
        (header,) = struct.unpack_from("<I", data, 0x3C)
        assert data[header : header + 4] == b"PE\0\0"
        (flags,) = struct.unpack_from("<H", data, header + 24 + 70)  # DllCharacteristics of the optional header
        wanted = ADDRESSES_VARY | OF_64_BITS | DATA_IS_NO_CODE
        assert flags & wanted == wanted, f"{name}: {flags:#x}"
        assert calls_of_the_guard(data) > MANY, f"{name}: {calls_of_the_guard(data)} functions check the stack's guard"


def test_an_archive_does_not_tell_who_made_it_and_when(archive):
    assert archive.namelist() == sorted(archive.namelist(), key=lambda name: pathlib.PurePath(name).parts)
    assert len({entry.date_time for entry in archive.infolist()}) == 1
    for name, data in programs(archive).items():
        check_no_place_of_the_builder(data, name)
