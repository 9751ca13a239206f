# SPDX-License-Identifier: MIT
"""A checkout may be in any folder, even one with the name of a folder of ours or a space in it.

    checkout_test.py CMAKE SOURCE
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()


class Checkout(unittest.TestCase):
    def configured(self, *names):
        """The sources of the target mrrope_files, as Ninja is told."""
        with tempfile.TemporaryDirectory() as folder:
            checkout = pathlib.Path(folder, *names)
            checkout.parent.mkdir(parents=True, exist_ok=True)
            checkout.symlink_to(SOURCE)
            build = pathlib.Path(folder) / "build"
            done = subprocess.run([CMAKE, "-S", checkout, "-B", build, "-G", "Ninja", "-DMRROPE_CORE_ONLY=ON", "-DMRROPE_BUILD_TESTS=OFF"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            rules = (build / "build.ninja").read_text(encoding="utf-8").splitlines()
            objects = [line.split(":")[0] for line in rules if line.startswith("build CMakeFiles/mrrope_files.dir/src/")]
            return sorted(name.split("mrrope_files.dir/")[1] for name in objects)

    def test_a_folder_named_as_one_of_ours_changes_nothing(self):
        anywhere = self.configured("mrrope")
        self.assertTrue(anywhere)
        for folder in ("elsewhere", "linux", "my models"):
            self.assertEqual(self.configured(folder, "mrrope"), anywhere)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
