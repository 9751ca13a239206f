#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing that lies in the current folder is run, whatever it is called. Usage: current_folder_test.py MRROPE TINY_MODEL"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

MRROPE, MODEL = sys.argv[1], sys.argv[2]

# Libraries that mrrope-eval needs, and what ggml looks for when it starts.
NAMES = ["libcurl.so.4", "libz.so.1", "libstdc++.so.6", "libllama.so", "libllama.so.0", "libggml.so.0", "libggml-base.so.0", "libggml-cpu.so",
         "libggml-cpu-evil.so", "libggml-cuda.so", "libggml-blas.so", "libggml-blas-evil.so", "libggml-rpc.so", "libggml-vulkan.so"]

EVIL = """
#include <cstdio>
__attribute__((constructor)) static void run() {
  if (std::FILE* file = std::fopen("ran", "w")) std::fclose(file);
}
"""


class CurrentFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "evil.cpp").write_text(EVIL)
        subprocess.run(["c++", "-shared", "-fPIC", "-o", "evil.so", "evil.cpp"], cwd=self.folder, check=True)
        for name in NAMES:
            (self.folder / name).write_bytes((self.folder / "evil.so").read_bytes())
        (self.folder / "text.txt").write_text("It was a bright cold day in April. " * 400)

    def run_here(self, *words):
        done = subprocess.run([MRROPE, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.folder / "ran").exists(), f"mrrope {' '.join(words)} ran a library of the current folder")

    def test_the_library_is_run_where_it_is_asked_for(self):
        subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('./libcurl.so.4')"], cwd=self.folder, check=True)
        self.assertTrue((self.folder / "ran").exists())

    def test_starting_runs_none(self):
        self.run_here("--version")
        self.run_here("eval", "--version")

    def test_measuring_runs_none(self):
        self.run_here("eval", "ppl", "-m", MODEL, "-f", "text.txt", "--factor", "4", "--methods", "none", "--lengths", "512")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
