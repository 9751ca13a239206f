# SPDX-License-Identifier: MIT
"""The sdist builds where there is no network, from what is inside and the distribution's packages.

MRROPE_SDIST names it, MRROPE_BUILD_PYTHON a python that has scikit-build-core and nanobind. tools/wheels makes it and runs this.
"""
import os
import pathlib
import re
import subprocess
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDIST = pathlib.Path(os.environ["MRROPE_SDIST"]).resolve()
PYTHON = os.environ["MRROPE_BUILD_PYTHON"]
VERSION = re.search(r'MRROPE_VERSION "(.*)"', (ROOT / "include/mrrope/version.h").read_text())[1]


def test_a_wheel_is_built_without_a_network(tmp_path):
    with tarfile.open(SDIST) as packed:
        packed.extractall(tmp_path)
    source = tmp_path / f"mrrope-{VERSION}"
    # A namespace without interfaces: not even this machine's own proxy answers
    command = ["unshare", "--user", "--map-root-user", "--net", PYTHON, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps",
               "--no-build-isolation", "--wheel-dir", tmp_path / "out", source]
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy") and key != "LDFLAGS"}
    done = subprocess.run(command, env=environment | {"CCACHE_BASEDIR": str(source)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "out").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("/scripts/mrrope") for name in names), names
    assert "mrrope/py.typed" in names


def test_nothing_is_inside_but_files_of_the_repository():
    with tarfile.open(SDIST) as packed:
        names = [pathlib.PurePath(*pathlib.PurePath(member.name).parts[1:]) for member in packed.getmembers() if member.isfile()]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = {*tracked, "PKG-INFO"}
    # An earlier build of mrrope-llama once stood below packaging/, and 31 MB of objects were in the sdist
    assert not [name for name in names if str(name) not in expected]
    for needed in ("LICENSE", "CHANGELOG.md", "CMakeLists.txt", "tests/models/tiny-512.gguf"):
        assert pathlib.PurePath(needed) in names, needed
