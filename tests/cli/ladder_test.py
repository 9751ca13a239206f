# SPDX-License-Identifier: MIT
"""`mrrope ladder` as a person meets it. What gateways and servers make of its files: tests/ladder, tests/deploy.

    ladder_test.py MRROPE
"""
import configparser
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "browser"))
import synthetic  # noqa: E402
import tiny_gguf  # noqa: E402
from in_folder import PROGRAM, InFolder  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests" / "models" / "tiny-512.gguf"
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 576, "num_attention_heads": 9,
         "num_key_value_heads": 3, "num_hidden_layers": 30, "max_position_embeddings": 8192, "rope_theta": 100000.0,
         "rope_scaling": None, "vocab_size": 49152}


class Ladder(InFolder):
    def refused(self, *arguments, status=2):
        done = subprocess.run([PROGRAM, "ladder", *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def presets(self, folder):
        parser = configparser.ConfigParser(strict=True, delimiters="=", interpolation=None)
        parser.read_string("[top]\n" + (folder / "llama.cpp" / "presets.ini").read_text())
        return {name: dict(parser[name]) for name in parser.sections() if name not in ("top", "*")}

    def lengths(self, *arguments):
        return [rung["length"] for rung in json.loads(self.run_program("ladder", *arguments, "--json"))["rungs"]]

    # ---- Rungs ----------------------------------------------------------------------------------------------------------

    def test_it_doubles_the_trained_length_and_says_what_each_rung_costs(self):
        text = self.run_program("ladder", MODEL, "-c", "2k")
        for words in ("3 rungs", "The model as it is", "turns from training", "mapped once for all rungs", "-c 2k -o deploy"):
            self.assertIn(words, text)
        self.assertEqual(list(self.root.iterdir()), [])

    def test_rungs_may_be_named_and_the_model_as_it_is_comes_first(self):
        self.assertEqual(self.lengths(MODEL, "--rungs", "1k,3k"), [512, 1024, 3072])
        self.assertEqual(self.lengths(MODEL, "--rungs", "256,512,1k"), [256, 512, 1024])

    def test_a_length_that_the_model_reaches_needs_no_ladder(self):
        text = self.run_program("ladder", MODEL, "-c", "512", "-o", self.root / "deploy")
        self.assertIn("no ladder is needed", " ".join(text.split()))
        self.assertFalse((self.root / "deploy" / "gateway").exists())

    def test_plans_are_taken_as_they_are(self):
        plans = []
        for length in ("2k", "1k"):
            plans.append(self.root / f"{length}.json")
            plans[-1].write_text(self.run_program("plan", MODEL, "-c", length, "--method", "yarn", "--json"))
        ladder = json.loads(self.run_program("ladder", MODEL, "--plans", f"{plans[0]},{plans[1]}", "--json"))
        self.assertEqual([(r["length"], r["plan"]["method"]["name"]) for r in ladder["rungs"]],
                         [(512, "none"), (1024, "yarn"), (2048, "yarn")])

    def test_runs_choose_methods_and_rungs_by_what_they_measured(self):
        run = synthetic.write_run(self.root / "run", "ppl", list(synthetic.ppl_records(plans=(("none", 1.0), ("yarn", 4.0), ("linear", 4.0)))))
        ladder = json.loads(self.run_program("ladder", MODEL, "-c", "2k", "--from", run, "--json"))
        # The synthetic linear costs 2 %, yarn 3 %; nobody measured a table for 1024 tokens
        self.assertEqual([(r["length"], r["plan"]["method"]["name"]) for r in ladder["rungs"]], [(512, "none"), (2048, "linear")])
        self.assertRegex(ladder["rungs"][1]["why"], r"^Measured: linear reads 2048 tokens best of 2 .* at 512 tokens it costs \+[12]\.\d\d %")
        self.assertIn("no run measured a plan of factor 2", self.refused(MODEL, "-c", "1k", "--from", run))

    def test_a_rung_beyond_every_factor_is_refused(self):
        for words in (("--rungs", "600M"), ("--rungs", "600M,700M"), ("-c", "600M")):
            self.assertIn(words[0], self.refused(MODEL, *words))

    def test_wrong_input_teaches(self):
        other = self.root / "other.json"
        other.write_text(self.run_program("plan", "--spec", "dim=128,base=10000,ctx=4096", "-c", "16k", "--json"))
        for expected, arguments in {
            "-c: say how long": [MODEL],
            "-c: expected a length": [MODEL, "-c", "8q"],
            "--rungs: expected lengths that ascend, found 1k after 2k": [MODEL, "--rungs", "2k,1k"],
            "--rungs: expected a length": [MODEL, "--rungs", "2k,,4k"],
            "--reserve": [MODEL, "-c", "2k", "--reserve", "512"],
            "--method: unknown method": [MODEL, "-c", "2k", "--method", "yarm"],
            "--plans": [MODEL, "--plans", other],
            "--from": [MODEL, "-c", "2k", "--from", self.root / "nothing"],
            "--port": [MODEL, "-c", "2k", "--port", "70000"],
        }.items():
            with self.subTest(expected):
                self.assertIn(expected, self.refused(*arguments))
        self.run_program("extend", MODEL, "-c", "1k", "-o", self.root / "longer.gguf")
        self.assertIn("--undo", self.refused(self.root / "longer.gguf", "-c", "2k", status=1))

    # ---- Folders --------------------------------------------------------------------------------------------------------

    def test_a_gguf_of_any_name_is_served_by_presets_with_plain_names(self):
        model = self.root / "a $(b) #c;'d' = %i.gguf"
        shutil.copy(MODEL, model)
        folder = self.root / "new # folder;"
        self.run_program("ladder", model, "-c", "2k", "-o", folder)
        presets = self.presets(folder)
        self.assertEqual(list(presets), ["a-b-c-d-i", "a-b-c-d-i-1k", "a-b-c-d-i-2k"])
        for preset in presets.values():
            self.assertTrue((folder / preset["m"]).exists(), preset["m"])
        self.assertEqual((folder / "llama.cpp" / "model.gguf").resolve(), model.resolve())
        read = json.loads(self.run_program("inspect", folder / "llama.cpp" / "2k", "--json"))
        self.assertTrue(read["groups"][0]["extended"])

    def test_every_architecture_gets_what_llama_cpp_can_be_told(self):
        for architecture, keys, factors, served in (
                ("llama", {}, None, "sidecar"), ("qwen2", {}, None, "keys"), ("qwen3", {}, None, "keys"),
                ("gemma3", {"attention.sliding_window": 512}, None, "keys"), ("command-r", {}, None, "keys"),
                ("llama", {}, {"rope_freqs.weight": [1.0] * 32}, "copy")):
            with self.subTest(architecture, served=served):
                path = self.root / f"{architecture}-{served}.gguf"
                tiny_gguf.write(path, architecture, keys, factors)
                folder = self.root / f"{architecture}-{served}"
                text = self.run_program("ladder", path, "-c", "16k", "-o", folder)
                self.assertIn(served, text)
                last = list(self.presets(folder).values())[-1]
                if served == "keys":
                    self.assertEqual(last["m"], "llama.cpp/model.gguf")
                    self.assertIn(".context_length=int:16384", last["override-kv"])
                if served == "copy":
                    self.assertIn("mrrope extend", (folder / "README.md").read_text())

    def test_a_hugging_face_folder_gets_scripts_that_a_shell_reads(self):
        model = self.root / "My Model's"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(LLAMA))
        folder = self.root / "deploy"
        self.run_program("ladder", model, "-c", "32k", "-o", folder, "--port", "9000")
        stub = self.root / "bin"
        stub.mkdir()
        (stub / "vllm").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        (stub / "vllm").chmod(0o755)
        words = subprocess.run([folder / "vllm" / "start.sh", "32k", "--seed", "1"], capture_output=True, text=True, check=True,
                               env={"PATH": f"{stub}:/usr/bin:/bin"}).stdout.splitlines()
        self.assertEqual(words[:2], ["serve", str(model)])
        flags = dict(zip(words[2::2], words[3::2]))
        self.assertEqual((flags["--max-model-len"], flags["--port"], flags["--seed"]), ("32768", "9003", "1"))
        self.assertEqual(json.loads(flags["--hf-overrides"])["max_position_embeddings"], 32768)
        wrong = subprocess.run([folder / "vllm" / "start.sh", "64k"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("8k, 16k, 32k", wrong.stderr)

    def test_folders_of_others_stay_as_they_are(self):
        (self.root / "mine.txt").write_text("mine")
        self.assertIn("nothing in it is touched", self.refused(MODEL, "-c", "2k", "-o", self.root))
        self.assertEqual([path.name for path in self.root.iterdir()], ["mine.txt"])

    def test_nothing_is_written_through_a_linked_folder(self):
        elsewhere = self.root / "elsewhere"
        self.run_program("ladder", MODEL, "-c", "2k", "-o", self.root / "real")
        for way in ("plans", "llama.cpp", "gateway", "llama.cpp/1k"):
            with self.subTest(way):
                folder = self.root / way.replace("/", "-")
                (folder / way).parent.mkdir(parents=True)
                elsewhere.mkdir()
                shutil.copy(self.root / "real" / "ladder.json", folder)
                (folder / way).symlink_to(elsewhere)
                self.refused(MODEL, "-c", "2k", "-o", folder, status=1)
                self.assertEqual(list(elsewhere.iterdir()), [])
                elsewhere.rmdir()

    def test_an_earlier_ladder_is_renewed_but_not_what_others_put_there(self):
        folder = self.root / "deploy"
        self.run_program("ladder", MODEL, "-c", "1k", "-o", folder)
        (folder / "notes.txt").write_text("mine")
        self.run_program("ladder", MODEL, "-c", "2k", "-o", folder)
        self.assertEqual(len(json.loads((folder / "ladder.json").read_text())["rungs"]), 3)
        self.assertEqual((folder / "notes.txt").read_text(), "mine")
        (folder / "llama.cpp" / "presets.ini").write_text("mine")
        before = (folder / "ladder.json").read_text()
        self.assertNotIn("-f", self.refused(MODEL, "-c", "1k", "-o", folder, status=1), "ladder has no such flag")
        self.assertEqual((folder / "llama.cpp" / "presets.ini").read_text(), "mine")
        self.assertEqual((folder / "ladder.json").read_text(), before)

    def test_a_dry_run_writes_nothing(self):
        text = self.run_program("ladder", MODEL, "-c", "2k", "-o", self.root / "deploy", "--dry-run")
        self.assertIn("llama.cpp/presets.ini", text)
        self.assertEqual(list(self.root.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
