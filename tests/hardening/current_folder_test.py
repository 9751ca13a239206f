#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing that lies in the current folder is run, whatever it is called. Usage: current_folder_test.py MRROPE TINY_MODEL"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

MRROPE, MODEL = sys.argv[1], sys.argv[2]
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"

# Libraries that mrrope-eval needs, and what ggml looks for when it starts.
NAMES = ["libcurl.so.4", "libz.so.1", "libstdc++.so.6", "libllama.so", "libllama.so.0", "libggml.so.0", "libggml-base.so.0", "libggml-cpu.so",
         "libggml-cpu-evil.so", "libggml-cuda.so", "libggml-blas.so", "libggml-blas-evil.so", "libggml-rpc.so", "libggml-vulkan.so"]

EVIL = """
#include <cstdio>
__attribute__((constructor)) static void run() {
  if (std::FILE* file = std::fopen("ran", "w")) std::fclose(file);
}
"""

# Which modules an interpreter loads before the first line of ours differs from version to version (3.13: linecache).
PYTHONS = sorted({path for name in ["python3", *(f"python3.{minor}" for minor in range(10, 16))] for folder in os.get_exec_path()
                  if os.access(path := os.path.join(folder, name), os.X_OK)
                  and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0})


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

    def plant_modules(self):
        """One of each name in Python's library, and of what ours would import."""
        for name in {*sys.stdlib_module_names, "mrrope", "sitecustomize", "usercustomize", "yaml", "pyarrow", "ray", "numpy"}:
            (self.folder / f"{name}.py").write_text("open('ran', 'w').close()\n")

    def test_the_library_is_run_where_it_is_asked_for(self):
        subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('./libcurl.so.4')"], cwd=self.folder, check=True)
        self.assertTrue((self.folder / "ran").exists())

    def test_starting_runs_none(self):
        self.run_here("--version")
        self.run_here("eval", "--version")

    def test_measuring_runs_none(self):
        self.run_here("eval", "ppl", "-m", MODEL, "-f", "text.txt", "--factor", "4", "--methods", "none", "--lengths", "512")

    def test_no_command_in_python_runs_a_module(self):
        self.plant_modules()
        (self.folder / "campaign.yaml").write_text("{}")
        for python in PYTHONS:
            for words in (["campaign", "--help"], ["campaign", "campaign.yaml", "--dry-run"], ["campaign", "status", "."],
                          ["export", "--parquet", "x.parquet", "."]):
                with self.subTest(python, words=words):
                    subprocess.run([MRROPE, *words], cwd=self.folder, capture_output=True, check=False,
                                   env={**os.environ, "MRROPE_PYTHON": python, "PYTHONPATH": str(PACKAGE)})
                    ran = (self.folder / "ran").exists()
                    (self.folder / "ran").unlink(missing_ok=True)
                    self.assertFalse(ran)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
