# SPDX-License-Identifier: MIT
"""Nothing that a file, a folder or a record says reaches the terminal as anything but text; and streams that are closed or full.

    terminal_test.py MRROPE

tests/base/text_test.cpp pushes every code point and every pair of bytes through the filter; here strings of what terminals
obey stand wherever a stranger can put them."""
import fcntl
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
import synthetic  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = sys.argv.pop(1)

# ESC, BEL, CR, LF, BS, DEL; CSI of C1; what turns the direction; separators of lines; tags.
EVIL = "a\x1b[31m\x07\r\x08\x7f\x9b2J\u202e\u2066\u2028\u200bb"
# As bytes: the same, and what is no UTF-8 (overlong escapes and line feeds, a surrogate, too large).
EVIL_BYTES = EVIL.encode() + b"\xe0\x80\x9b\xf0\x80\x80\x9b\xc0\x8a\xed\xa0\x80\xf4\x90\x80\x80\xff\x9b"
HIDDEN = {0x7F, 0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF, *range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2060, 0x2070),
          *range(0xE0000, 0xE1000)}

PLAN = ("plan", "--spec", "dim=64,base=1e4,ctx=2k", "--factor", "4", "--json")


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=60, check=False, **options)


class Shown(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)

    def shows_text_only(self, *arguments, **options):
        done = run(*map(os.fsencode, arguments), **options)
        self.assertLess(done.returncode, 128, arguments)
        for stream in (done.stdout, done.stderr):
            text = stream.decode("utf-8")  # strict
            for c in text:
                self.assertTrue(c in "\n\t" or (ord(c) >= 32 and ord(c) not in HIDDEN), f"{arguments}: {c!r} in {text!r}")
        return done

    def models(self, *paths):
        for path in paths:
            for command in (["inspect"], ["inspect", "--json"], ["doctor"], ["doctor", "--json"], ["plan", "-c", "8k"], ["plan", "-c", "8k", "--json"],
                            ["extend", "-c", "8k", "--dry-run"], ["extend", "-c", "8k", "--dry-run", "--json"], ["analyze", "--factor", "4"],
                            ["diff", path], ["report", "-o", self.root / "page.html"]):
                self.shows_text_only(command[0], path, *command[1:])

    def test_a_config_whose_values_and_keys_steer(self):
        whole = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 2048,
                 "rope_theta": 10000.0}
        for change in ({"model_type": EVIL}, {EVIL: 1}, {"rope_scaling": {"rope_type": EVIL, "factor": 2}},
                       {"rope_scaling": {"rope_type": "yarn", "factor": 2, EVIL: 1}}, {"rope_scaling": {"type": "linear", "rope_type": EVIL, "factor": 2}},
                       {"hidden_size": EVIL}, {"rope_theta": EVIL}, {"architectures": [EVIL]}, {"layer_types": [EVIL, EVIL]}, {"_name_or_path": EVIL}):
            folder = self.root / "model"
            folder.mkdir(exist_ok=True)
            (folder / "config.json").write_text(json.dumps(whole | change, ensure_ascii=False), encoding="utf-8")
            self.models(folder)

    def test_a_key_that_occurs_twice(self):
        twice = json.dumps(EVIL)
        (self.root / "config.json").write_text('{"a": 1, %s: 1, %s: 2}' % (twice, twice))
        self.models(self.root / "config.json")

    def test_a_gguf_whose_names_steer(self):
        for text in (EVIL_BYTES, EVIL_BYTES * 20):
            tiny_gguf.write(self.root / "m.gguf", "llama", {"rope.scaling.type": text}, name=text)
            self.models(self.root / "m.gguf")
            tiny_gguf.write(self.root / "m.gguf", text, {}, name=text)
            self.models(self.root / "m.gguf")

    def test_names_of_files_and_folders(self):
        folder = os.path.join(os.fsencode(self.root), b"f" + EVIL_BYTES + b"\n")
        os.mkdir(folder)
        for name in (b"m" + EVIL_BYTES + b"\n.gguf", b"n" + EVIL_BYTES + b".gguf"):
            tiny_gguf.write(os.fsdecode(os.path.join(folder, name)), "llama", {})
        self.models(os.fsdecode(folder), os.fsdecode(os.path.join(folder, name)), os.fsdecode(folder) + "/nothing\x1b.gguf")

    def test_a_printed_command_with_such_a_name_works_in_a_shell(self):
        path = os.path.join(os.fsencode(self.root), b"it's\x1b[31m\xff.gguf")
        tiny_gguf.write(os.fsdecode(path), "llama", {})
        text = self.shows_text_only("inspect", os.fsdecode(path)).stdout.decode()
        words = text[text.index("mrrope plan ") + len("mrrope plan "):].split(" -c")[0]
        found = subprocess.run(["bash", "-c", f"printf %s {words}"], capture_output=True, check=True).stdout
        self.assertEqual(found, path)

    def test_a_plan_whose_fields_steer(self):
        plan = json.loads(run(*PLAN).stdout)
        path = self.root / "p.json"
        for change in ({"schema": EVIL}, {EVIL: 1}, {"source": EVIL}, {"method": plan["method"] | {"name": EVIL}}, {"method": plan["method"] | {EVIL: 1}},
                       {"radix": plan["radix"] | {"kind": EVIL}}, {"spec": plan["spec"] | {EVIL: 1}}):
            path.write_text(json.dumps(plan | change, ensure_ascii=False), encoding="utf-8")
            for command in (["plan", path], ["diff", path, path], ["report", path, "-o", self.root / "page.html"], ["analyze", path]):
                self.shows_text_only(*command)

    def test_a_run_whose_fields_steer(self):
        for field in ("task", "model", "engine", "machine", "version", "settings", "record method", "record task", "record document", "record key"):
            folder = self.root / f"run {field}"
            records = [record | ({field[7:]: EVIL} if field.startswith("record") else {}) for record in synthetic.needle_records(samples=1, depths=2)]
            synthetic.write_run(folder, "niah", records)
            info = json.loads((folder / "run.json").read_text())
            if field in info:
                info[field] = {EVIL: EVIL} if field == "settings" else EVIL
            (folder / "run.json").write_text(json.dumps(info))
            for command in (["compare", folder], ["compare", folder, "--json"], ["report", folder, "-o", self.root / "page.html"],
                            ["merge", folder, folder, "-o", self.root / f"merged {field}"], ["export", folder, "--lm-eval", self.root / f"out {field}"]):
                self.shows_text_only(*command)

    def test_words_of_the_command_line(self):
        for words in ([EVIL], ["plan", EVIL], ["plan", "--spec", EVIL, "-c", "8k"], [*PLAN[:-1], "--method", EVIL], ["inspect", "--" + EVIL]):
            self.shows_text_only(*words)


class Streams(unittest.TestCase):
    def test_a_closed_stream_is_not_the_number_of_a_file(self):
        """The first file that is opened had the number of stderr, and a message went into it."""
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "p.json").write_bytes(run(*PLAN).stdout)
            for name, closed in (("open", ""), ("closed", "2>&- >&- <&-")):
                subprocess.run(["bash", "-c", f'"$0" report p.json -o {name}.html {closed}', PROGRAM], cwd=place, capture_output=True, check=False)
            self.assertEqual((place / "closed.html").read_bytes(), (place / "open.html").read_bytes())

    def test_a_closed_or_full_output_is_a_failure(self):
        for redirection in (">&-", ">/dev/full"):
            done = subprocess.run(["bash", "-c", f'"$0" methods {redirection}', PROGRAM], capture_output=True, check=False)
            self.assertEqual(done.returncode, 1, redirection)
            self.assertIn(b"could not write the output", done.stderr)

    def test_messages_that_cannot_be_written_change_no_status(self):
        for redirection in ("2>&-", "2>/dev/full"):
            done = subprocess.run(["bash", "-c", f'"$0" inspect nothing.gguf {redirection}', PROGRAM], capture_output=True, check=False)
            self.assertEqual(done.returncode, 1, redirection)

    def on_a_terminal(self, term):
        """What `methods` writes to a terminal of this kind."""
        ours, theirs = pty.openpty()
        fcntl.fcntl(ours, fcntl.F_SETFL, os.O_NONBLOCK)
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": term}
        process = subprocess.Popen([PROGRAM, "methods"], stdout=theirs, env=environment)
        os.close(theirs)
        text = b""
        while True:
            ended = process.poll() is not None  # asked before reading, so that what it wrote last is read, too
            try:
                text += os.read(ours, 65536)
            except BlockingIOError:
                if ended:
                    break
            except OSError:  # the other end is closed and everything was read
                break
        process.wait()
        os.close(ours)
        return text

    def test_emphasis_reaches_a_terminal_that_has_it(self):
        self.assertIn(b"\x1b[2m", self.on_a_terminal("xterm"))
        self.assertNotIn(b"\x1b", self.on_a_terminal("dumb"))


if __name__ == "__main__":
    unittest.main()
