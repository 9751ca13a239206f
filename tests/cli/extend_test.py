# SPDX-License-Identifier: MIT
"""`mrrope extend` on files and folders, as a person meets it. What engines make of the result: tests/llama, tests/engines.

    extend_test.py MRROPE
"""
import json
import os
import shlex
import shutil
import subprocess
import unittest

import tiny_gguf
from in_folder import PROGRAM, InFolder

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "num_hidden_layers": 32, "head_dim": 128, "max_position_embeddings": 8192,
         "rope_theta": 500000.0, "rope_scaling": None, "vocab_size": 128256}


class HuggingFace(InFolder):
    def setUp(self):
        super().setUp()
        self.model = self.root / "model"
        self.model.mkdir()
        self.config = self.model / "config.json"
        self.text = json.dumps(LLAMA, indent=2) + "\n"
        self.config.write_text(self.text)
        (self.model / "model.safetensors").write_text("weights")

    def test_the_config_is_written_and_the_original_kept(self):
        text = self.run_program("extend", self.model, "-c", "32k")
        written = json.loads(self.config.read_text())
        self.assertEqual(written["max_position_embeddings"], 32768)
        self.assertEqual(len(written["rope_scaling"]["long_factor"]), 64)
        self.assertEqual({k: v for k, v in written.items() if k in ("vocab_size", "rope_theta")},
                         {"vocab_size": 128256, "rope_theta": 500000.0})
        self.assertEqual((self.model / "config.original.json").read_text(), self.text)
        self.assertIn(f"vllm serve {self.model} --max-model-len 32768", text)
        self.assertIn("of their own (--target): sglang", text)

    def test_undo_restores_every_byte(self):
        self.run_program("extend", self.model, "-c", "32k")
        extended = self.config.read_text()
        self.run_program("extend", self.model, "--undo")
        self.assertEqual(self.config.read_text(), self.text)
        self.assertEqual((self.model / "config.extended.json").read_text(), extended)
        self.assertFalse((self.model / "config.original.json").exists())
        for flags in ([], ["--dry-run"]):
            self.assertIn("nothing to undo", self.run_program("extend", self.model, "--undo", *flags, status=1))

    def test_a_folder_is_not_extended_twice(self):
        self.run_program("extend", self.model, "-c", "32k")
        self.assertIn(f"hint: mrrope extend {self.model} --undo\n", self.run_program("extend", self.model, "-c", "64k", status=1))

    def test_a_second_folder_links_the_weights(self):
        self.run_program("extend", self.config, "-c", "32k", "-o", self.root / "longer")
        self.assertEqual(self.config.read_text(), self.text)
        self.assertEqual(sorted(p.name for p in self.model.iterdir()), ["config.json", "model.safetensors"])
        self.assertEqual((self.root / "longer" / "model.safetensors").read_text(), "weights")
        self.assertTrue((self.root / "longer" / "model.safetensors").is_symlink())
        self.assertEqual(json.loads((self.root / "longer" / "config.json").read_text())["max_position_embeddings"], 32768)
        text = self.run_program("extend", self.model, "-c", "32k", "-o", self.root / "longer", "-f", status=1)
        self.assertIn("not empty\nhint: -o another folder, or delete this one\n", text)

    def test_what_was_extended_does_not_pass_for_trained(self):
        # A second folder kept no original once: 128k became the "trained" length of the next extension.
        longer = self.root / "longer"
        self.run_program("extend", self.model, "-c", "32k", "-o", longer)
        self.assertEqual((longer / "config.original.json").read_text(), self.text)
        self.assertIn("--undo", self.run_program("extend", longer, "-c", "1M", status=1))
        text = self.run_program("inspect", longer)
        self.assertRegex(text, r"trained context +8192\n")
        self.assertRegex(text, r"rope +base 500000 . 64 pairs . no scaling\n")
        self.assertRegex(text, r"extended +by mrrope to 32768 tokens")
        self.assertEqual(json.loads(self.run_program("inspect", longer, "--json"))["context_extended"], 32768)
        self.assertIn("mrrope extended this model before", self.run_program("plan", longer, "-c", "64k"))
        self.assertEqual(json.loads(self.run_program("plan", longer, "-c", "64k", "--json"))["factor"], 8)
        self.run_program("extend", longer, "--undo")
        self.assertEqual((longer / "config.json").read_text(), self.text)

    def test_a_link_into_a_download_cache_is_kept_and_comes_back(self):
        # As huggingface_hub lays it out: snapshots/REVISION/config.json -> ../../blobs/HASH
        blob = self.root / "blobs" / "0123abcd"
        blob.parent.mkdir()
        self.config.rename(blob)
        blob.chmod(0o640)
        before = blob.stat()
        self.config.symlink_to("../blobs/0123abcd")
        for flags in (["--dry-run"], []):
            text = " ".join(self.run_program("extend", self.model, "-c", "32k", *flags).split())
            self.assertIn("config.json is a link, as in a download cache. A file takes its place", text)
        self.assertFalse(self.config.is_symlink())
        self.assertEqual(self.config.stat().st_mode & 0o7777, 0o640)
        self.assertEqual(os.readlink(self.model / "config.original.json"), "../blobs/0123abcd")
        self.run_program("inspect", self.model)
        self.run_program("extend", self.model, "--undo")
        self.assertEqual(os.readlink(self.config), "../blobs/0123abcd")
        self.assertFalse((self.model / "config.original.json").is_symlink())
        after = blob.stat()
        self.assertEqual(blob.read_text(), self.text)
        self.assertEqual((after.st_ino, after.st_mtime_ns, after.st_mode), (before.st_ino, before.st_mtime_ns, before.st_mode))

    def test_owner_group_and_mode_stay_and_come_back(self):
        self.config.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(self.config, 4242, 4243)

        def facts(path):
            status = path.stat()
            return oct(status.st_mode), status.st_uid, status.st_gid
        before, inode = facts(self.config), self.config.stat().st_ino
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        self.run_program("extend", self.model, "-c", "32k")
        self.assertEqual(facts(self.config), before)
        self.assertEqual(facts(self.model / "config.original.json"), before)
        self.run_program("extend", self.model, "--undo")
        self.assertEqual(facts(self.config), before)
        self.assertEqual(self.config.stat().st_ino, inode, "the first file itself")
        self.assertEqual(facts(self.model / "config.extended.json"), before)
        self.run_program("extend", self.model, "-c", "32k", "-o", self.root / "second")
        self.assertEqual(facts(self.root / "second" / "config.json")[0], before[0])

    def test_a_config_whose_owner_cannot_be_kept_is_left_alone(self):
        if os.geteuid() != 0:
            self.skipTest("needs a second user")
        for path in (self.root, self.model):
            path.chmod(0o777)
        program = self.root / "mrrope"
        shutil.copy(PROGRAM, program)  # the build folder may be closed to others
        done = subprocess.run([program, "extend", self.model, "-c", "32k"], capture_output=True, text=True, check=False,
                              user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("owner and group", done.stderr)
        self.assertEqual(self.config.read_text(), self.text)
        self.assertEqual(sorted(p.name for p in self.model.iterdir()), ["config.json", "model.safetensors"])

    def test_every_command_survives_a_shell(self):
        odd = self.root / "it's my $HOME größer"
        self.model.rename(odd)
        report = json.loads(self.run_program("extend", odd, "-c", "32k", "--target", "vllm", "--dry-run", "--json"))
        commands = report["commands"] + json.loads(self.run_program("extend", odd, "-c", "32k", "--dry-run", "--json"))["commands"]
        self.assertGreaterEqual(len(commands), 4)
        for command in commands:
            self.assertIn(str(odd), shlex.split(command))

    def test_a_dry_run_writes_nothing(self):
        self.assertIn("nothing was written", self.run_program("extend", self.model, "-c", "32k", "--dry-run"))
        self.assertEqual(sorted(p.name for p in self.model.iterdir()), ["config.json", "model.safetensors"])
        self.assertEqual(self.config.read_text(), self.text)

    def test_a_target_gets_a_file_of_its_own(self):
        universal = json.loads(self.run_program("extend", self.model, "-c", "32k", "--dry-run", "--json"))
        own = json.loads(self.run_program("extend", self.model, "-c", "32k", "--dry-run", "--json", "--target", "sglang"))
        self.assertEqual(universal["schema"], "mrrope.extend/1")
        self.assertNotEqual(universal["changes"], own["changes"])
        self.assertIn("unknown engine \"vlm\"; did you mean vllm?",
                      self.run_program("extend", self.model, "-c", "32k", "--target", "vlm", status=2))

    def test_engines_and_methods_are_known_in_any_case(self):
        def changes(*words):
            return json.loads(self.run_program("extend", self.model, "-c", "32k", "--dry-run", "--json", *words))["changes"]
        self.assertEqual(changes("--target", "SGLang"), changes("--target", "sglang"))
        self.assertEqual(changes("--target", "Universal"), changes())
        self.assertEqual(changes("--method", "YaRN"), changes("--method", "yarn"))

    def test_universal_may_be_named(self):
        # It was written, and then read back as by an engine of that name, which nobody knows.
        self.run_program("extend", self.model, "-c", "32k", "--target", "universal")
        self.assertNotEqual(self.config.read_text(), self.text)

    def test_an_engine_that_cannot_is_refused_with_the_nearest(self):
        text = self.run_program("extend", self.model, "-c", "32k", "--method", "mrrope-pro", "--target", "onnxruntime-genai",
                                status=1)
        self.assertIn("cannot run mrrope-pro", text)
        self.assertEqual(self.config.read_text(), self.text)

    def test_flags_of_the_other_format_are_refused(self):
        self.assertIn("second folder", self.run_program("extend", self.model, "-c", "32k", "--sidecar", status=2))
        self.run_program("extend", self.model, "-c", "32k", "--relabel", status=2)

    def test_a_plan_file_is_written_as_it_is(self):
        plan = self.root / "plan.json"
        plan.write_text(self.run_program("plan", self.model, "-c", "32k", "--method", "mrrope-power:p=3", "--json"))
        by_plan = json.loads(self.run_program("extend", self.model, "--plan", plan, "--dry-run", "--json"))
        by_method = json.loads(self.run_program("extend", self.model, "-c", "32k", "--method", "mrrope-power:p=3", "--dry-run", "--json"))
        self.assertEqual(by_plan, by_method)
        other = self.root / "other.json"
        other.write_text(self.run_program("plan", "--spec", "dim=128,base=10000,ctx=8192", "-c", "32k", "--json"))
        self.assertIn("made for a model with", self.run_program("extend", self.model, "--plan", other, status=1))

    def test_a_plan_for_another_scaling_is_refused(self):
        # The plan of the plain model would erase the factors that this one was trained with
        plan = self.root / "plan.json"
        plan.write_text(self.run_program("plan", self.model, "-c", "32k", "--json"))
        self.config.write_text(json.dumps({**LLAMA, "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 1024}}))
        self.assertIn("another scaling", self.run_program("extend", self.model, "--plan", plan, status=1))

    def test_a_config_of_another_name_does_not_replace_config_json(self):
        other = self.model / "other.json"
        other.write_text(json.dumps({**LLAMA, "max_position_embeddings": 4096}))
        self.assertIn("config.json", self.run_program("extend", other, "-c", "32k", status=1))
        self.assertEqual(self.config.read_text(), self.text)

    def test_a_config_of_another_name_keeps_itself_as_the_original(self):
        # The config.json beside it was kept once, so that taking the extension back made another model of the folder.
        other = self.model / "other.json"
        other.write_text(json.dumps({**LLAMA, "model_type": "qwen3", "max_position_embeddings": 4096, "rope_theta": 1e6}))
        for neighbour in (True, False):
            second = self.root / f"second-{neighbour}"
            if not neighbour:
                self.config.unlink()
            self.run_program("extend", other, "-c", "32k", "-o", second)
            self.assertEqual(json.loads((second / "config.json").read_text())["max_position_embeddings"], 32768)
            self.assertEqual(sorted(p.name for p in second.iterdir()), ["config.json", "config.original.json", "model.safetensors"])
            self.assertRegex(self.run_program("inspect", second), r"trained context +4096\nrope +base 1000000 ")
            self.run_program("extend", second, "--undo")
            self.assertEqual((second / "config.json").read_text(), other.read_text())

    def test_a_file_that_cannot_be_linked_is_an_error(self):
        # The path of this one is longer than a link may be
        names, rest = divmod(3900 - len(str(self.model)), 200)
        deep = self.model.joinpath(*["d" * 199] * names, "d" * max(rest, 1))
        deep.mkdir(parents=True)
        (deep / "config.json").write_text(self.text)
        folder = os.open(deep, os.O_RDONLY)
        os.close(os.open("w" * 250, os.O_WRONLY | os.O_CREAT, dir_fd=folder))
        os.close(folder)
        self.assertIn("File name too long", self.run_program("extend", deep, "-c", "32k", "-o", self.root / "longer", status=1))
        self.assertFalse((self.root / "longer" / "config.json").exists())


class Gguf(InFolder):
    def setUp(self):
        super().setUp()
        self.file = self.root / "m.gguf"
        tiny_gguf.write(self.file, "llama", {}, None, base=True)
        self.bytes = self.file.read_bytes()

    def test_a_model_does_not_tell_the_folders_of_whoever_extended_it(self):
        private = self.root / "of-alice"
        private.mkdir()
        shutil.copy(self.file, private / "model.gguf")
        self.run_program("extend", private / "model.gguf", "-c", "32k", "-o", self.root / "published.gguf")
        published = (self.root / "published.gguf").read_bytes()
        self.assertIn(b'"source": "model.gguf"', published)
        self.assertNotIn(b"of-alice", published)
        self.run_program("extend", private / "model.gguf", "-c", "32k", "--sidecar", "-o", self.root / "beside")
        self.assertNotIn(b"of-alice", (self.root / "beside" / "model-00002-of-00002.gguf").read_bytes())

    def test_where_to_must_be_said(self):
        text = self.run_program("extend", self.file, "--factor", "4", status=2)
        for flag in ("where to?", "-o FILE", "--in-place", "--sidecar"):
            self.assertIn(flag, text)
        self.assertEqual(self.file.read_bytes(), self.bytes)

    def test_flags_that_contradict_each_other_are_refused(self):
        for flags in (["-c", "4k", "--undo", "-o", "x"], ["--undo", "--sidecar"], ["--factor", "4", "--sidecar", "--in-place"],
                      ["--factor", "4", "--in-place", "-o", "x"], ["--method", "yarn", "--undo", "--in-place"]):
            with self.subTest(flags):
                self.assertIn("excludes", self.run_program("extend", self.file, *flags, status=2))
        self.assertEqual(self.file.read_bytes(), self.bytes)

    def test_an_existing_output_is_kept(self):
        target = self.root / "out.gguf"
        target.write_text("mine")
        self.assertIn("hint: -f replaces it", self.run_program("extend", self.file, "--factor", "4", "-o", target, status=1))
        self.assertIn("hint: -f", self.run_program("extend", self.file, "--factor", "4", "-o", target, "--dry-run", status=1))
        self.assertEqual(target.read_text(), "mine")
        self.run_program("extend", self.file, "--factor", "4", "-o", target, "-f")
        self.assertNotEqual(target.read_bytes(), b"mine")

    def test_f_is_offered_only_where_it_helps(self):
        (self.root / "folder").mkdir()
        for target in (self.root / "folder", self.root / "nowhere" / "out.gguf", "/dev/stdout"):
            with self.subTest(target):
                text = self.run_program("extend", self.file, "--factor", "4", "-o", target, status=1)
                self.assertNotIn("-f replaces it", text)

    def test_less_than_the_trained_length_is_refused(self):
        for flags in ([], ["--method", "yarn"]):
            text = self.run_program("extend", self.file, "-c", "1k", *flags, "-o", self.root / "out.gguf", status=2)
            self.assertIn("the model already reaches 8192 tokens", text)
        plan = self.root / "plan.json"
        plan.write_text(self.run_program("plan", self.file, "-c", "1k", "--method", "yarn", "--json"))
        text = self.run_program("extend", self.file, "--plan", plan, "-o", self.root / "out.gguf", status=1)
        self.assertIn("the model already reaches 8192 tokens", text)
        self.assertFalse((self.root / "out.gguf").exists())
        # The same length with a method is a change that somebody may want to measure
        self.run_program("extend", self.file, "-c", "8k", "--method", "abf:base=500000", "-o", self.root / "out.gguf")

    def test_the_source_is_never_the_target(self):
        for name in (self.file, self.root / "link.gguf"):
            if name != self.file:
                os.link(self.file, name)
            self.run_program("extend", self.file, "--factor", "4", "-o", name, "-f", status=1)
            self.run_program("extend", self.file, "--factor", "4", "-o", name, "-f", "--dry-run", status=1)
            self.assertNotIn("-f", self.run_program("extend", self.file, "--factor", "4", "-o", name, status=1))
            self.assertEqual(self.file.read_bytes(), self.bytes)

    def test_the_plan_is_never_the_target(self):
        plan = self.root / "plan.json"
        plan.write_text(self.run_program("plan", self.file, "-c", "16k", "--json"))
        text = plan.read_text()
        self.assertIn("the plan itself", self.run_program("extend", self.file, "--plan", plan, "-o", plan, "-f", status=1))
        self.assertEqual(plan.read_text(), text)

    def test_f_replaces_a_sidecar_of_ours(self):
        for folder in (self.root, self.root / "elsewhere"):
            for flags in ([], ["-f"], ["-f"]):
                self.run_program("extend", self.file, "--factor", "4", "--sidecar", "-o", folder, *flags)
            self.assertIn("-f replaces it",
                          self.run_program("extend", self.file, "--factor", "4", "--sidecar", "-o", folder, status=1))
            self.assertEqual((folder / "m-00001-of-00002.gguf").read_bytes(), self.bytes)
        self.assertEqual(self.file.read_bytes(), self.bytes)

    def test_f_does_not_make_a_sidecar_of_the_model(self):
        # The model itself had the name of the first shard, m.gguf was a link to it: -f removed the model.
        for shard in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf"):
            model = self.root / shard
            self.file.rename(model)
            self.file.symlink_to(shard)
            for flags in (["-f"], ["-f", "--dry-run"], []):
                text = self.run_program("extend", self.file, "--factor", "4", "--sidecar", "-o", self.root, *flags, status=1)
                self.assertIn("the model itself", text)
            self.assertEqual(model.read_bytes(), self.bytes)
            self.assertEqual(sorted(p.name for p in self.root.iterdir()), sorted(["m.gguf", shard]))
            self.file.unlink()
            model.rename(self.file)

    def test_f_does_not_make_a_sidecar_of_another_file(self):
        other = self.root / "other.gguf"
        tiny_gguf.write(other, "qwen2", {}, None, base=True)
        bytes_of_other = other.read_bytes()
        for shard in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf"):
            for make in (lambda path: path.write_bytes(bytes_of_other), lambda path: path.write_text("mine"),
                         lambda path: path.symlink_to("other.gguf"), lambda path: path.symlink_to("nowhere")):
                make(self.root / shard)
                before = sorted((p.name, p.is_symlink(), p.exists() and p.read_bytes()) for p in self.root.iterdir())
                text = self.run_program("extend", self.file, "--factor", "4", "--sidecar", "-o", self.root, "-f", status=1)
                self.assertIn("not replaced", text)
                self.assertNotIn("-f replaces it", text)
                after = sorted((p.name, p.is_symlink(), p.exists() and p.read_bytes()) for p in self.root.iterdir())
                self.assertEqual(before, after)
                (self.root / shard).unlink()

    def test_commands_name_the_file_for_a_shell(self):
        text = self.run_program("extend", self.file, "--factor", "4", "-o", self.root / "mein Modell.gguf")
        self.assertIn(f"run       llama-server -m '{self.root}/mein Modell.gguf' -c 32768\n", text)
        # Without a name there is nothing to start: "llama-server -m  -c 32768" was offered once.
        self.assertNotIn("run ", self.run_program("extend", self.file, "--factor", "4", "--dry-run"))
        self.assertEqual(json.loads(self.run_program("extend", self.file, "--factor", "4", "--dry-run", "--json"))["commands"], [])

    def test_what_to_do_next_is_one_line_for_a_shell(self):
        folder = self.root / ("a long name " * 12)
        folder.mkdir()
        file = folder / "m.gguf"
        file.write_bytes(self.bytes)
        self.assertTrue(self.run_program("inspect", file).endswith(f" mrrope plan '{file}' -c 32k\n"))
        self.assertIn(f"mrrope extend '{file}' -c 16k -o m-16k.gguf\n", self.run_program("plan", file, "-c", "16k"))

    def test_json_tells_what_was_done(self):
        report = json.loads(self.run_program("extend", self.file, "--factor", "4", "-o", self.root / "out.gguf", "--json"))
        self.assertLess(report["verified_difference"], 1e-6)
        self.assertEqual(report["written"], str(self.root / "out.gguf"))
        self.assertIn("rope_freqs.weight", [change["name"] for change in report["changes"]])

    def test_an_extended_file_is_not_extended_again(self):
        self.run_program("extend", self.file, "--factor", "4", "-o", self.root / "out.gguf")
        out = self.root / "out.gguf"
        self.assertIn(f"hint: mrrope extend {out} --undo -o FILE\n",
                      self.run_program("extend", out, "--factor", "8", "-o", self.root / "x.gguf", status=1))

    def test_a_table_per_length_becomes_one_and_that_is_said(self):
        text = " ".join(self.run_program("extend", self.file, "-c", "32k", "--method", "dynamic-ntk", "--dry-run").split())
        self.assertIn("dynamic-ntk has a table for every length; the file holds the one for 32768 tokens", text)
        self.assertNotIn("table for every length", self.run_program("extend", self.file, "-c", "32k", "--dry-run"))

    def test_cautions_of_the_plan_are_said(self):
        caution = "Beyond 16x nothing was measured by the paper"
        self.assertIn(caution, " ".join(self.run_program("plan", self.file, "--factor", "32").split()))
        self.assertIn(caution, " ".join(self.run_program("extend", self.file, "--factor", "32", "--dry-run").split()))

    def test_inspect_and_extend_agree_on_what_a_file_can_carry(self):
        for architecture in ("refact", "cogvlm", "deepseek4"):
            tiny_gguf.write(self.file, architecture, {}, None, base=True)
            why = "its rotation follows neither keys nor factor tensors"
            self.assertIn(why, self.run_program("extend", self.file, "--factor", "4", "--dry-run", status=1))
            text = " ".join(self.run_program("inspect", self.file).split())
            self.assertIn(why, text)
            self.assertNotIn("by keys", text)
        tiny_gguf.write(self.file, "gemma", {}, None, base=True)
        self.assertIn("base, linear, YaRN by keys; no factor tensor", self.run_program("inspect", self.file))


if __name__ == "__main__":
    unittest.main()
