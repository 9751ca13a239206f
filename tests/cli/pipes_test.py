# SPDX-License-Identifier: MIT
"""A pipe that nobody writes to, or a device without end, in the place of every file that a command reads or writes.

    pipes_test.py MRROPE

Opening a pipe waits for its other end: for ever, in a folder that somebody else has prepared.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "browser")]
import synthetic  # noqa: E402  pylint: disable=wrong-import-position
import tiny_gguf  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
CONFIG = HERE.parent / "formats" / "configs" / "llama-2-7b.json"
SECONDS = 60  # far more than any of these takes; only a hang reaches it
RUNS_MODELS = "trained length" in subprocess.run([PROGRAM, "eval", "gap", "--help"], capture_output=True, text=True, check=False).stdout


class Pipes(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.model = self.folder / "model.gguf"
        tiny_gguf.write(self.model, "llama", {})
        self.pipe = self.folder / "pipe.gguf"
        os.mkfifo(self.pipe)
        self.endless = self.folder / "endless.gguf"
        self.endless.symlink_to("/dev/zero")

    def refuses(self, *arguments, named):
        """Ends by itself, with an error that says which file."""
        with self.subTest(arguments=" ".join(map(str, arguments))):
            done = subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                                  timeout=SECONDS, env=dict(os.environ, COLUMNS="1000"))
            self.assertIn(done.returncode, (1, 2), done.stdout + done.stderr)
            self.assertTrue(done.stderr.startswith("error: "), done.stderr)
            self.assertIn(str(named), done.stderr)

    def hf_folder(self, *pipes):
        folder = self.folder / f"hf-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        shutil.copy(CONFIG, folder / "config.json")
        for name in pipes:
            (folder / name).unlink(missing_ok=True)
            os.mkfifo(folder / name)
        return folder

    def run_folder(self, *pipes):
        folder = self.folder / f"run-{len(list(self.folder.iterdir()))}"
        synthetic.write_run(folder, "ppl", synthetic.ppl_records(texts=2))
        for name in pipes:
            (folder / name).unlink()
            os.mkfifo(folder / name)
        return folder

    def test_as_a_model(self):
        for path in (self.pipe, self.endless):
            for command in (["inspect"], ["plan", "-c", "32k"], ["analyze", "-c", "32k"], ["doctor"], ["extend", "--factor", "4", "--in-place"],
                            ["extend", "--factor", "4", "-o", self.folder / "out.gguf"], ["extend", "--undo", "--in-place"],
                            ["diff", self.model]):
                self.refuses(*command, path, named=path)
            self.refuses("diff", path, self.model, named=path)

    def test_as_a_config(self):
        for name in ("config.json", "config.original.json"):
            folder = self.hf_folder(name)
            for command in (["inspect"], ["plan", "-c", "32k"], ["analyze", "-c", "32k"], ["doctor"], ["extend", "--factor", "4", "--in-place"],
                            ["extend", "--factor", "4", "-o", self.folder / "out"]):
                self.refuses(*command, folder, named=folder / name)

    def test_as_a_plan(self):
        for path in (self.pipe, self.endless):
            self.refuses("extend", self.model, "--plan", path, "-o", self.folder / "out.gguf", named=path)
            self.refuses("report", path, "-o", self.folder / "page.html", named=path)

    def test_in_a_run(self):
        for name in ("run.json", "records.jsonl"):
            run = self.run_folder(name)
            for command in (["compare"], ["report", "-o", self.folder / "page.html"], ["merge", "-o", self.folder / "merged"],
                            ["export", "--lm-eval", self.folder / "out"]):
                self.refuses(*command, run, named=run / name)

    def test_as_an_output(self):
        run = self.run_folder()
        for force in ([], ["-f"]):
            self.refuses("report", run, "-o", self.pipe, *force, named=self.pipe)
            self.refuses("extend", self.model, "--factor", "4", "-o", self.pipe, *force, named=self.pipe)
        self.refuses("merge", run, "-o", self.pipe, named=self.pipe)
        self.assertTrue(self.pipe.is_fifo())

    @unittest.skipUnless(RUNS_MODELS, "built without llama.cpp")
    def test_in_what_is_measured(self):
        text = self.folder / "text.txt"
        text.write_text("words " * 100)
        model = HERE.parent / "models" / "tiny-512.gguf"
        for path in (self.pipe, self.endless):
            self.refuses("eval", "ppl", "-m", path, "-f", text, "--factor", "4", "--lengths", "1k", named=path)
            self.refuses("eval", "ppl", "-m", model, "-f", path, "--factor", "4", "--lengths", "1k", named=path)
            self.refuses("eval", "gap", "-m", path, "-f", text, "--factor", "4", "--gaps", "0,1k", named=path)
            self.refuses("eval", "suite", "-m", path, "--factor", "4", named=path)
            self.refuses("tune", path, "-c", "1k", "-o", self.folder / "tuned", named=path)
            self.refuses("tune", model, "-c", "1k", "-f", path, "-o", self.folder / "tuned", named=path)
            self.refuses("eval", "niah", "-m", path, "--factor", "4", "--lengths", "1k", named=path)
            self.refuses("eval", "niah", "-m", model, "-f", path, "--factor", "4", "--lengths", "1k", named=path)
            for option in ("--words", "--questions"):
                self.refuses("eval", "ruler", "-m", model, option, path, "--factor", "4", "--lengths", "1k", named=path)
            self.refuses("eval", "longbench2", "-m", model, "--items", path, "--factor", "4", "--lengths", "1k", named=path)
            self.refuses("analyze", "--attention", "--factor", "4", "-m", path, "-f", text, named=path)
            self.refuses("analyze", "--attention", "--factor", "4", "-m", model, "-f", path, named=path)
        for name in ("run.json", "records.jsonl"):
            run = self.run_folder(name)
            self.refuses("eval", "niah", "-m", model, "--methods", "none", "--lengths", "256", "-o", run, named=run / name)


if __name__ == "__main__":
    unittest.main()
