# SPDX-License-Identifier: MIT
"""Processes that are killed and disks that are full, for real.

    faults_test.py EDIT_DRIVER

The driver (edit_driver.cpp) is killed at random moments of a copy and of a change in place. Afterwards the source is
intact, a copy is complete or absent, and a file changed in place is, after recovery, the old one or the new one.
"""
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

DRIVER = sys.argv.pop(1)
KILLS = 200
MODEL_BYTES = 8 * 3_750_016  # eight tensors, each a multiple of the alignment


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def make_model(path):
    """A llama of ~30 MB with a vocabulary of 1 MB, so that its header is not written in one go."""
    tokens = b"".join(text(f"token{i}") for i in range(60_000))
    keys = [text("general.architecture") + struct.pack("<I", 8) + text("llama"),
            text("llama.context_length") + struct.pack("<II", 4, 8192),
            text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 60_000) + tokens]
    count = MODEL_BYTES // 4 // 8
    infos = [text(f"blk.{i}.weight") + struct.pack("<IQIQ", 1, count, 0, i * count * 4) for i in range(8)]
    header = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(keys)) + b"".join(keys) + b"".join(infos)
    header += b"\0" * (-len(header) % 32)
    path.write_bytes(header + random.Random(1).randbytes(8 * count * 4))


def run(*arguments, **options):
    return subprocess.run([DRIVER, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


class Moments:
    """When to kill: evenly from the start of a change to a little after its end.

    How long a change takes depends on what else the disk does, so that one measurement of it says little. The window
    follows what happens instead: a kill that came too late shortens it by a twentieth, one that came in time widens it
    by a fiftieth, which settles where 28 of 100 come too late.
    """

    def __init__(self, seed, window):
        self.random, self.window = random.Random(seed), window

    def next(self):
        return self.random.uniform(0, self.window)

    def tell(self, killed):
        self.window *= 1.02 if killed else 0.95


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="mrrope-faults-"))
        cls.source = cls.folder / "source.gguf"
        make_model(cls.source)
        cls.old = cls.source.read_bytes()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def kill_after(self, delay, *arguments):
        """True if the process was killed `delay` seconds after it began."""
        process = subprocess.Popen([DRIVER, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(delay)
        process.kill()
        _, errors = process.communicate()
        self.assertIn(process.returncode, (0, -9), errors)
        return process.returncode == -9

    def duration(self, *arguments):
        start = time.perf_counter()
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return time.perf_counter() - start

    def need_ranges(self, model):
        shutil.copyfile(self.source, model)
        if "cannot insert a range" in run("inplace", model).stderr:
            model.unlink()
            self.skipTest(f"the file system of {self.folder} cannot insert ranges")

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_killed_copy_is_complete_or_absent(self):
        target = self.folder / "copy.gguf"
        moments = Moments(2, self.duration("copy", self.source, target))
        new = target.read_bytes()
        killed = complete = 0
        for _ in range(KILLS):
            target.unlink(missing_ok=True)
            in_time = self.kill_after(moments.next(), "copy", self.source, target)
            moments.tell(in_time)
            killed += in_time
            if target.exists():
                complete += 1
                self.assertTrue(target.read_bytes() == new, "a copy under its final name that is not complete")
        self.assertTrue(self.source.read_bytes() == self.old)
        target.unlink(missing_ok=True)
        self.assertEqual(self.names(), ["source.gguf"], "killed copies leave nothing behind")
        print(f"copy: {killed} of {KILLS} killed, {complete} complete, {KILLS - complete} absent")
        self.assertGreater(killed, KILLS // 2)
        self.assertGreater(complete, KILLS // 20)

    def test_a_killed_change_in_place_is_the_old_or_the_new_file(self):
        model = self.folder / "model.gguf"
        self.need_ranges(model)
        shutil.copyfile(self.source, model)
        moments = Moments(3, self.duration("inplace", model))
        new = model.read_bytes()
        self.duration("undo", model)
        self.assertTrue(model.read_bytes() == self.old, "undone in place: the old bytes")
        state, seen = "old", {"old": 0, "new": 0}
        killed = undone = 0
        for i in range(KILLS):
            # There and back: both directions are changes in place.
            command = "inplace" if state == "old" else "undo"
            in_time = self.kill_after(moments.next(), command, model)
            moments.tell(in_time)
            killed += in_time
            done = run("recover", model)
            self.assertEqual(done.returncode, 0, done.stderr)
            undone += done.stdout == "undone\n"
            found = model.read_bytes()
            state = "old" if found == self.old else "new" if found == new else None
            self.assertIsNotNone(state, f"kill {i}, of {command}: neither the old nor the new file")
            seen[state] += 1
            self.assertEqual(self.names(), ["model.gguf", "source.gguf"], "no journal is left")
        model.unlink()
        print(f"in place: {killed} of {KILLS} killed, {undone} undone, then {seen}")
        self.assertGreater(undone, KILLS // 20)

    def limited(self, size):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def test_a_full_disk_leaves_no_part_of_a_copy(self):
        for size in (0, 4096, 1_000_000, MODEL_BYTES // 2, MODEL_BYTES + 1_000_000):
            done = run("copy", self.source, self.folder / "copy.gguf", preexec_fn=self.limited(size))
            self.assertEqual(done.returncode, 1)
            self.assertIn("File too large", done.stderr)
            self.assertEqual(self.names(), ["source.gguf"])

    def test_a_full_disk_undoes_a_change_in_place(self):
        model = self.folder / "model.gguf"
        self.need_ranges(model)
        for grown in (0, 4096, 8192):
            shutil.copyfile(self.source, model)
            done = run("inplace", model, preexec_fn=self.limited(self.source.stat().st_size + grown))
            self.assertEqual(done.returncode, 1)
            self.assertIn("File too large", done.stderr)
            self.assertTrue(model.read_bytes() == self.old)
            self.assertEqual(self.names(), ["model.gguf", "source.gguf"])
        model.unlink()


if __name__ == "__main__":
    unittest.main(verbosity=2)
