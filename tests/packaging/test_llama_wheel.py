# SPDX-License-Identifier: MIT
"""`pip install 'mrrope[eval]'` as people get it: both wheels in an environment of their own, without a compiler, and removed again.

MRROPE_WHEELS names the folder that has them, MRROPE_WHEEL_PYTHON a python that can have them. tools/wheels makes them and runs this.
"""
import json
import os
import pathlib
import platform
import re
import resource
import subprocess
import sys
import time
import zipfile

import pytest
from builder import check_no_place_of_the_builder

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = pathlib.Path(os.environ["MRROPE_WHEELS"]).resolve()
PYTHON = os.environ.get("MRROPE_WHEEL_PYTHON", sys.executable)
LLAMA = next(WHEELS.glob("mrrope_llama-*.whl"))
# The oldest glibc 2.x that it may ask for: that of Debian 12; of a release 28, as docs/install.md promises (release.yml)
GLIBC = int(os.environ.get("MRROPE_WHEEL_GLIBC", "36"))
# ggml's oldest backend and a fast one
BACKENDS = {"x86_64": {"libggml-cpu-x64.so", "libggml-cpu-haswell.so"},
            "aarch64": {"libggml-cpu-armv8.0_1.so", "libggml-cpu-armv8.2_2.so"}}[platform.machine()]


def files_below(folder):
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts and not path.is_dir()}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([PYTHON, "-m", "venv", folder / "env"], check=True)
    pip = [folder / "env/bin/python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "numpy"], check=True)
    before = files_below(folder / "env")
    subprocess.run([*pip, "--no-index", "--find-links", WHEELS, "mrrope[eval]"], check=True)
    return folder, before


def run(place, *words, **options):
    folder, _ = place
    environment = {"PATH": "/nowhere", "OMP_WAIT_POLICY": "passive", **options.pop("env", {})}
    done = subprocess.run([folder / "env/bin/mrrope", *words], env=environment, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_demo_runs_in_an_empty_environment(place, tmp_path):
    before, began = processor_time(), time.monotonic()
    said = run(place, "demo", cwd=tmp_path)
    print(f"demo: {time.monotonic() - began:.1f} s, {processor_time() - before:.1f} s of a processor")
    assert processor_time() - before < 60, "the minute that README promises, on one core and whatever else the machine does"
    records = [json.loads(line) for line in (tmp_path / "mrrope-demo/needles/records.jsonl").read_text().splitlines()]
    right = [(record["method"], record["answer"]["length"], record["answer"]["score"]) for record in records]
    assert right.count(("mrrope-pro", 2048, 1)) == 6 and right.count(("none", 2048, 0)) == 6, said


def test_it_takes_no_library_of_the_system_that_is_llamas(place):
    """As the loader sees it: every library of llama.cpp and OpenMP is that of the wheel."""
    folder, _ = place
    home = folder / "env/lib/mrrope"
    listed = subprocess.run(["ldd", home / "mrrope-eval"], capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"(\S+) => (\S+)", listed))
    for name in ("libllama.so.0", "libggml.so.0", "libggml-base.so.0"):
        assert pathlib.Path(found[name]).resolve().is_relative_to(home), listed
    backends = sorted(path.name for path in (home / "lib").glob("libggml-cpu-*.so"))
    assert BACKENDS <= set(backends), backends
    for path in [home / "mrrope-eval", *home.glob("lib/*.so*"), home / "libggml-mrrope.so"]:
        head = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        assert not re.search(r"R(UN)?PATH.*\[[^$]", head), f"{path.name} looks into a folder of the machine that built it"


def test_its_name_says_with_which_systems_it_runs():
    found = re.fullmatch(rf"mrrope_llama-[\d.]+-py3-none-manylinux_2_(\d+)_{platform.machine()}\.whl", LLAMA.name)
    assert found and int(found[1]) <= GLIBC, LLAMA.name


def test_every_licence_of_what_is_inside_is_inside():
    """As the list in dist-info/sboms says, which has to know every library beside the program."""
    wheel = zipfile.ZipFile(LLAMA)
    names = wheel.namelist()
    (sbom,) = [name for name in names if name.endswith(".dist-info/sboms/mrrope-llama.cdx.json")]
    document = json.loads(wheel.read(sbom))
    assert document["metadata"]["component"]["name"] == "mrrope-llama"
    inside = {component["name"] for component in document["components"]}
    assert {"llama.cpp", "libgomp", "curl", "openssl", "libstdc++", "nlohmann-json"} <= inside
    beside = {pathlib.PurePath(name).name.split(".so")[0] for name in names if ".so" in pathlib.PurePath(name).name}
    assert not {name for name in beside if not re.match(r"libllama|libggml", name)} - inside
    licences = {pathlib.PurePath(name).name for name in names if "/licenses/" in name}
    same = {"vega-lite": "vega", "vega-embed": "vega", "libstdc++": "gcc-runtime", "libgomp": "gcc-runtime"}
    for name in inside - {"zlib"}:  # which is the system's
        assert f"{same.get(name, name.lower())}.txt" in licences, name
    metadata = wheel.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    expression = re.search(r"^License-Expression: (.*)$", metadata, re.MULTILINE)[1].split(" AND ")
    for component in document["components"]:
        (one,) = [licence["expression"] for licence in component["licenses"]]
        assert component["name"] == "zlib" or any(choice in expression for choice in one.split(" OR ")), one


def test_programs_and_the_plug_in_are_hardened(tmp_path):
    zipfile.ZipFile(LLAMA).extractall(tmp_path)
    done = subprocess.run([sys.executable, ROOT / "tests/hardening/checksec.py", tmp_path, "mrrope-eval"], capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0 and "mrrope-eval" in done.stdout and "libggml-mrrope.so" in done.stdout, done.stdout


def test_nothing_inside_names_a_folder_of_the_machine_that_built_it(tmp_path):
    """A temporary folder has another name each time, and so the wheel had other bytes."""
    zipfile.ZipFile(LLAMA).extractall(tmp_path)
    for path in files_below(tmp_path):
        check_no_place_of_the_builder(path.read_bytes(), path.name)


def test_the_small_model_is_inside():
    assert any(name.endswith("share/mrrope/tiny-512.gguf") for name in zipfile.ZipFile(LLAMA).namelist())


def test_zz_no_file_is_left_when_it_is_removed(place):
    folder, before = place
    subprocess.run([folder / "env/bin/python", "-m", "pip", "uninstall", "--quiet", "--yes", "mrrope", "mrrope-llama"], check=True)
    assert files_below(folder / "env") == before
