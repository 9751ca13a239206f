# SPDX-License-Identifier: MIT
"""Debian's packages of tools/release, installed into a small Debian, used, and removed again.

release_parts.py says where they are. The Debian is made by mmdebstrap from the system's own places of packages, with
what ours depend on, and kept as an archive; everything after that is without network. .ci/run archives runs this.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import clean_root
from release_parts import VERSION, made

PACKAGES = ["mrrope", "libmrrope0", "libmrrope-dev"]
# What dpkg and ldconfig write about themselves
THEIR_OWN = re.compile(r"(var/lib/dpkg/|var/log/|var/cache/ldconfig|etc/ld\.so\.cache).*")


def debs():
    processor = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    return [made("debs", f"{name}_{VERSION}-1_{processor}.deb") for name in PACKAGES]


def small_debian():
    """An archive of it, made once for these dependencies."""
    wanted = set()
    for deb in debs():
        depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True, check=True).stdout
        wanted |= {re.match(r"[\w.+-]+", one.strip())[0] for one in depends.split(",") if one.strip()} - set(PACKAGES)
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "mrrope"
    archive = cache / f"debian-{'-'.join(sorted(wanted))}.tar"
    if not archive.exists():
        codename = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text())[1]
        sources = [p for p in (pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")) if p.is_file()]
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(sorted(wanted))}", codename,
                        archive.with_suffix(".part.tar"), *sources], check=True)
        archive.with_suffix(".part.tar").rename(archive)
    return archive


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A Debian with the packages installed, and its files before that."""
    folder = tmp_path_factory.mktemp("debian")
    folder.chmod(0o755)
    subprocess.run(["tar", "xf", small_debian(), "-C", folder, "--exclude=./dev/*"], check=True)
    (folder / "dev/null").touch()
    before = clean_root.files_below(folder)
    clean_root.add_work(folder)
    for deb in debs():
        shutil.copy(deb, folder / "work")
    clean_root.run(folder, "dpkg --install *.deb", user=0)
    return folder, before


def test_lintian_finds_no_error():
    said = subprocess.run(["lintian", "--fail-on", "error", *debs()], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout


def test_the_quick_start_runs_without_a_compiler(root):
    folder, _ = root
    assert not any((folder / "usr/bin" / name).exists() for name in ("cc", "gcc", "g++", "clang", "cmake", "python3"))
    assert clean_root.run(folder, "mrrope --version; mrrope eval --version") == f"mrrope {VERSION}\n" * 2
    assert "trained context   512" in clean_root.run(folder, "mrrope inspect model.gguf", env={"LC_ALL": "C.UTF-8"})
    clean_root.run(folder, "mrrope extend model.gguf -c 8k -o longer.gguf")
    assert "8192" in clean_root.run(folder, "mrrope inspect longer.gguf")
    assert "127.0.0.1" in clean_root.run(folder, "mrrope probe http://127.0.0.1:9", status=1)


def test_every_file_of_ours_belongs_to_a_package_and_the_library_is_found(root):
    folder, _ = root
    assert "libmrrope_c.so.0" in clean_root.run(folder, "ldconfig -p")
    assert clean_root.run(folder, "dpkg --verify " + " ".join(PACKAGES), user=0) == ""


def test_zz_nothing_is_left_when_they_are_purged(root):
    folder, before = root
    clean_root.run(folder, "dpkg --purge " + " ".join(PACKAGES), user=0)
    shutil.rmtree(folder / "work")
    left = {name for name in clean_root.files_below(folder) - before if not THEIR_OWN.fullmatch(name)}
    assert not left
