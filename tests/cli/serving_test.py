# SPDX-License-Identifier: MIT
"""From a file to a served model: Modelfiles, sidecars with their scripts, second folders, and how far is too far.

    serving_test.py MRROPE
"""
import json
import os
import pathlib
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

PROGRAM = os.path.abspath(sys.argv.pop(1))
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "num_hidden_layers": 32, "head_dim": 128, "max_position_embeddings": 8192,
         "rope_theta": 500000.0, "rope_scaling": None, "vocab_size": 128256}
PRO = ["--factor", "4", "--method", "mrrope-pro"]
HOSTILE = ["plain", "it's $HOME", "-c", "a b  c", "$(touch evil)`touch evil`", "new\nline; touch evil\n#", "größer", "\\'\"*?[x]~", os.fsdecode(b"\xff\xfe")]


def modelfile(text):
    """[(command, value), …] as Ollama reads a Modelfile: a port of ParseFile in its parser/parser.go (fb30760996), without messages."""
    commands, state, buffer, name = [], None, "", ""
    for c in text + "\n":
        if state is None:
            state = "comment" if c == "#" else None if c in " \t\r\n" else "name"
            buffer = c if state == "name" else ""
        elif state == "comment":
            state = None if c in "\r\n" else state
        elif state == "name" and c in " \t":
            name, state, buffer = buffer.lower(), "parameter" if buffer.lower() == "parameter" else "value", ""
        elif state == "parameter" and c in " \t":
            name, state, buffer = buffer, "value", ""
        elif state == "value" and c in "\r\n":
            value = buffer.strip()
            if value.startswith('"') and not (len(value) >= 2 and value.endswith('"')):
                continue  # an open quote goes on in the next line
            commands.append((name, value.strip('"') if value.startswith('"') else value))
            state, buffer = None, ""
        elif c.isprintable():
            buffer += c
    return commands


class InFolder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def run_program(self, *arguments, status=0, cwd=None):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, errors="surrogateescape", check=False, cwd=cwd)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr if status else done.stdout

    def said(self, *arguments, status=0, cwd=None):
        return " ".join(self.run_program(*arguments, status=status, cwd=cwd).split())

    def report(self, *arguments):
        return json.loads(self.run_program(*arguments, "--json"))

    def state(self):
        return {str(p.relative_to(self.root)): os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else None
                for p in sorted(self.root.rglob("*"))}


class Gguf(InFolder):
    def setUp(self):
        super().setUp()
        self.file = self.root / "m.gguf"
        tiny_gguf.write(self.file, "llama", {})
        self.bytes = self.file.read_bytes()


class Ollama(Gguf):
    def extend(self, *flags, output="longer.gguf", status=0):
        return self.said("extend", self.file, *PRO, "--target", "ollama", "-o", self.root / output, *flags, status=status)

    def test_a_modelfile_serves_the_copy_at_its_length(self):
        text = self.extend()
        place = self.root / "Modelfile"
        self.assertIn(f"wrote {self.root / 'longer.gguf'} wrote {place}", text)
        self.assertIn(f"run ollama create longer-32k -f {place} && ollama run longer-32k", text)
        self.assertNotIn("llama-server", text)
        self.assertEqual(modelfile(place.read_text()), [("from", "./longer.gguf"), ("num_ctx", "32768")])
        self.assertIn('"shift": false', text, "cached keys would be scaled twice")
        self.assertNotIn("--cache-reuse", text)

    def test_names_are_read_back_by_ollama_or_refused(self):
        for i, name in enumerate(HOSTILE + ["end ", " start", "no\u00a0break"]):
            folder = self.root / str(i)
            folder.mkdir()
            target = folder / f"{name}.gguf" if name != "end " else folder / name
            with self.subTest(name):
                done = subprocess.run([PROGRAM, "extend", self.file, *PRO, "--target", "ollama", "-o", target, "--json"], capture_output=True, check=False)
                if done.returncode:
                    self.assertIn(b"a Modelfile cannot say this name", b" ".join(done.stderr.split()))
                    self.assertEqual(list(folder.iterdir()), [], "and nothing is written")
                    continue
                commands = modelfile((folder / "Modelfile").read_text())
                self.assertTrue((folder / commands[0][1]).samefile(target))
                words = shlex.split(json.loads(done.stdout)["commands"][0])
                self.assertEqual(words[:2] + words[3:4], ["ollama", "create", "-f"])
                self.assertRegex(words[2], r"^[a-z0-9_][a-z0-9_.-]{0,79}$")
                self.assertTrue(pathlib.Path(words[4]).samefile(folder / "Modelfile"))
        for bad in ("new\nline; touch evil\n#", os.fsdecode(b"\xff\xfe"), "end ", "no\u00a0break"):
            self.assertIn("cannot say this name", self.extend("--dry-run", output=bad + ("" if bad == "end " else ".gguf"), status=1))

    def test_a_modelfile_of_somebody_else_stays(self):
        place = self.root / "Modelfile"
        for make in (lambda: place.write_text("FROM llama3\n"), lambda: place.symlink_to("nowhere"), place.mkdir):
            make()
            before = self.state()
            for flags in ([], ["-f"], ["--dry-run"]):
                self.assertIn("mrrope did not write it", self.extend(*flags, status=1))
                self.assertEqual(self.state(), before)
            if place.is_dir():
                place.rmdir()
            else:
                place.unlink()

    def test_a_modelfile_of_ours_is_replaced_for_the_same_model_only(self):
        self.extend()
        first = (self.root / "Modelfile").read_text()
        self.said("extend", self.file, "--factor", "2", "--method", "mrrope-pro", "--target", "ollama", "-o", self.root / "longer.gguf", "-f")
        self.assertIn("num_ctx 16384", (self.root / "Modelfile").read_text())
        self.assertIn("-f replaces it", self.extend(output="other.gguf", status=1))
        self.assertFalse((self.root / "other.gguf").exists())
        self.extend("-f", output="other.gguf")
        self.assertEqual((self.root / "Modelfile").read_text(), first.replace("longer", "other"))

    def test_a_model_is_not_called_modelfile(self):
        for name in ("Modelfile", "modelfile"):
            self.assertIn("give the model another one", self.extend(output=name, status=1))
        self.assertEqual(list(self.root.iterdir()), [self.file])

    def test_every_shard_of_a_split_model_is_named(self):
        data = self.bytes
        count = int.from_bytes(data[16:24], "little")
        for number in (1, 2):
            split = [tiny_gguf.entry("split.no", number - 1), tiny_gguf.entry("split.count", 2)]
            tensor = tiny_gguf.text(f"t{number}") + (1).to_bytes(4, "little") + (8).to_bytes(8, "little") + bytes(12)
            entries = data[24:data.index(tiny_gguf.text("token_embd.weight"))] if number == 1 else b""
            header = data[:8] + (1).to_bytes(8, "little") + ((count if number == 1 else 0) + 2).to_bytes(8, "little") + entries + b"".join(split) + tensor
            (self.root / f"s-0000{number}-of-00002.gguf").write_bytes(header + b"\0" * (-len(header) % 32) + bytes(32))
        text = self.said("extend", self.root / "s-00001-of-00002.gguf", *PRO, "--target", "ollama", "-o", self.root / "long-00001-of-00002.gguf")
        self.assertIn("run ollama create long-32k -f", text)
        self.assertEqual(modelfile((self.root / "Modelfile").read_text()),
                         [("from", "./long-00001-of-00002.gguf"), ("from", "./long-00002-of-00002.gguf"), ("num_ctx", "32768")])

    def test_in_place_and_dry_runs(self):
        text = self.said("extend", self.file, *PRO, "--target", "ollama", "-o", self.root / "x.gguf", "--dry-run")
        self.assertIn(f"it would be {self.root / 'x.gguf'} and {self.root / 'Modelfile'}", text)
        self.assertEqual(list(self.root.iterdir()), [self.file])
        self.assertNotIn("ollama create", self.said("extend", self.file, *PRO, "--target", "ollama", "--dry-run"))

    def test_a_sidecar_is_for_llama_cpp(self):
        for engine in ("ollama", "lm-studio"):
            self.assertIn(f"write a copy for {engine}", self.said("extend", self.file, *PRO, "--target", engine, "--sidecar", status=2))
        self.assertEqual(list(self.root.iterdir()), [self.file])

    def test_lm_studio_is_told_in_its_own_words(self):
        text = self.said("extend", self.file, *PRO, "--target", "lm-studio", "-o", self.root / "longer.gguf")
        self.assertIn(f"run lms import --symbolic-link {self.root / 'longer.gguf'}", text)
        self.assertIn("lms load --context-length 32768", text)
        self.assertFalse((self.root / "Modelfile").exists())


class Sidecar(Gguf):
    def setUp(self):
        super().setUp()
        self.side = self.root / "m-mrrope"
        self.first, self.second, self.script = (self.side / name for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "serve.sh"))

    def extend(self, *flags, status=0):
        return self.said("extend", self.file, *PRO, "--sidecar", *flags, status=status)

    def stub(self):
        """A llama-server that says what it was started with."""
        programs = self.root / "programs"
        programs.mkdir(exist_ok=True)
        (programs / "llama-server").write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
        (programs / "llama-server").chmod(0o755)
        return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def serve(self, script, *arguments, shell=(), cwd=None):
        done = subprocess.run([*shell, script, *arguments], capture_output=True, check=True, env=self.stub(), cwd=cwd)
        return [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]

    def test_comes_with_a_script_that_serves_it(self):
        report = self.report("extend", self.file, *PRO, "--sidecar")
        self.assertEqual(report["beside"], [str(self.script)])
        self.assertEqual(report["commands"][0], str(self.script))
        self.assertLess(report["verified_difference"], 1e-6)
        self.assertTrue(self.script.stat().st_mode & stat.S_IXUSR)
        words = self.serve(self.script, "--port", "9000")
        self.assertEqual(words, shlex.split(report["commands"][1])[1:] + ["--port", "9000"])
        self.assertEqual(words[:4], ["-m", str(self.first), "-c", "32768"])
        self.assertIn("llama.context_length=int:32768", words[5].split(","))

    def test_the_script_works_from_anywhere_under_any_name_in_any_shell(self):
        shells = [()] + [(path,) for path in map(shutil.which, ("sh", "dash", "bash", "ksh", "zsh", "mksh")) if path]
        if shutil.which("busybox"):
            shells.append((shutil.which("busybox"), "sh"))
        for i, name in enumerate(HOSTILE):
            place = self.root / str(i) / name
            place.mkdir(parents=True)
            model = place / f"{name}.gguf"
            model.write_bytes(self.bytes)
            self.run_program("extend", f"./{name}.gguf", *PRO, "--sidecar", cwd=place)
            side = place / f"{name}-mrrope"
            for shell in shells:
                with self.subTest(name, shell=shell):
                    for script, cwd in ((side / "serve.sh", "/"), ("./serve.sh", side), (f"./{name}-mrrope/serve.sh", place)) + ((("serve.sh", side),) if shell else ()):
                        words = self.serve(script, "--flag", name, shell=shell, cwd=cwd)
                        self.assertTrue(pathlib.Path(cwd, words[1]).samefile(model))
                        self.assertEqual([words[0], *words[2:4], *words[-2:]], ["-m", "-c", "32768", "--flag", name])
        self.assertEqual(list(self.root.rglob("evil")), [])

    def test_model_and_sidecar_can_be_moved_together(self):
        self.extend()
        self.assertEqual(os.readlink(self.first), "../m.gguf")
        moved = self.root / "elsewhere"
        moved.mkdir()
        for path in (self.file, self.side):
            path.rename(moved / path.name)
        self.assertTrue(pathlib.Path(self.serve(moved / "m-mrrope" / "serve.sh")[1]).samefile(moved / "m.gguf"))
        self.assertIn("with a sidecar", self.said("inspect", moved / "m-mrrope"))

    def test_a_link_counts_from_where_it_lies(self):
        # -o leads through a link: "../m.gguf" would lead elsewhere.
        (self.root / "deep" / "er").mkdir(parents=True)
        (self.root / "short").symlink_to("deep/er")
        self.extend("-o", self.root / "short" / "side")
        self.assertTrue((self.root / "deep/er/side/m-00001-of-00002.gguf").samefile(self.file))

    def test_is_recognised_by_its_folder_and_by_both_shards(self):
        self.extend()
        for path in (self.side, f"{self.side}/", self.first, self.second):
            with self.subTest(path):
                text = self.said("inspect", path)
                self.assertIn("trained context 8192", text)
                self.assertIn("extended by mrrope, with a sidecar, to 32768 tokens, mrrope-pro", text)
                found = self.report("inspect", path)
                self.assertEqual((found["context_trained"], found["context_extended"], found["method_extended"], found["sidecar"]),
                                 (8192, 32768, "mrrope-pro", str(self.second)))
                text = self.said("doctor", path)
                self.assertRegex(text, r"llama\.cpp serves it 0\.5\.0 run 1 \.\. 4 1\.1386 32768")
                self.assertRegex(text, r"ollama plain 0\.30 and later read plain 1\.0000 8192")
                self.assertIn(f"this is with the flags of {self.script}", text)
                self.assertIn("runs the model without the sidecar", text)
                self.assertIn("mrrope extended this model before", self.said("plan", path, "-c", "64k"))
        self.assertNotIn("extended", self.said("inspect", self.file))

    def test_agrees_with_a_copy_on_what_llama_cpp_does(self):
        self.extend()
        self.said("extend", self.file, *PRO, "-o", self.root / "copy.gguf")
        groups = [self.report("doctor", path)["engines"][0]["groups"] for path in (self.side, self.root / "copy.gguf")]
        self.assertEqual(*groups)
        self.assertIn("same", self.said("diff", self.side, self.root / "copy.gguf").lower())

    def test_of_an_older_version_is_recognised(self):
        # Once a sidecar was the two shards, without a plan and a script.
        self.extend()
        data = self.second.read_bytes()
        self.script.unlink()
        entries = [tiny_gguf.text(key) + bytes([2, 0, 0, 0]) + bytes([value, 0]) for key, value in (("split.no", 1), ("split.count", 2))]
        entries.append(tiny_gguf.entry("mrrope.version", "0.1.0"))
        start = data.index(tiny_gguf.text("rope_freqs.weight"))
        header = b"GGUF" + (3).to_bytes(4, "little") + (1).to_bytes(8, "little") + len(entries).to_bytes(8, "little") + b"".join(entries)
        header += data[start:start + len(tiny_gguf.text("rope_freqs.weight")) + 24]
        self.second.write_bytes(header + b"\0" * (-len(header) % 32) + data[-128:])
        self.assertIn("with a sidecar", self.said("inspect", self.side))
        self.assertIn("its script is missing", self.said("doctor", self.side))
        self.assertIn("-f replaces it", self.extend(status=1), "not taken for an unfinished one")

    def test_a_folder_without_its_model_says_so(self):
        self.extend()
        self.file.unlink()
        for path in (self.side, self.second):
            self.assertIn("a sidecar whose model is gone: its link leads to ../m.gguf", self.said("inspect", path, status=1))
        self.first.unlink()
        self.assertIn("without its first shard", self.said("inspect", self.side, status=1))

    def test_two_in_one_folder_must_be_named(self):
        other = self.root / "n.gguf"
        other.write_bytes(self.bytes)
        self.extend()
        self.assertIn("serves another model", self.said("extend", other, *PRO, "--sidecar", "-o", self.side, "-f", status=1))
        self.script.unlink()
        self.said("extend", other, *PRO, "--sidecar", "-o", self.side)
        self.assertIn("2 sidecars in one folder", self.said("inspect", self.side, status=1))
        self.assertIn("with a sidecar", self.said("inspect", self.second))

    def test_a_real_split_model_is_none(self):
        for number in (1, 2):
            tiny_gguf.write(self.root / f"s-0000{number}-of-00002.gguf", "llama", {})
        self.assertNotIn("sidecar", self.said("inspect", self.root / "s-00001-of-00002.gguf"))

    def test_lies_in_the_second_shard_are_errors(self):
        self.extend()
        good = self.second.read_bytes()
        for bad in (good.replace(b"llama.context_length", b"llama.block_countxxx"), good.replace(b"none", b"nope"), good[:-1], good[:200],
                    good.replace(b"rope_freqs.weight", b"token_embd.weight")):
            with self.subTest(len(bad)):
                self.second.write_bytes(bad)
                for command in ("inspect", "doctor"):
                    done = subprocess.run([PROGRAM, command, self.first], capture_output=True, check=False)
                    self.assertIn(done.returncode, (0, 1, 3), done.stderr)

    def test_f_replaces_all_of_it_and_nothing_else(self):
        self.extend()
        old = self.script.read_text()
        self.assertIn("-f replaces it", self.extend(status=1))
        self.said("extend", self.file, "--factor", "8", "--method", "mrrope-uni", "--sidecar", "-f")
        self.assertNotEqual(self.script.read_text(), old)
        self.assertIn("-c 65536", self.script.read_text())
        self.assertIn("to 65536 tokens, mrrope-uni", self.said("inspect", self.side))
        for make in (lambda: self.script.write_text("#!/bin/sh\nmine\n"), lambda: self.script.symlink_to("nowhere"), self.script.mkdir):
            self.script.unlink()
            make()
            before = self.state()
            self.assertIn("was not written by mrrope", self.extend("-f", status=1))
            self.assertEqual(self.state(), before)
            if self.script.is_dir():
                self.script.rmdir()
                self.script.write_text("")

    def test_an_unfinished_one_is_finished_by_the_same_command(self):
        self.extend()
        whole = self.state()
        self.script.unlink()
        self.assertIn("its script is missing", self.said("doctor", self.side))
        self.extend()
        self.assertEqual(self.state(), whole)

    def test_undo_removes_what_mrrope_wrote(self):
        before = self.state()
        for path in (self.side, self.first, self.second):
            self.extend()
            with_it = self.state()
            self.assertIn("nothing was removed", self.said("extend", path, "--undo", "--dry-run"))
            self.assertIn("its files are removed", self.said("extend", path, "--undo", "-o", self.root / "x.gguf", status=1))
            self.assertEqual(self.state(), with_it)
            text = self.said("extend", path, "--undo")
            self.assertIn(f"removed {self.script} removed {self.second} removed {self.first} removed {self.side}", text)
            self.assertEqual(self.state(), before)
        self.extend()
        (self.side / "notes.txt").write_text("mine")
        self.assertEqual(self.report("extend", self.side, "--undo")["removed"], [str(self.script), str(self.second), str(self.first)])
        self.assertEqual([p.name for p in self.side.iterdir()], ["notes.txt"])

    def test_is_not_extended_again(self):
        self.extend()
        before = self.state()
        for path in (self.side, self.first, self.second):
            text = self.said("extend", path, "--factor", "8", "-o", self.root / "x.gguf", status=1)
            self.assertIn(f"extend the model itself: {self.file.resolve()}", text)
            self.assertIn(f"hint: mrrope extend {path} --undo", text)
        self.assertEqual(self.state(), before)


class SecondFolder(InFolder):
    def setUp(self):
        super().setUp()
        self.model = self.root / "model"
        (self.model / "onnx" / "deep").mkdir(parents=True)
        self.config = self.model / "config.json"
        self.config.write_text(json.dumps(LLAMA))
        for name in ("model.safetensors", "tokenizer.json", "onnx/model.onnx", "onnx/deep/x"):
            (self.model / name).write_bytes(name.encode() * 100)
        self.second = self.root / "second"

    def extend(self, *flags, status=0):
        return self.said("extend", self.model, "-c", "32k", "-o", self.second, *flags, status=status)

    def files(self, folder):
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and not p.name.startswith("config.")}

    def test_links_can_be_moved_together(self):
        self.extend()
        self.assertEqual(os.readlink(self.second / "model.safetensors"), "../model/model.safetensors")
        moved = self.root / "elsewhere"
        moved.mkdir()
        for path in (self.model, self.second):
            path.rename(moved / path.name)
        self.assertEqual((moved / "second" / "onnx" / "model.onnx").read_bytes(), b"onnx/model.onnx" * 100)
        self.assertIn("to 32768 tokens", self.said("inspect", moved / "second"))

    def test_links_count_from_where_they_lie(self):
        (self.root / "deep" / "er").mkdir(parents=True)
        (self.root / "short").symlink_to("deep/er")
        (self.root / "alias").symlink_to("model")
        self.said("extend", self.root / "alias", "-c", "32k", "-o", self.root / "short" / "second")
        self.assertTrue((self.root / "deep/er/second/model.safetensors").samefile(self.model / "model.safetensors"))

    def test_copies_are_files_of_their_own(self):
        self.assertIn("--copy requires --output", self.said("extend", self.model, "-c", "32k", "--copy", status=2))
        self.extend("--copy", "--dry-run")
        self.assertFalse(self.second.exists())
        self.extend("--copy")
        self.assertEqual(self.files(self.second), self.files(self.model))
        self.assertEqual([p for p in self.second.rglob("*") if p.is_symlink()], [])
        for name, data in self.files(self.second).items():
            self.assertNotEqual((self.second / name).stat().st_ino, (self.model / name).stat().st_ino, data[:9])
        shutil.rmtree(self.model)
        self.assertIn("to 32768 tokens", self.said("inspect", self.second))

    def test_a_copy_is_readable_for_nobody_who_may_not_read_the_source(self):
        (self.model / "model.safetensors").chmod(0o600)
        (self.model / "onnx").chmod(0o700)
        (self.model / "onnx" / "deep").chmod(0o500)
        self.addCleanup((self.model / "onnx" / "deep").chmod, 0o700)
        self.model.chmod(0o750)
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        self.extend("--copy")
        modes = {name: oct((self.second / name).stat().st_mode & 0o777) for name in ("", "model.safetensors", "onnx", "onnx/deep", "tokenizer.json")}
        self.assertEqual(modes, {"": "0o750", "model.safetensors": "0o600", "onnx": "0o700", "onnx/deep": "0o700", "tokenizer.json": "0o644"})

    def test_links_of_a_download_cache_become_files(self):
        blobs = self.root / "blobs"
        blobs.mkdir()
        for i, name in enumerate(("model.safetensors", "tokenizer.json")):
            (self.model / name).rename(blobs / str(i))
            (self.model / name).symlink_to(f"../blobs/{i}")
        self.extend("--copy")
        self.assertFalse((self.second / "model.safetensors").is_symlink())
        self.assertEqual(self.files(self.second), self.files(self.model))

    def test_links_within_the_folder_stay_links(self):
        (self.model / "weights").symlink_to(self.model / "onnx")  # absolute
        (self.model / "onnx" / "self").symlink_to(".")
        (self.model / "onnx" / "up").symlink_to("../..//model")
        (self.model / "a").symlink_to("onnx/model.onnx")
        self.extend("--copy")
        self.assertEqual({name: os.readlink(self.second / name) for name in ("weights", "onnx/self", "onnx/up", "a")},
                         {"weights": "onnx", "onnx/self": ".", "onnx/up": "..", "a": "onnx/model.onnx"})
        for name in ("weights", "onnx/self", "onnx/up", "a"):
            self.assertTrue((self.second / name).resolve().is_relative_to(self.second.resolve()), name)

    def test_what_git_keeps_is_left_out_and_what_leads_there_is_copied(self):
        objects = self.model / ".git" / "annex" / "objects"
        objects.mkdir(parents=True)
        (self.model / "model.safetensors").rename(objects / "key")
        (self.model / "model.safetensors").symlink_to(".git/annex/objects/key")
        self.extend("--copy")
        self.assertEqual((self.second / "model.safetensors").read_bytes(), b"model.safetensors" * 100)
        self.assertFalse((self.second / ".git").exists())
        shutil.rmtree(self.second)
        self.extend()
        self.assertFalse((self.second / ".git").exists())
        self.assertTrue((self.second / "model.safetensors").samefile(objects / "key"))

    def test_what_cannot_be_copied_is_named_and_nothing_is_left(self):
        odd = self.model / "onnx" / "odd"
        (self.root / "outside").mkdir()

        def a_socket():
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(odd))

        for make, why in ((lambda: odd.symlink_to(self.root / "outside"), "a link out of the folder"), (lambda: odd.symlink_to("/dev/null"), "a link out of the folder"),
                          (lambda: odd.symlink_to("nowhere"), "leads nowhere"), (lambda: odd.symlink_to("odd"), "leads nowhere"),
                          (lambda: os.mkfifo(odd), "neither a file nor a folder"), (a_socket, "neither a file nor a folder")):
            make()
            for flags in ([], ["--dry-run"]):
                text = self.extend("--copy", *flags, status=1)
                self.assertIn(why, text)
                self.assertIn("onnx/odd", text)
                self.assertFalse(self.second.exists())
            odd.unlink()

    def test_a_folder_with_too_many_files_is_refused(self):
        many = self.model / "many"
        many.mkdir()
        first = many / "0"
        first.write_text("")
        made, folder = 0, many
        while made < 100_000:  # names cost less than files; a file system has some 65,000 of one
            folder = self.model / f"many{made}"
            folder.mkdir()
            (folder / "0").write_text("")
            for i in range(1, 20_000):
                os.link(folder / "0", folder / str(i))
            made += 20_000
        self.assertIn("more than 100000 files", self.extend("--copy", status=1))
        self.assertFalse(self.second.exists())

    def test_a_target_within_the_folder_is_not_part_of_it(self):
        self.second = self.model / "longer"
        self.extend("--copy")
        self.assertEqual(sorted(p.name for p in self.second.iterdir()),
                         ["config.json", "config.original.json", "model.safetensors", "onnx", "tokenizer.json"])

    def test_a_copy_that_cannot_be_finished_leaves_nothing(self):
        # The limit on the size of a file stands for a full disk.
        (self.model / "z").write_bytes(b"z" * 200_000)
        done = subprocess.run(["sh", "-c", f'trap "" XFSZ; ulimit -f 64; exec "$0" "$@"', PROGRAM, "extend", self.model, "-c", "32k", "-o", self.second, "--copy"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertFalse(self.second.exists())


class HowFar(InFolder):
    def test_more_than_64_times_is_refused_unless_forced(self):
        # 204,800 times was written without a word.
        file, model = self.root / "m.gguf", self.root / "model"
        tiny_gguf.write(file, "llama", {})
        model.mkdir()
        (model / "config.json").write_text(json.dumps(LLAMA))
        plan = self.root / "plan.json"
        plan.write_text(self.run_program("plan", file, "--factor", "204800", "--json"))
        self.said("extend", file, "--factor", "64", "-o", self.root / "most.gguf")
        for words in ([file, "--factor", "204800", "-o", self.root / "x.gguf"], [file, "-c", "524289", "--sidecar"], [file, "-c", "1M", "--dry-run"],
                      [model, "-c", "1M"], [file, "--plan", plan, "-o", self.root / "x.gguf"]):
            with self.subTest(words):
                before = self.state()
                text = self.said("extend", *words, status=2 if "--plan" not in words else 1)
                self.assertIn("times the 8192 that the model was trained with", text)
                self.assertIn("Expect little at any length", text)
                self.assertTrue(text.endswith("hint: --force writes it all the same"), text)
                self.assertEqual(self.state(), before)
        self.assertIn("524288000 tokens are 64000 times", self.said("extend", file, "--factor", "64000", "--dry-run", status=2))
        self.said("extend", file, "--factor", "1000", "-o", self.root / "x.gguf", "--force")
        self.said("extend", model, "-c", "1M", "-f")


if __name__ == "__main__":
    unittest.main()
