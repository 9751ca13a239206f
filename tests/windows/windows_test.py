# SPDX-License-Identifier: MIT
"""mrrope.exe under wine, on real files: the same bytes as the program of Linux, and what is different on Windows.

    windows_test.py MRROPE_EXE MRROPE MODEL

MRROPE is the program for Linux, the source of what is expected, and MODEL a .gguf (tests/models/tiny-512.gguf). wine's
prefix is that of the environment. Names of files are those of Linux, which wine shows as drive Z:. wine 8 makes no symbolic links
and shows those of Linux as what they lead to: they are not tested here.
"""
import json
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

EXE, LINUX, MODEL = (str(pathlib.Path(sys.argv.pop(1)).resolve()) for _ in range(3))
EVAL = pathlib.Path(EXE).with_name("mrrope-eval.exe")
KILLS = int(os.environ.get("MRROPE_WINDOWS_KILLS", "60"))
ENVIRONMENT = dict(os.environ, WINEDEBUG="-all", WINEDLLOVERRIDES="mscoree=;mshtml=", LC_ALL="C.UTF-8", LANG="C.UTF-8")
NASTY = ["größer als 1.gguf", "模型 🚀.gguf", "it's 100% $HOME & co.gguf", "trailing dot..gguf"]


def windows(*arguments, **options):
    return subprocess.run(["wine", EXE, *map(str, arguments)], capture_output=True, check=False, env=ENVIRONMENT, timeout=300,
                          **options)


def linux(*arguments, **options):
    return subprocess.run([LINUX, *map(str, arguments)], capture_output=True, check=False, timeout=300, **options)


class InFolder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="mrrope-windows-")
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.model = self.root / "model.gguf"
        shutil.copyfile(MODEL, self.model)
        self.old = self.model.read_bytes()

    def run_program(self, *arguments, status=0):
        done = windows(*arguments, cwd=self.root)
        self.assertEqual(done.returncode, status, (done.stdout + done.stderr).decode(errors="replace"))
        self.assertNotIn(b"\r", done.stdout + done.stderr, "lines end as everywhere else")
        return (done.stderr if status else done.stdout).decode()

    def names(self, folder=None):
        return sorted(path.name for path in (folder or self.root).iterdir())

    def extended(self, name="model.gguf"):
        """The model as the program of Linux extends it."""
        target = self.root / "by-linux.gguf"
        done = linux("extend", name, "-c", "2k", "-o", target, cwd=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        data = target.read_bytes()
        target.unlink()
        return data


class SameAsOnLinux(InFolder):
    """Texts and files, byte for byte."""

    def same_text(self, *arguments):
        done = linux(*arguments, cwd=self.root)
        self.assertEqual(self.run_program(*arguments, status=done.returncode), (done.stderr if done.returncode else done.stdout).decode())

    def test_inspect(self):
        self.same_text("inspect", "model.gguf")
        self.same_text("inspect", "model.gguf", "--json")

    def test_plan(self):
        self.same_text("plan", "model.gguf", "-c", "2k")
        self.same_text("plan", "model.gguf", "-c", "2k", "--json")
        self.same_text("plan", "--spec", "dim=128,base=1e4,ctx=4k", "-c", "64k", "--json")

    def test_doctor_and_diff(self):
        self.same_text("doctor", "model.gguf")
        (self.root / "longer.gguf").write_bytes(self.extended())
        self.same_text("doctor", "longer.gguf")
        self.same_text("diff", "model.gguf", "longer.gguf")

    def test_analyze_and_methods(self):
        self.same_text("analyze", "model.gguf", "-c", "2k")
        self.same_text("methods")
        self.same_text("--help")

    def test_mistakes(self):
        self.same_text("inspect", "missing.gguf")
        self.same_text("plan", "model.gguf", "-c", "nonsense")
        self.same_text("frobnicate")

    def test_a_copy(self):
        self.run_program("extend", "model.gguf", "-c", "2k", "-o", "longer.gguf")
        self.assertEqual((self.root / "longer.gguf").read_bytes(), self.extended())
        self.run_program("extend", "longer.gguf", "--undo", "-o", "back.gguf")
        self.assertEqual((self.root / "back.gguf").read_bytes(), self.old)
        self.assertEqual(self.names(), ["back.gguf", "longer.gguf", "model.gguf"])

    def test_a_folder_of_hugging_face(self):
        folder = self.root / "model"
        folder.mkdir()
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
                  "num_key_value_heads": 8, "num_hidden_layers": 32, "head_dim": 128, "max_position_embeddings": 8192,
                  "rope_theta": 500000.0, "rope_scaling": None, "vocab_size": 128256}
        text = json.dumps(config, indent=2) + "\n"
        for name in ("model", "expected"):
            (self.root / name).mkdir(exist_ok=True)
            (self.root / name / "config.json").write_text(text)
        linux("extend", self.root / "expected", "-c", "32k")
        self.run_program("extend", "model", "-c", "32k")
        self.assertEqual((folder / "config.json").read_bytes(), (self.root / "expected" / "config.json").read_bytes())
        self.run_program("extend", "model", "--undo")
        self.assertEqual((folder / "config.json").read_text(), text)
        self.assertEqual(self.names(folder), ["config.extended.json", "config.json"], "the lock is gone, too")

    def test_a_second_folder_of_hugging_face(self):
        (self.root / "model").mkdir()
        (self.root / "model" / "config.json").write_text(json.dumps({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
            "num_hidden_layers": 2, "head_dim": 16, "max_position_embeddings": 2048, "rope_theta": 10000.0}))
        (self.root / "model" / "model.safetensors").write_text("weights")
        self.run_program("extend", "model", "-c", "8k", "-o", "longer")
        self.assertEqual((self.root / "longer" / "model.safetensors").read_text(), "weights")
        self.assertEqual(self.names(self.root / "longer"), ["config.json", "config.original.json", "model.safetensors"])
        linux("extend", "model", "-c", "8k", "-o", "expected", cwd=self.root)
        self.assertEqual((self.root / "longer" / "config.json").read_bytes(), (self.root / "expected" / "config.json").read_bytes())

    def test_files_of_others_in_a_folder_that_is_changed_stay(self):
        (self.root / "model").mkdir()
        (self.root / "model" / "config.json").write_text(json.dumps({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
            "num_hidden_layers": 2, "head_dim": 16, "max_position_embeddings": 2048, "rope_theta": 10000.0}))
        (self.root / "victim.txt").write_text("precious")
        (self.root / "model" / ".mrrope-lock").symlink_to("../victim.txt")  # which was the name of our lock once
        self.run_program("extend", "model", "-c", "8k")
        self.assertEqual((self.root / "victim.txt").read_text(), "precious")
        self.assertTrue((self.root / "model" / ".mrrope-lock").is_symlink())

    def test_a_config_with_the_line_ends_of_windows(self):
        folder = self.root / "model"
        folder.mkdir()
        (folder / "config.json").write_bytes(
            b'{\r\n  "model_type": "llama",\r\n  "hidden_size": 64,\r\n  "num_attention_heads": 4,\r\n'
            b'  "num_hidden_layers": 2,\r\n  "max_position_embeddings": 2048\r\n}\r\n')
        self.same_text("inspect", "model")
        self.same_text("plan", "model", "-c", "8k")


class InPlace(InFolder):
    def test_in_place_and_undo(self):
        # The program of Linux needs a file system that inserts ranges; a copy has the same bytes
        expected = self.extended()
        text = self.run_program("extend", "model.gguf", "-c", "2k", "--in-place")
        self.assertEqual(self.model.read_bytes(), expected)
        self.assertIn("room for both", " ".join(text.split()))
        self.assertEqual(self.names(), ["model.gguf"])
        self.run_program("extend", "model.gguf", "--undo", "--in-place")
        self.assertEqual(self.model.read_bytes(), self.old)

    def test_a_dry_run_says_what_it_needs_and_writes_nothing(self):
        text = self.run_program("extend", "model.gguf", "-c", "2k", "--in-place", "--dry-run")
        self.assertIn("room for both", " ".join(text.split()))
        self.assertEqual(self.model.read_bytes(), self.old)

    def test_a_file_with_two_names_is_refused_without_force(self):
        os.link(self.model, self.root / "other.gguf")
        self.assertIn("2 names", self.run_program("extend", "model.gguf", "-c", "2k", "--in-place", status=1))
        self.run_program("extend", "model.gguf", "-c", "2k", "--in-place", "-f")
        self.assertEqual((self.root / "other.gguf").read_bytes(), self.old)

    def test_kills_leave_the_old_file_or_the_new_one(self):
        make_large_model(self.model)
        old = self.model.read_bytes()
        expected = self.root / "expected.gguf"
        self.assertEqual(linux("extend", "model.gguf", "-c", "32k", "-o", expected, cwd=self.root).returncode, 0)
        new = expected.read_bytes()
        expected.unlink()
        dice = random.Random(1)
        killed = replaced = left = 0
        window = 0.3
        for _ in range(KILLS):
            process = subprocess.Popen(["wine", EXE, "extend", "model.gguf", "-c", "32k", "--in-place"], cwd=self.root, env=ENVIRONMENT,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and len(self.names()) == 1:
                time.sleep(0.001)
            time.sleep(dice.uniform(0, window))
            process.send_signal(signal.SIGKILL)
            in_time = process.wait() != 0
            killed += in_time
            window *= 1.05 if in_time else 0.85
            time.sleep(0.1)  # wine's server closes what the process had open
            now = self.model.read_bytes()
            self.assertIn(now, (old, new), "neither the old file nor the new one")
            for path in self.root.iterdir():
                if path != self.model:
                    left += 1
                    self.assertTrue(path.name.startswith("model.gguf.") and path.name.endswith(".tmp"), path)
                    path.unlink()
            if now == new:
                replaced += 1
                self.model.write_bytes(old)
        print(f"in place: {killed} of {KILLS} killed, {replaced} new, {KILLS - replaced} old, {left} temporary files left")
        self.assertGreater(killed, KILLS // 3)
        self.assertLess(left, KILLS // 4)


def make_large_model(path):
    """Sixteen million weights, so that a copy takes a while."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()
    keys = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
    for name, value in {"block_count": 2, "context_length": 8192, "embedding_length": 64, "attention.head_count": 4,
                        "rope.dimension_count": 16, "feed_forward_length": 128}.items():
        keys.append(text(f"llama.{name}") + struct.pack("<II", 4, value))
    keys.append(text("llama.rope.freq_base") + struct.pack("<If", 6, 10000.0))
    count = 16 << 20
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys)) + b"".join(keys)
    header += text("token_embd.weight") + struct.pack("<IQIQ", 1, count, 0, 0)
    path.write_bytes(header + b"\0" * (-len(header) % 32) + random.Random(2).randbytes(count * 4))


class Names(InFolder):
    def test_names_in_every_script(self):
        for name in NASTY:
            with self.subTest(name=name):
                shutil.copyfile(MODEL, self.root / name)
                text = self.run_program("plan", name, "-c", "2k")
                self.assertIn(f'mrrope extend "{name}" -c 2k', text, "a line for cmd and PowerShell")
                target = "länger " + name
                self.run_program("extend", name, "-c", "2k", "-o", target)
                self.assertEqual((self.root / target).read_bytes(), self.extended(name))
                self.run_program("extend", name, "-c", "2k", "--in-place")
                self.run_program("extend", name, "--undo", "--in-place")
                self.assertEqual((self.root / name).read_bytes(), self.old)

    def test_drive_letters_and_backslashes(self):
        path = "Z:" + str(self.model).replace("/", "\\")
        text = self.run_program("plan", path, "-c", "2k")
        self.assertIn(f"mrrope extend {path} -c 2k", text)
        self.run_program("extend", path, "-c", "2k", "-o", "sub-of.gguf")
        self.assertEqual((self.root / "sub-of.gguf").read_bytes(), self.extended())

    def test_paths_longer_than_260_letters(self):
        folder = self.root
        while len(str(folder)) < 400:
            folder = folder / ("länger" * 8)
            folder.mkdir()
        shutil.copyfile(MODEL, folder / "model.gguf")
        path = "Z:" + str(folder).replace("/", "\\")
        self.run_program("inspect", path + "\\model.gguf")
        self.run_program("extend", path + "\\model.gguf", "-c", "2k", "-o", path + "\\longer.gguf")
        self.assertEqual((folder / "longer.gguf").read_bytes(), self.extended())
        self.run_program("extend", path + "\\model.gguf", "-c", "2k", "--in-place")
        self.assertEqual((folder / "model.gguf").read_bytes(), self.extended())

    def test_names_of_devices_are_no_files(self):
        for name in ("NUL", "con.gguf", "com1.gguf", "com¹.gguf", "sub\\AUX.gguf"):
            text = self.run_program("extend", "model.gguf", "-c", "2k", "-o", name, status=1)
            self.assertIn("a device", text)
        self.assertIn("NUL", self.run_program("inspect", "NUL", status=1))
        self.assertEqual(self.names(), ["model.gguf"])


class HeldByOthers(InFolder):
    """Another program of Windows has the file open, as llama-server has its model: cmd reads from it and waits."""

    def setUp(self):
        super().setUp()
        # ping keeps its standard input open and needs no network
        (self.root / "hold.cmd").write_bytes(b"@echo off\r\nping -n 60 127.0.0.1 >NUL < model.gguf\r\n")
        self.holder = subprocess.Popen(["wine", "cmd", "/c", "hold.cmd"], cwd=self.root, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)
        time.sleep(3)
        if self.holder.poll() is not None:
            self.skipTest("wine's cmd does not hold a file open")

    def end(self):
        if self.holder.poll() is None:
            self.holder.kill()
        self.holder.wait()

    def test_a_change_in_place_says_so_and_damages_nothing(self):
        text = self.run_program("extend", "model.gguf", "-c", "2k", "--in-place", status=1)
        self.assertIn("another program has the file open", text)
        self.assertEqual(self.model.read_bytes(), self.old)
        self.assertEqual(self.names(), ["hold.cmd", "model.gguf"])

    def test_a_copy_of_a_read_only_file_that_cannot_take_its_name_is_removed(self):
        """Its unfinished copy was read-only, too, and Windows removes no such file: gigabytes were left at each attempt."""
        shutil.copyfile(MODEL, self.root / "read-only.gguf")
        (self.root / "read-only.gguf").chmod(0o444)
        self.run_program("extend", "read-only.gguf", "-c", "2k", "-o", "model.gguf", "-f", status=1)
        self.assertEqual(self.model.read_bytes(), self.old)
        self.assertEqual(self.names(), ["hold.cmd", "model.gguf", "read-only.gguf"])

    def test_reading_and_copying_go_on(self):
        self.run_program("extend", "model.gguf", "-c", "2k", "-o", "longer.gguf")
        self.assertEqual((self.root / "longer.gguf").read_bytes(), self.extended())


class Links(InFolder):
    def test_a_sidecar_and_its_undo(self):
        self.run_program("extend", "model.gguf", "-c", "2k", "--sidecar", "-o", "beside")
        first = self.root / "beside" / "model-00001-of-00002.gguf"
        self.assertEqual(first.read_bytes(), self.old)
        self.assertNotIn(b"\r", (self.root / "beside" / "serve.sh").read_bytes())
        self.run_program("inspect", "beside")
        self.run_program("extend", "model.gguf", "-c", "4k", "--sidecar", "-o", "beside", "-f")  # again
        self.run_program("extend", "beside", "--undo")
        self.assertEqual(self.names(), ["model.gguf"])
        self.assertEqual(self.model.read_bytes(), self.old)


class Console(InFolder):
    """A pseudo-terminal, which wine shows to the program as a console."""

    def on_terminal(self, *arguments, press_ctrl_c_when=None):
        """The exit status and what was shown."""
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(self.root)
            os.execvpe("wine", ["wine", EXE, *arguments], dict(ENVIRONMENT, TERM="xterm"))
        output, ended = b"", None
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and ended is None:
            if press_ctrl_c_when and press_ctrl_c_when():
                os.write(master, b"\x03")
                press_ctrl_c_when = None
            ready, _, _ = select.select([master], [], [], 0.2)
            if ready:
                try:
                    output += os.read(master, 65536)
                except OSError:
                    break
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                ended = os.waitstatus_to_exitcode(status)
        if ended is None:
            ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(master)
        return ended, output.decode(errors="replace")


class OnAConsole(Console):
    def test_tables_are_utf_8(self):
        status, text = self.on_terminal("analyze", "model.gguf", "-c", "2k")
        self.assertEqual(status, 0, text)
        expected = linux("analyze", "model.gguf", "-c", "2k", cwd=self.root).stdout.decode()
        for letter in sorted(set(expected) - set(map(chr, range(128)))):
            self.assertIn(letter, text)


@unittest.skipUnless(EVAL.exists(), "mrrope-eval.exe was built without libcurl")
class Eval(Console):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
        import answering_server  # pylint: disable=import-outside-toplevel
        self.server = answering_server
        (self.root / "text.txt").write_text("What is 3 + 4? " * 4000)

    def arguments(self, url, *more, samples=4):
        return ("eval", "niah", "--endpoint", url, "--model", "m", "--lengths", "1k", "--samples", str(samples), *more)

    def test_a_run_has_the_records_of_linux(self):
        with self.server.running() as url:
            self.run_program(*self.arguments(url, "-o", "größer"))
            done = linux(*self.arguments(url, "-o", "by-linux"), cwd=self.root)
            self.assertEqual(done.returncode, 0, done.stderr)
        def records(folder):
            found = [json.loads(line) for line in (self.root / folder / "records.jsonl").read_text().splitlines()]
            return sorted((r["key"], json.dumps(r.get("score"))) for r in found)
        self.assertEqual(records("größer"), records("by-linux"))
        self.assertNotIn(b"\r", (self.root / "größer" / "records.jsonl").read_bytes())
        self.run_program("compare", "größer")
        self.run_program("report", "größer", "-o", "seite.html")

    def test_ctrl_c_keeps_what_was_measured(self):
        records = self.root / "kept" / "records.jsonl"
        def some():
            return records.exists() and records.read_bytes().count(b"\n") >= 2
        with self.server.running(delay=0.5) as url:
            status, text = self.on_terminal(*self.arguments(url, "-o", "kept", samples=100), press_ctrl_c_when=some)
            self.assertEqual(status, 130, text)
            self.assertIn("interrupted", text)
            kept = records.read_bytes()
            self.assertTrue(kept.endswith(b"\n"))
            self.assertTrue(all(json.loads(line) for line in kept.splitlines()))

    def test_help_goes_through_the_other_program(self):
        self.assertIn("niah", self.run_program("eval", "--help"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
