# SPDX-License-Identifier: MIT
"""The package itself: small, quick to import, documented, typed.

MRROPE_WHEEL names the wheel that is installed, for the tests that look at the file.
"""
import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys
import time
import zipfile

import pytest

import mrrope
from mrrope import _core, analysis, tuning

FOLDER = pathlib.Path(mrrope.__file__).parent
SPEC = mrrope.Spec(dim=128, base=10000, context=4096)


def public_objects():
    for module in (mrrope, analysis, tuning):
        for name in module.__all__:
            if name != "__version__":
                yield f"{module.__name__}.{name}", getattr(module, name)


def test_the_version_is_that_of_the_library(root):
    header = (root / "include/mrrope/version.h").read_text()
    assert mrrope.__version__ == re.search(r'MRROPE_VERSION "(.*)"', header).group(1)


def test_every_public_name_has_a_docstring():
    for name, thing in public_objects():
        assert inspect.getdoc(thing), name


def test_every_public_name_of_the_extension_is_in_its_stub():
    tree = ast.parse((FOLDER / "_core.pyi").read_text())
    stub = {}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            members = node.body if isinstance(node, ast.ClassDef) else []
            stub[node.name] = {item.name for item in members if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.AnnAssign):
            stub[node.target.id] = set()
    for name, thing in vars(_core).items():
        if name.startswith("_"):
            continue
        assert name in stub, name
        if isinstance(thing, type):
            missing = {member for member in vars(thing) if not member.startswith("_")} - stub[name]
            assert not missing, f"{name}: {missing}"
    assert (FOLDER / "py.typed").exists()


def seconds_to_import(module):
    """Of the processor, at best: others on the machine only add to it."""
    code = f"import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(11)]
    return min(float(run.stdout) for run in runs)


def test_import_takes_less_than_50_ms_and_leaves_numpy_and_torch_alone():
    assert seconds_to_import("mrrope") < 0.05
    code = "import sys, mrrope; print([name for name in ('numpy', 'torch', 'transformers') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_ten_thousand_plans_take_less_than_a_second():
    start = time.process_time()
    for i in range(10_000):
        _ = mrrope.plan(SPEC, 8192 + i, "mrrope-pro").inv_freq
    assert time.process_time() - start < 1


@pytest.fixture
def wheel():
    if "MRROPE_WHEEL" not in os.environ:
        pytest.skip("MRROPE_WHEEL does not name a wheel")
    return pathlib.Path(os.environ["MRROPE_WHEEL"])


def test_the_wheel_is_below_12_mb_and_holds_the_package_and_the_programs(wheel):
    assert wheel.stat().st_size < 12_000_000
    names = zipfile.ZipFile(wheel).namelist()
    inside = sorted(name for name in names if ".dist-info/" not in name and ".data/" not in name)
    assert all(name.startswith("mrrope/") for name in inside), inside
    assert {pathlib.PurePath(name).suffix for name in inside} == {".json", ".py", ".pyi", ".so", ".typed"}, inside
    assert {"mrrope/campaign/command.py", "mrrope/campaign/mrrope.campaign-1.json"} <= set(inside)
    beside = {name.split(".data/")[1] for name in names if ".data/" in name}
    programs = {name for name in beside if name.startswith("scripts/")}
    assert "scripts/mrrope" in programs and programs <= {"scripts/mrrope", "scripts/mrrope-eval"}, programs
    assert all(name.startswith("data/share/") for name in beside - programs), beside
    assert any(name.endswith("LICENSE") for name in names)


def test_a_wheel_for_the_stable_abi_says_so(wheel):
    stable = "-cp312-abi3-" in wheel.name
    assert stable == (sys.version_info >= (3, 12)), wheel.name
    assert any(name.endswith(".abi3.so") for name in zipfile.ZipFile(wheel).namelist()) == stable
