#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What texts promise is what .github/workflows/release.yml publishes: packages of ours that extras name, and every kind of file that
docs/install.md lists. (That GitHub understands the workflow is tools/actionlint's to say.)"""
import fnmatch
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


def project_name(folder):
    return re.search(r'^name = "(.*)"', (folder / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]


class Published(unittest.TestCase):
    def test_packages_of_ours_that_extras_name_are_built(self):
        extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)^\[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
                           re.MULTILINE | re.DOTALL)[1]
        wanted = set(re.findall(r'"(mrrope[-\w]*)', extras))
        self.assertIn("mrrope-llama", wanted)
        built = {project_name(ROOT / folder) for folder in re.findall(r"package-dir: (\S+)", RELEASE)}
        self.assertEqual(wanted - built, set())

    def test_wheels_of_a_release_are_made_by_what_makes_them_here(self):
        """nanobind is compiled into the module: a new version of it would be in wheels that nobody has tried."""
        pinned = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "tools/engine_pins/locks/wheel.txt").read_text(), re.MULTILINE))
        constraints = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "packaging/build-constraints.txt").read_text(), re.MULTILINE))
        self.assertLessEqual({"nanobind", "scikit-build-core"}, constraints.keys())
        self.assertEqual(constraints, {name: pinned.get(name) for name in constraints})
        for project in ("pyproject.toml", "packaging/llama/pyproject.toml"):
            self.assertIn('PIP_CONSTRAINT = "/project/packaging/build-constraints.txt"', (ROOT / project).read_text())

    def test_files_that_people_are_told_to_take_are_attached(self):
        listed = set(re.findall(r"`(\w[\w.-]*VERSION[\w.-]*)`|(?:\./| )(\w[\w.-]*VERSION[\w.-]*)", (ROOT / "docs/install.md").read_text(encoding="utf-8")))
        names = {one or other for one, other in listed}
        self.assertGreaterEqual(len(names), 5)
        attached = re.findall(r"build/release-\*/(\S+)", RELEASE)
        for name in names:
            self.assertTrue(any(fnmatch.fnmatch(name, pattern) for pattern in attached), name)


if __name__ == "__main__":
    unittest.main()
