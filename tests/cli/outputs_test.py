# SPDX-License-Identifier: MIT
"""What a command writes replaces only what mrrope wrote, and never what the command reads.

    outputs_test.py MRROPE

The writers, and the rule of each: report -o and --specs replace files of their own kind, and others with -f; extend has
a test of its own (extend_test.py); merge makes a new folder; export makes new files; eval adds to its folder. Every
other command writes to stdout.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "browser"))
import synthetic  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
MINE = "<!DOCTYPE html>\n<html><body>years of work</body></html>\n"


def run(*arguments, status=0, cwd=None):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=120, cwd=cwd,
                          env=dict(os.environ, COLUMNS="1000"))
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if status else done.stdout


class Outputs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.run = synthetic.write_run(self.folder / "run", "ppl", synthetic.ppl_records(texts=3))
        self.page = self.folder / "page.html"

    def contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def refuses(self, *arguments, saying, status=1):
        before = self.contents()
        self.assertIn(saying, run(*arguments, status=status))
        self.assertEqual(self.contents(), before)

    def test_a_page_replaces_an_older_page_of_ours(self):
        run("report", self.run, "-o", self.page)
        first = self.page.read_bytes()
        run("report", self.run, "-o", self.page, "--specs", self.folder / "specs")
        run("report", self.run, "-o", self.page, "--specs", self.folder / "specs")
        self.assertEqual(self.page.read_bytes(), first)

    def test_a_page_takes_the_place_of_an_empty_file(self):
        self.page.touch()
        run("report", self.run, "-o", self.page)
        self.assertGreater(self.page.stat().st_size, 1000)

    def test_a_file_of_somebody_else_is_replaced_only_if_that_is_asked_for(self):
        for content in (MINE.encode(), b"GGUF\3\0\0\0", b"x"):
            self.page.write_bytes(content)
            self.refuses("report", self.run, "-o", self.page, saying="mrrope did not write it\nhint: -f replaces it")
        run("report", self.run, "-o", self.page, "-f")
        self.assertIn(b"mrrope", self.page.read_bytes()[:4096])

    def test_a_file_that_is_read_is_never_replaced(self):
        plan = self.folder / "plan.json"
        plan.write_text(run("plan", "--spec", "dim=128,base=1e4,ctx=4k", "-c", "32k", "--json"))
        (self.folder / "link").symlink_to(plan)
        os.link(self.run / "records.jsonl", self.folder / "second-name")
        for force in ([], ["-f"]):
            for output in ("plan.json", "link", "run/records.jsonl", "run/run.json", "run/../run/run.json", "second-name"):
                self.refuses("report", self.run, plan, "-o", self.folder / output, *force, saying="never replaces it")
            self.refuses("report", self.run, "-o", self.run, *force, saying="error: ")

    def test_a_page_of_ours_that_is_read_is_not_replaced_either(self):
        run("report", self.run, "-o", self.page)
        self.refuses("report", self.run, self.page, "-o", self.page, "-f", saying="never replaces it")

    def test_pictures_replace_pictures_and_nothing_else(self):
        specs = self.folder / "specs"
        run("report", self.run, "-o", self.page, "--specs", specs)
        for path in sorted(specs.iterdir()):
            before = path.read_bytes()
            path.write_text(MINE)
            self.assertIn("mrrope did not write it\nhint: -f", run("report", self.run, "-o", self.page, "--specs", specs, status=1))
            self.assertEqual(path.read_text(), MINE)
            run("report", self.run, "-o", self.page, "--specs", specs, "-f")
            self.assertEqual(path.read_bytes(), before)

    def test_merge_makes_a_new_folder(self):
        (self.folder / "there").mkdir()
        self.page.write_text(MINE)
        for output in ("there", "page.html", "run"):
            self.refuses("merge", self.run, "-o", self.folder / output, saying="exists already")

    def test_export_leaves_what_is_there(self):
        out = self.folder / "out"
        for _ in range(2):
            before = self.contents()
            run("export", self.run, "--lm-eval", out)
            after = self.contents()
            self.assertEqual({path: after[path] for path in before}, before)
            self.assertGreater(len(after), len(before))

    def test_no_name_in_a_record_leads_out_of_the_folder_of_an_export(self):
        names = ["..", ".", "", "../../up", "/tmp/absolute", "a/b", "a\\b", "a:b", "-rf", "\u0000\u001b", "\u00e9" * 300, "...", ".hidden"]
        for engine, model in (("/v1/completions", "m"), ("llama.cpp 0.5.0", ".."), ("llama.cpp 0.5.0", "../../x")):
            place = self.folder / "deep" / "er" / f"{len(list(self.folder.glob('evil-*')))}"
            place.mkdir(parents=True)
            evil = self.folder / f"evil-{place.name}"
            records = []
            for name in names:
                for record in synthetic.ppl_records(texts=1, plans=(("yarn", 4.0),)):
                    records += [record | {"method": name, "key": f"{name} a"}, record | {"task": name, "key": f"{name} b"}]
            synthetic.write_run(evil, "ppl", records, model=model)
            info = json.loads((evil / "run.json").read_text())
            (evil / "run.json").write_text(json.dumps(info | {"engine": engine}))
            before = self.contents()
            run("export", evil, "--lm-eval", "out", cwd=place)
            written = set(self.contents()) - set(before)
            self.assertGreaterEqual(len(written), 2 * len(names))
            for path in written:
                self.assertEqual(len(path.relative_to(place / "out").parts), 2, path)


if __name__ == "__main__":
    unittest.main()
