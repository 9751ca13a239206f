# SPDX-License-Identifier: MIT
"""Two commands at once that write to the same place, and readers that have mapped what is written.

    races_test.py MRROPE

Whatever the order of their steps, two commands leave what they would have left one after the other: both, or one of them
and a refusal that says why. What a refused command would have written is not there, nothing lies about, and the next
command works. Readers keep the bytes they have mapped.
"""
import fcntl
import mmap
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
import faults_everywhere as commands  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = commands.MRROPE = os.path.abspath(sys.argv.pop(1))
# Seconds between the two starts: a command takes 5 to 30 ms.
HEAD_STARTS = [0, 0, 0.002, 0.005, 0.009, 0.013]
REFUSALS = ("another process is changing this (file|folder)|open in another program|exists already|already extended|extended before|"
            "the folder is not empty|nothing to undo|was interrupted|has changed|was changed|"
            "the file ended at byte .* while it was being read")
# Of a command that was done, and whose result the other one replaced before it was read back.
OVERTAKEN = "read back, the file differs from the plan"
SIDECAR = ["extend", "m.gguf", "--method", "mrrope-pro", "--sidecar", "-o", "side"]
IN_PLACE = ["extend", "m.gguf", "--factor", "4", "--method", "mrrope-pro", "--in-place"]
OTHER_IN_PLACE = ["extend", "m.gguf", "--factor", "2", "--method", "yarn", "--in-place"]
UNDO_IN_PLACE = ["extend", "m.gguf", "--undo", "--in-place"]


def run(words, folder):
    return subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def start(words, folder):
    return subprocess.Popen([PROGRAM, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def needs_ranges(test, folder):
    """Skips where no file can be changed in place."""
    commands.gguf(folder)
    if "cannot insert a range" in " ".join(run(IN_PLACE, folder).stderr.split()):
        test.skipTest(f"the file system of {folder} cannot insert ranges")
    (folder / "m.gguf").unlink()


def state(folder):
    """As commands.snapshot, with names that differ from run to run (times) as TIME, TIME again …"""
    found = {}
    for name, value in commands.snapshot(folder).items():
        name = re.sub(r"\d{4}-\d\d-\d\dT[\d.:+-]+", "TIME", name)
        while name in found:
            name += " again"
        found[name] = value
    return found


class Races(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.template = self.place / "template"
        self.template.mkdir()

    def fresh(self):
        folder = self.place / "race"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.template, folder, symlinks=True)
        return folder

    def one_after_the_other(self, pair):
        """What may be left if these commands succeed: {(True, False): [state, …], …}."""
        allowed = {}
        if "--in-place" in pair[0] + pair[1]:  # each may meet the other while it only reads, and leave the file to it
            allowed[False, False] = [state(self.fresh())]
        for order in ((0, 1), (1, 0)):
            folder, done = self.fresh(), [False, False]
            for index in order:
                before = state(folder)
                done[index] = run(pair[index], folder).returncode == 0
                if not done[index]:
                    self.assertEqual(state(folder), before, "a refused command has changed something")
                allowed.setdefault(tuple(done), []).append(state(folder))
        if allowed[True, False] == allowed.get((False, True)):  # two successes with the same bytes
            allowed.setdefault((True, True), []).extend(allowed[True, False])
        return allowed

    def race(self, prepare, first, second, then):
        """Both at once, and `then`, a command that has to work afterwards, whoever was first."""
        if "--in-place" in first + second:
            needs_ranges(self, self.template)
        prepare(self.template)
        allowed = self.one_after_the_other((first, second))
        for head_start in HEAD_STARTS:
            folder = self.fresh()
            racing = [start(first, folder)]
            try:
                racing[0].wait(head_start)
            except subprocess.TimeoutExpired:
                pass
            racing.append(start(second, folder))
            said = [process.communicate(timeout=60)[1] for process in racing]
            statuses = [process.returncode for process in racing]
            self.assertLessEqual(set(statuses), {0, 1}, said)
            for status, text in zip(statuses, said):
                if status:
                    self.assertRegex(" ".join(text.split()), f"{REFUSALS}|{OVERTAKEN}")
            done = tuple(status == 0 or OVERTAKEN in " ".join(text.split()) for status, text in zip(statuses, said))
            self.assertIn(done, allowed, said)
            self.assertIn(state(folder), allowed[done], said)
            again = run(then, folder)
            self.assertEqual(again.returncode, 0, again.stderr)

    def race_of(self, name, then, second=None):
        case = commands.CASES[name]
        self.race(case.prepare, case.words, second or case.words, then)

    def test_two_copies_to_one_name(self):
        self.race_of("copy", ["inspect", "longer.gguf"])

    def test_two_different_copies_to_one_name(self):
        self.race_of("copy", ["inspect", "longer.gguf"], ["extend", "m.gguf", "--factor", "2", "-o", "longer.gguf"])

    def test_two_copies_over_an_older_one(self):
        self.race_of("copy over", ["inspect", "longer.gguf"], ["extend", "m.gguf", "--factor", "8", "-o", "longer.gguf", "-f"])

    def test_two_sidecars(self):
        self.race_of("sidecar", ["inspect", "m.gguf"])

    def test_two_different_sidecars(self):
        self.race_of("sidecar", ["inspect", "side"], SIDECAR + ["--factor", "2"])

    def test_two_different_sidecars_over_an_older_one(self):
        # The shard of one with the script of the other would rotate by one plan and count by another.
        self.race_of("sidecar over", ["inspect", "side"], SIDECAR + ["--factor", "8", "-f"])

    def test_a_sidecar_against_its_undo(self):
        self.race_of("undo sidecar", ["inspect", "m.gguf"], SIDECAR + ["--factor", "8", "-f"])

    def test_two_modelfiles(self):
        self.race_of("modelfile", ["inspect", "longer.gguf"])

    def test_two_copied_folders(self):
        self.race_of("copied folder", ["inspect", "second"])

    def test_a_copied_folder_against_a_linked_one(self):
        self.race_of("copied folder", ["inspect", "second"], commands.CASES["second folder"].words)

    def test_two_changes_in_place(self):
        self.race_of("in place", ["extend", "m.gguf", "--undo", "--in-place"])

    def test_two_different_changes_in_place(self):
        self.race_of("in place", ["extend", "m.gguf", "--undo", "--in-place"], OTHER_IN_PLACE)

    def test_two_undos_in_place(self):
        self.race_of("undo in place", ["extend", "m.gguf", "--factor", "4", "--in-place"])

    def test_an_undo_against_a_change_in_place(self):
        self.race_of("undo in place", ["inspect", "m.gguf"], OTHER_IN_PLACE)

    def test_a_copy_against_a_change_in_place(self):
        self.race_of("in place", ["inspect", "m.gguf"], commands.CASES["copy"].words)

    def test_two_changes_of_a_config(self):
        self.race_of("config", ["extend", "hf", "--undo"])

    def test_two_different_changes_of_a_config(self):
        self.race_of("config", ["extend", "hf", "--undo"], ["extend", "hf", "--factor", "2"])

    def test_two_undos_of_a_config(self):
        self.race_of("undo config", ["extend", "hf", "--factor", "4"])

    def test_an_undo_against_a_change_of_a_config(self):
        self.race_of("config", ["inspect", "hf"], ["extend", "hf", "--undo"])

    def test_two_second_folders(self):
        self.race_of("second folder", ["inspect", "second"])

    def test_two_merges(self):
        self.race_of("merge", ["export", "merged", "--lm-eval", "out"])

    def test_two_exports(self):
        self.race_of("export", ["export", "run-1", "--lm-eval", "out"])

    def test_two_pages(self):
        self.race_of("report", ["report", "p.json", "-o", "page.html"])

    def test_two_pages_over_an_older_one(self):
        self.race_of("report over", ["report", "p.json", "-o", "page.html"])


class Locks(unittest.TestCase):
    """The same without chance: somebody else holds what a command needs."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def refused(self, words, saying):
        before = state(self.folder)
        done = run(words, self.folder)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(saying, " ".join(done.stderr.split()))
        self.assertEqual(state(self.folder), before)

    def test_a_model_that_is_being_changed_is_left_alone(self):
        needs_ranges(self, self.folder)
        commands.gguf(self.folder)
        with open(self.folder / "m.gguf", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refused(IN_PLACE, "another process is changing this file")

    def test_a_folder_that_is_being_changed_is_left_alone(self):
        # Two changes of one config.json both said that they were done; an undo between the two steps of a change took the
        # original away for good.
        commands.config(self.folder)
        commands.gguf(self.folder)
        (self.folder / "second").mkdir()
        (self.folder / "ladder").mkdir()
        locked = [(["ladder", "m.gguf", "-c", "16k", "-o", "ladder"], "ladder"),
                  (["extend", "hf", "--factor", "4"], "hf"), (["extend", "hf", "--factor", "4", "-o", "second"], "second"), (["extend", "hf", "--undo"], "hf")]
        for words, place in locked:
            with self.subTest(words):
                if words[-1] == "--undo":
                    self.assertEqual(run(["extend", "hf", "--factor", "4"], self.folder).returncode, 0)
                folder = os.open(self.folder / place, os.O_RDONLY)
                fcntl.flock(folder, fcntl.LOCK_EX)
                self.refused(words, "another process is changing this folder")
                os.close(folder)
                self.assertEqual(run(words, self.folder).returncode, 0)
                run(["extend", "hf", "--undo"], self.folder)

    def test_a_model_that_somebody_has_mapped_is_left_alone(self):
        needs_ranges(self, self.folder)
        commands.gguf(self.folder)
        with open(self.folder / "m.gguf", "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        with mapped:
            self.refused(IN_PLACE, "open in another program")
        self.assertEqual(run(IN_PLACE, self.folder).returncode, 0)
        with open(self.folder / "m.gguf", "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
            self.refused(UNDO_IN_PLACE, "open in another program")

    def test_who_has_mapped_an_output_keeps_its_bytes(self):
        for name, output in (("copy over", "longer.gguf"), ("report over", "page.html"), ("config", "hf/config.json")):
            with self.subTest(name):
                shutil.rmtree(self.folder)
                self.folder.mkdir()
                commands.CASES[name].prepare(self.folder)
                with open(self.folder / output, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                    before = mapped[:]
                    self.assertEqual(run(commands.CASES[name].words, self.folder).returncode, 0)
                    self.assertEqual(mapped[:], before)


if __name__ == "__main__":
    unittest.main()
