# SPDX-License-Identifier: MIT
"""The archives of tools/release as people get them, in roots that hold nothing else (clean_root.py).

release_parts.py says which have to be there. What runs on this processor is run, 64-bit Arm under qemu, where
programs cannot start others, so that what mrrope leaves to mrrope-eval is asked of that one; macOS is only looked at. .ci/run archives makes the folder and runs this.
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
import clean_root
import documents_test
import mach_o
from builder import check_no_place_of_the_builder
from release_parts import VERSION, check_embedded, made

QEMU = "/usr/bin/qemu-aarch64-static"
UTF8 = {"LC_ALL": "C.UTF-8"}


def archive_of(system):
    return made(system, f"mrrope-{VERSION}-{system}.tar.gz")


class Place:
    def __init__(self, root, system):
        self.root, self.emulated, self.path = root, system == "linux-arm64", "/opt/mrrope/bin:/bin"
        with tarfile.open(archive_of(system)) as tar:
            tar.extractall(root / "opt")
        (root / f"opt/mrrope-{VERSION}-{system}").rename(root / "opt/mrrope")
        clean_root.add_shell(root)
        clean_root.add_work(root)
        if self.emulated:
            shutil.copy(QEMU, root / "bin/qemu")
            (root / "bin/mrrope").write_text('#!/bin/sh\ncase $1 in eval | probe) program=mrrope-eval ;; *) program=mrrope ;; esac\n'
                                             'exec /bin/qemu /opt/mrrope/bin/$program "$@"\n')
            (root / "bin/mrrope").chmod(0o755)
            self.path = "/bin"

    def run(self, command, **more):
        return clean_root.run(self.root, command, path=self.path, **more)

    def digest(self, name):
        return hashlib.sha256((self.root / "work" / name).read_bytes()).hexdigest()


@pytest.fixture(params=["linux-x64", "linux-arm64"])
def place(request, tmp_path):
    return Place(tmp_path, request.param)


def test_the_program_is_of_this_version_and_needs_no_library(place):
    assert place.run("mrrope --version") == f"mrrope {VERSION}\n"
    for program in sorted((place.root / "opt/mrrope/bin").iterdir()):
        said = subprocess.run(["readelf", "-W", "-l", "-d", program], capture_output=True, text=True, check=True).stdout
        assert "INTERP" not in said and "(NEEDED)" not in said, program


def test_the_first_steps_print_what_their_page_says(place):
    ran = 0
    for block in documents_test.BLOCK.findall((clean_root.ROOT / "docs/start-gguf.md").read_text(encoding="utf-8")):
        if block.startswith("# "):
            continue
        for command, expected in documents_test.examples(block):
            found = place.run(command, env=UTF8).rstrip("\n").splitlines()
            assert documents_test.matches(expected, found), f"{command}\n" + "\n".join(found)
            ran += 1
    assert ran >= 2


def test_without_locale_the_file_is_the_same(place):
    place.run("mrrope extend model.gguf -c 8k -o one.gguf")
    place.run("mrrope extend model.gguf -c 8k -o two.gguf", env={**UTF8, "HOME": "/work"})
    place.run("mrrope extend model.gguf -c 8k -o three.gguf", env={"LC_ALL": "de_DE.UTF-8"})  # a comma, where there is one
    assert place.digest("one.gguf") == place.digest("two.gguf") == place.digest("three.gguf")


def test_a_change_in_place_is_taken_back_to_the_byte(place):
    before = place.digest("model.gguf")
    place.run("mrrope extend model.gguf -c 8k --in-place")
    assert place.digest("model.gguf") != before
    place.run("mrrope extend model.gguf --undo --in-place")
    assert place.digest("model.gguf") == before


def test_commands_that_need_no_server_run_and_write_only_where_they_are_told(place):
    before = clean_root.files_below(place.root)
    place.run("mrrope plan model.gguf -c 8k --json > plan.json")
    for command in ("doctor model.gguf", "diff model.gguf model.gguf", "analyze --spec dim=128,base=10000,ctx=4096 -c 16k", "methods",
                    "extend model.gguf --plan plan.json --dry-run", "man", "completions bash"):
        assert place.run(f"mrrope {command}"), command
    place.run("mrrope ladder model.gguf -c 2k -o ladder")
    place.run("mrrope report plan.json -o page.html")
    assert b"vega" in (place.root / "work/page.html").read_bytes()
    written = {name.split("/")[1] for name in clean_root.files_below(place.root) - before}
    assert written == {"plan.json", "ladder", "page.html"}


def test_a_server_that_cannot_be_reached_is_said_to_be(place):
    assert "127.0.0.1" in place.run("mrrope probe http://127.0.0.1:9", status=1)


@pytest.mark.parametrize("system", ["linux-x64", "linux-arm64", "macos-arm64", "macos-x64"])
def test_licences_and_the_list_of_what_is_inside_are_complete(system):
    with tarfile.open(archive_of(system)) as tar:
        files = {name.split("/", 1)[1]: name for name in tar.getnames() if "/" in name}
        document = json.load(tar.extractfile(files["share/doc/mrrope/mrrope.cdx.json"]))
    assert {"bin/mrrope", "share/man/man1/mrrope.1", "share/bash-completion/completions/mrrope", "share/zsh/site-functions/_mrrope",
            "share/fish/vendor_completions.d/mrrope.fish", "share/doc/mrrope/LICENSE", "share/doc/mrrope/README.md"} <= files.keys()
    inside = {component["name"]: component["version"] for component in document["components"]}
    assert document["metadata"]["component"]["version"] == VERSION
    assert {"nlohmann-json", "fmt", "CLI11", "highway", "xxHash", "zlib", "libc++", "vega"} <= inside.keys()
    assert ("musl" in inside) == ("curl" in inside) == ("openssl" in inside) == system.startswith("linux")
    licences = {name.removeprefix("share/doc/mrrope/licenses/") for name in files if "/licenses/" in name}
    assert licences == {{"libc++": "libcxx", "vega-lite": "vega", "vega-embed": "vega"}.get(name, name.lower()) + ".txt" for name in inside}
    assert ("share/man/man1/mrrope-eval.1" in files) == ("bin/mrrope-eval" in files)


@pytest.mark.parametrize("system", ["linux-x64", "linux-arm64", "macos-arm64", "macos-x64"])
def test_programs_carry_the_files_of_this_checkout(system):
    with tarfile.open(archive_of(system)) as tar:
        check_embedded(tar.extractfile(f"mrrope-{VERSION}-{system}/bin/mrrope").read(), system)


@pytest.mark.parametrize("system", ["linux-x64", "linux-arm64", "macos-arm64", "macos-x64"])
def test_an_archive_does_not_tell_who_made_it_and_when(system):
    with tarfile.open(archive_of(system)) as tar:
        members = tar.getmembers()
    assert [m.name for m in members] == sorted((m.name for m in members), key=lambda name: pathlib.PurePath(name).parts)
    assert all(m.isfile() for m in members), "folders of whoever unpacks it would take the modes of ours"
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "root", "root")}
    assert len({m.mtime for m in members}) == 1
    with tarfile.open(archive_of(system)) as tar:
        for member in members:
            if "/bin/" in member.name:
                check_no_place_of_the_builder(tar.extractfile(member).read(), member.name)


@pytest.mark.parametrize("system, processor", [("macos-arm64", 0x0100000C), ("macos-x64", 0x01000007)])
def test_programs_of_macos_are_for_what_every_mac_since_2020_has(system, processor):
    with tarfile.open(archive_of(system)) as tar:
        program = mach_o.Program(tar.extractfile(f"mrrope-{VERSION}-{system}/bin/mrrope").read())
    assert (program.magic, program.processor, program.oldest) == (mach_o.MAGIC, processor, (11, 0))
    assert program.libraries == ["/usr/lib/libSystem.B.dylib"]
    assert program.is_signed() or system == "macos-x64", "Apple's own processors kill it"
