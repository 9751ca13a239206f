# SPDX-License-Identifier: MIT
"""What is said of model files: those that are none, and those whose values are long.

    inspect_test.py MRROPE CONFIGS
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

PROGRAM = sys.argv.pop(1)
CONFIGS = pathlib.Path(sys.argv.pop(1))
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if status else done.stdout


class NotAModel(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def refusal(self, name, content):
        (self.root / name).write_text(content)
        return run("inspect", self.root / name, status=1)

    def test_files_that_are_no_model_are_named(self):
        self.assertIn("model.gguf: no GGUF: the file is empty", self.refusal("model.gguf", ""))
        self.assertIn("a Git LFS pointer, whose content was not fetched", self.refusal("model.gguf", POINTER))
        self.assertIn("no GGUF", self.refusal("model.gguf", "<html>not found</html>"))
        self.assertIn("not valid JSON", self.refusal("config.json", "<html>not found</html>"))

    def test_a_folder_with_a_gguf_says_which(self):
        self.assertIn("no config.json in this folder\n", run("inspect", self.root, status=1))
        (self.root / "model.gguf").write_text("")
        self.assertIn("but model.gguf: name the .gguf itself", run("inspect", self.root, status=1))
        (self.root / "other.gguf").write_text("")
        self.assertIn("but model.gguf and 1 more", run("inspect", self.root, status=1))


class LongValues(unittest.TestCase):
    def widest(self, *arguments):
        return max(len(line) for line in run(*arguments).splitlines() if not line.startswith(("run ", "next ", "wrote ", "nothing ")))

    def test_groups_of_layers_stand_beside_their_values(self):
        text = run("inspect", CONFIGS / "gemma-3-4b-v5.json")
        self.assertRegex(text, r"\nrope +full_attention: base 1000000 ")
        self.assertRegex(text, r"\n +sliding_attention: base 10000 ")

    def test_only_lists_are_called_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "m.gguf"
            tiny_gguf.write(file, "deepseek2", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
                                                "rope.scaling.yarn_log_multiplier": 0.0707})
            self.assertRegex(run("inspect", file), r"trained with\s+yarn:mscale=0\.70\d+:mscale_all_dim=0\.70\d+,\s+factor 4")
        self.assertRegex(run("inspect", CONFIGS / "phi-3-mini-128k.json"), r"trained\s+with\s+longrope\s+\(a\s+list\), factor")

    def test_lists_are_shown_by_their_ends(self):
        self.assertLessEqual(self.widest("plan", CONFIGS / "phi-3-mini-128k.json", "-c", "256k"), 80)
        for config in ("gemma-3-4b-v5", "gemma-3-4b", "phi-3-mini-128k"):
            self.assertLessEqual(self.widest("extend", CONFIGS / f"{config}.json", "--factor", "2", "--dry-run", "-o", "a-folder"), 120)


if __name__ == "__main__":
    unittest.main()
