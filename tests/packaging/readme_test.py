#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The README of archives, made from the documents of this checkout."""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ReadmeOfArchives(unittest.TestCase):
    def test_it_says_what_mrrope_is_and_the_first_steps_without_links_into_the_sources(self):
        done = subprocess.run([sys.executable, ROOT / "packaging/release/readme.py", ROOT], capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("# mrrope"))
        for part in ("mrrope inspect model.gguf", "mrrope extend model.gguf", "--undo", "man mrrope"):
            self.assertIn(part, done.stdout)
        for part in ("](", "pip install", "<!--"):
            self.assertNotIn(part, done.stdout)


if __name__ == "__main__":
    unittest.main()
