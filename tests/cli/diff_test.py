# SPDX-License-Identifier: MIT
"""`mrrope diff` says whether two files rotate alike, and does not where it knows that an engine does something else.

    diff_test.py MRROPE CONFIGS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

PROGRAM = sys.argv.pop(1)
CONFIGS = pathlib.Path(sys.argv.pop(1))


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Diff(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def extended(self, name):
        folder = self.root / name
        folder.mkdir()
        (folder / "config.json").write_text((CONFIGS / f"{name}.json").read_text())
        run("extend", folder, "--factor", "4")
        return folder

    def test_an_engine_that_computes_something_else_is_not_the_same(self):
        folder = self.extended("deepseek-v3")
        text = run("diff", f"{folder}@vllm", folder, status=3)
        self.assertIn("in vllm computes something else than this table", text)
        self.assertIn("runs its YaRN for DeepSeek", text)
        self.assertTrue(text.endswith("not the same rotation\n"))
        answer = json.loads(run("diff", f"{folder}@vllm", folder, "--json", status=3))
        self.assertEqual((answer["equal"], answer["by_table"]), (False, [False, True]))

    def test_engines_that_obey_are_the_same(self):
        folder = self.extended("llama-2-7b")
        self.assertTrue(run("diff", f"{folder}@vllm", folder).endswith("the same rotation\n"))

    def test_a_path_may_have_the_sign_of_an_engine(self):
        for place in ("user@1/model.gguf", "model@home.gguf"):
            path = self.root / place
            path.parent.mkdir(exist_ok=True)
            tiny_gguf.write(path, "llama", {})
            self.assertIn("the same rotation", run("diff", path, f"{path}@llama.cpp"))
        self.assertIn("the same rotation", run("diff", self.root / "user@1/model.gguf", self.root / "model@home.gguf"))


if __name__ == "__main__":
    unittest.main()
