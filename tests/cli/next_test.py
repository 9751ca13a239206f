# SPDX-License-Identifier: MIT
"""Whoever types the line that a command prints ends with a longer model, or with a reason and the best alternative.

    next_test.py MRROPE
"""
import json
import os
import re
import shlex
import unittest

import tiny_gguf
from in_folder import PROGRAM, InFolder


class Following(InFolder):
    def gguf(self, architecture, keys=None, name="model.gguf", factors=None):
        tiny_gguf.write(self.root / name, architecture, keys or {}, factors)
        return name

    def line(self, label, text):
        found = re.search(rf"^{label} +(.+)$", text, re.MULTILINE)
        self.assertIsNotNone(found, text)
        return found.group(1)

    def follow(self, command):
        words = shlex.split(command)
        self.assertEqual(words[0], "mrrope", command)
        return self.run_program(*words[1:])

    def walk(self, model):
        plan = self.follow(self.line("next", self.run_program("inspect", model)))
        return plan, self.follow(self.line("next", plan))

    def test_inspect_leads_to_plan_and_plan_to_a_served_file(self):
        for architecture in ("llama", "qwen2", "qwen3", "gemma2", "phi2", "glm4", "olmo2"):
            with self.subTest(architecture):
                _, extended = self.walk(self.gguf(architecture, name=f"{architecture}.gguf"))
                self.assertIn(f"llama-server -m {architecture}-32k.gguf -c 32768", self.line("run", extended))

    def test_plan_says_before_extend_does_that_the_engine_runs_another(self):
        plan, extended = self.walk(self.gguf("qwen2"))
        for text in (plan, extended):
            flat = " ".join(text.split())
            self.assertIn("llama.cpp cannot run mrrope-pro on qwen2", flat)
            self.assertRegex(flat, r"Nearest it runs: yarn, at most [0-9.]+ % from mrrope-pro in the speed of a pair")
        self.assertIn("yarn", self.line("plan", extended))

    def test_a_named_method_is_refused_with_the_command_that_works(self):
        self.gguf("qwen2")
        error = self.run_program("extend", "model.gguf", "-c", "32k", "--method", "mrrope-pro", "-o", "x.gguf", status=1)
        self.assertIn("cannot run mrrope-pro on qwen2", error)
        hint = re.search(r"mrrope extend model.gguf -c 32k.*", error).group(0)
        self.assertIn("llama-server", self.follow(hint))
        self.assertFalse((self.root / "x.gguf").exists())

    def test_plan_for_an_engine_is_what_the_engine_runs(self):
        self.gguf("qwen2")
        plan = json.loads(self.run_program("plan", "model.gguf", "-c", "32k", "--target", "llama.cpp", "--json"))
        self.assertEqual(plan["method"]["name"], "yarn")
        plan = json.loads(self.run_program("plan", "model.gguf", "-c", "32k", "--json"))
        self.assertEqual(plan["method"]["name"], "mrrope-pro")
        error = self.run_program("plan", "--spec", "dim=128,base=10000,ctx=4096", "-c", "8k", "--target", "vllm", status=2)
        self.assertIn("--target", error)

    def test_what_no_file_can_carry_leads_to_the_plug_in(self):
        self.gguf("deepseek2-ocr")
        text = self.run_program("plan", "model.gguf", "-c", "32k")
        self.assertIn("mrrope plan model.gguf -c 32k --json > plan.json", text)
        self.assertIn("MRROPE_PLAN=plan.json llama-server -m model.gguf -c 32768", self.line("run", text))
        error = self.run_program("extend", "model.gguf", "-c", "32k", "-o", "x.gguf", status=1)
        self.assertIn("mrrope plan model.gguf -c 32k", error)

    def test_a_model_whose_windows_alone_rotate_gets_the_length_alone(self):
        _, extended = self.walk(self.gguf("cohere2", {"attention.sliding_window": 4096}))
        self.assertIn("Only layers with a window of 4096 tokens rotate", " ".join(extended.split()))
        self.assertNotIn("rope_freqs", extended)

    def test_a_length_that_was_trained_needs_nothing(self):
        self.gguf("llama")
        text = self.run_program("plan", "model.gguf", "-c", "8k")
        self.assertEqual(self.line("run", text), "llama-server -m model.gguf -c 8192")

    def test_the_trained_length_can_be_corrected(self):
        self.gguf("qwen3", {"context_length": 40960})
        text = self.run_program("plan", "model.gguf", "-c", "128k", "--trained", "32k")
        self.assertIn("factor 4", text)
        extended = json.loads(self.run_program(*shlex.split(self.line("next", text))[1:], "--json"))
        self.assertEqual((extended["context_trained"], extended["factor"]), (32768, 4))
        changes = {change["name"]: change["after"] for change in extended["changes"]}
        self.assertEqual(changes["qwen3.rope.scaling.original_context_length"], 32768)
        error = self.run_program("plan", "model.gguf", "-c", "128k", "--trained", "3", status=2)
        self.assertIn("--trained", error)
        error = self.run_program("plan", "--spec", "dim=128,base=10000,ctx=4096", "-c", "8k", "--trained", "2k", status=2)
        self.assertIn("--trained", error)

    def test_a_plan_that_does_not_fit_says_what_differs(self):
        self.gguf("qwen3", {"context_length": 40960})
        (self.root / "plan.json").write_text(
            self.run_program("plan", "model.gguf", "-c", "128k", "--trained", "32k", "--method", "yarn", "--json"))
        error = self.run_program("extend", "model.gguf", "--plan", "plan.json", "-o", "x.gguf", status=1)
        self.assertIn("a trained length of 32768; this one has 40960", error)
        self.run_program("extend", "model.gguf", "--plan", "plan.json", "--trained", "32k", "-o", "x.gguf")
        self.gguf("qwen3", {"context_length": 32768, "rope.freq_base": 50000.0}, name="other.gguf")
        error = self.run_program("extend", "other.gguf", "--plan", "plan.json", "-o", "y.gguf", status=1)
        self.assertIn("base 100000; this one has 50000", error)

    def test_a_folder_is_offered_a_second_one(self):
        folder = self.root / "Tiny"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(
            {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4,
             "max_position_embeddings": 8192, "rope_theta": 500000.0}))
        _, extended = self.walk("Tiny")
        self.assertTrue((self.root / "Tiny-32k" / "config.json").exists())
        self.assertIn("Tiny-32k", self.line("run", extended))


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    assert PROGRAM
    unittest.main()
