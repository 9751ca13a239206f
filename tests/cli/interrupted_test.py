# SPDX-License-Identifier: MIT
"""A change in place that was interrupted, as a person meets it: every command says so, and one takes it back.

    interrupted_test.py MRROPE EDIT_DRIVER

The driver (tests/formats/edit_driver.cpp) stops a change after any number of effects on the disk, as a crash would.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

PROGRAM, DRIVER = sys.argv.pop(1), sys.argv.pop(1)


class Interrupted(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.file = self.root / "my model.gguf"
        tiny_gguf.write(self.file, "llama", {}, None, base=True)
        self.bytes = self.file.read_bytes()
        self.journal = self.root / "my model.gguf.mrrope-journal"

    def run_program(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def interrupt(self, steps):
        """False if the change has no more steps."""
        self.file.write_bytes(self.bytes)
        done = subprocess.run([DRIVER, "interrupt", self.file, str(steps)], capture_output=True, text=True, check=False)
        if "cannot insert a range" in done.stderr:
            self.skipTest(f"the file system of {self.root} cannot insert ranges")
        if done.returncode:
            self.assertIn("interrupted", done.stderr)
        return done.returncode != 0

    def state(self):
        return {path.name: path.read_bytes() for path in self.root.iterdir()}

    def test_every_command_says_what_to_type_at_every_step(self):
        # Between the shift and the new header `inspect` said that the file was no GGUF.
        steps = 1
        while self.interrupt(steps):
            before = self.state()
            self.assertIn(self.journal.name, before)
            for command in (["inspect", self.file], ["inspect", self.file, "--json"], ["doctor", self.file],
                            ["plan", self.file, "-c", "32k"], ["diff", self.file, self.file],
                            ["extend", self.file, "--factor", "4", "--dry-run"],
                            ["extend", self.file, "--undo", "--dry-run"]):
                with self.subTest(steps=steps, command=command):
                    text = " ".join(self.run_program(*command, status=1).split())
                    self.assertIn("was interrupted", text)
                    self.assertIn(f"mrrope extend '{self.file}' --undo", text)
                    self.assertEqual(self.state(), before, "a command that only reads has written")
            self.assertIn("an interrupted change was undone", self.run_program("extend", self.file, "--undo"))
            self.assertEqual(self.state(), {self.file.name: self.bytes})
            steps += 1
        self.assertGreater(steps, 6)

    def test_the_next_change_takes_the_interrupted_one_back(self):
        for flags in (["--factor", "4", "-o", self.root / "out.gguf"], ["--factor", "4", "--in-place"], ["--undo", "--in-place"]):
            with self.subTest(flags=flags):
                self.assertTrue(self.interrupt(5))
                self.assertIn("an interrupted change was undone", self.run_program("extend", self.file, *flags))
                self.assertFalse(self.journal.exists())
                self.run_program("inspect", self.file)

    def test_a_dry_run_beside_a_planted_journal_changes_nothing(self):
        # The third is of the first format, and true to it: a dry run cut the model down to 8 bytes.
        rest = struct.pack("<7Q", self.file.stat().st_ino, 4, len(self.bytes), 4, 1, 0, 4) + b"GGUF"
        checksum = 0xcbf29ce484222325
        for byte in rest:
            checksum = (checksum ^ byte) * 0x100000001b3 % 2**64
        planted = b"MRROPEJ1" + struct.pack("<QQ", 2, checksum) + rest
        self.assertEqual(len(planted), 84)
        for content in (b"", b"MRROPEJ2" + bytes(76), planted, b"MRROPEJ2" + planted[8:]):
            self.journal.write_bytes(content)
            before = self.state()
            self.run_program("extend", self.file, "--factor", "4", "--dry-run", status=1)
            text = self.run_program("extend", self.file, "--undo", status=1)
            self.assertIn("the journal can be deleted", " ".join(text.split()))
            self.assertEqual(self.state(), before)

    def test_a_journal_of_another_user_is_refused_with_a_reason(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        self.assertTrue(self.interrupt(5))
        os.chown(self.journal, 4242, -1)
        before = self.state()
        text = " ".join(self.run_program("extend", self.file, "--undo", status=1).split())
        self.assertIn("it belongs to user 4242, who is neither you nor the owner of the model", text)
        self.assertIn("delete the journal", text)
        self.assertEqual(self.state(), before)

    def test_a_copy_of_model_and_journal_is_taken_back(self):
        self.assertTrue(self.interrupt(5))
        copy = self.root / "copy"
        copy.mkdir()
        for path in (self.file, self.journal):
            shutil.copy2(path, copy)
        self.run_program("extend", copy / self.file.name, "--undo")
        self.assertEqual((copy / self.file.name).read_bytes(), self.bytes)

    def test_a_file_with_several_names_is_changed_only_by_force(self):
        self.assertTrue(self.interrupt(1))  # skips where files cannot be changed in place
        self.journal.unlink()
        self.file.write_bytes(self.bytes)
        os.link(self.file, self.root / "second.gguf")
        for flags in ([], ["--dry-run"]):
            text = " ".join(self.run_program("extend", self.file, "--factor", "4", "--in-place", *flags, status=1).split())
            self.assertIn("2 names (hard links)", text)
            self.assertIn("--force", text)
            self.assertEqual(self.file.read_bytes(), self.bytes)
        self.run_program("extend", self.file, "--factor", "4", "--in-place", "-f")
        self.assertIn("2 names", self.run_program("extend", self.file, "--undo", "--in-place", status=1))
        self.run_program("extend", self.file, "--undo", "--in-place", "-f")
        self.assertEqual((self.root / "second.gguf").read_bytes(), self.bytes)

    def test_a_file_with_a_sidecar_is_changed_only_by_force(self):
        self.assertTrue(self.interrupt(1))
        self.journal.unlink()
        self.file.write_bytes(self.bytes)
        for where in ([], ["-o", self.root]):
            self.run_program("extend", self.file, "--factor", "4", "--sidecar", *where)
            for flags in ([], ["--dry-run"]):
                text = " ".join(self.run_program("extend", self.file, "--factor", "4", "--in-place", *flags, status=1).split())
                self.assertIn("a sidecar refers to this file", text)
                self.assertEqual(self.file.read_bytes(), self.bytes)
            self.run_program("extend", self.file, "--factor", "4", "--in-place", "-f")
            self.run_program("extend", self.file, "--undo", "--in-place", "-f")
            self.assertEqual(self.file.read_bytes(), self.bytes)
            shutil.rmtree(self.root / "my model-mrrope", ignore_errors=True)


if __name__ == "__main__":
    unittest.main()
