# SPDX-License-Identifier: MIT
"""What is said of model files: those that are none, and those whose values are long.

    inspect_test.py MRROPE CONFIGS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

PROGRAM = sys.argv.pop(1)
CONFIGS = pathlib.Path(sys.argv.pop(1))
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if status else done.stdout


class NotAModel(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def refusal(self, name, content):
        (self.root / name).write_text(content)
        return run("inspect", self.root / name, status=1)

    def test_files_that_are_no_model_are_named(self):
        self.assertIn("model.gguf: no GGUF: the file is empty", self.refusal("model.gguf", ""))
        self.assertIn("a Git LFS pointer, whose content was not fetched", self.refusal("model.gguf", POINTER))
        self.assertIn("no GGUF", self.refusal("model.gguf", "<html>not found</html>"))
        self.assertIn("not valid JSON", self.refusal("config.json", "<html>not found</html>"))

    def test_a_folder_with_a_gguf_says_which(self):
        self.assertIn("no config.json in this folder\n", run("inspect", self.root, status=1))
        (self.root / "model.gguf").write_text("")
        self.assertIn("but model.gguf: name the .gguf itself", run("inspect", self.root, status=1))
        (self.root / "other.gguf").write_text("")
        self.assertIn("but model.gguf and 1 more", run("inspect", self.root, status=1))


class LongValues(unittest.TestCase):
    def widest(self, *arguments):
        return max(len(line) for line in run(*arguments).splitlines() if not line.startswith(("run ", "next ", "wrote ", "nothing ")))

    def test_groups_of_layers_stand_beside_their_values(self):
        text = run("inspect", CONFIGS / "gemma-3-4b-v5.json")
        self.assertRegex(text, r"\nrope +full_attention: base 1000000 ")
        self.assertRegex(text, r"\n +sliding_attention: base 10000 ")

    def test_only_lists_are_called_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "m.gguf"
            tiny_gguf.write(file, "deepseek2", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
                                                "rope.scaling.yarn_log_multiplier": 0.0707})
            self.assertRegex(run("inspect", file), r"trained with\s+yarn:mscale=0\.70\d+:mscale_all_dim=0\.70\d+,\s+factor 4")
        self.assertRegex(run("inspect", CONFIGS / "phi-3-mini-128k.json"), r"trained\s+with\s+longrope\s+\(a\s+list\), factor")

    def test_a_scaling_is_from_a_length_only_where_the_file_says_which(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "m.gguf"
            scaling = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
            tiny_gguf.write(file, "llama", {**scaling, "rope.scaling.original_context_length": 2048})
            self.assertRegex(run("inspect", file), r"factor 4\s+from\s+2048")
            tiny_gguf.write(file, "llama", {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0})
            self.assertRegex(run("inspect", file), r"trained with linear, factor\s+4\n")

    def test_lists_are_shown_by_their_ends(self):
        self.assertLessEqual(self.widest("plan", CONFIGS / "phi-3-mini-128k.json", "-c", "256k"), 80)
        for config in ("gemma-3-4b-v5", "gemma-3-4b", "phi-3-mini-128k"):
            self.assertLessEqual(self.widest("extend", CONFIGS / f"{config}.json", "--factor", "2", "--dry-run", "-o", "a-folder"), 120)


class Qwen3(unittest.TestCase):
    """Its first files declare 40960 tokens; 8192 of them are room for an answer. Who followed `next` got a plan for 160k."""

    def test_what_it_was_trained_for_is_said_and_typed(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "m.gguf"
            tiny_gguf.write(file, "qwen3", {"context_length": 40960})
            for model in (file, CONFIGS / "qwen3-8b.json"):
                text = run("inspect", model)
                self.assertIn("Qwen 3 was trained for 32768 of the 40960 tokens; the rest is room for an answer (--trained 32k)", " ".join(text.split()))
                self.assertEqual(text.splitlines()[-1].split()[1:], f"mrrope plan {model} -c 128k --trained 32k".split())
            tiny_gguf.write(file, "qwen3", {"context_length": 262144})
            self.assertEqual(run("inspect", file).splitlines()[-1].split()[1:], f"mrrope plan {file} -c 1M".split())


class SeveralFiles(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.file = pathlib.Path(temporary.name) / "m.gguf"
        tiny_gguf.write(self.file, "llama", {})
        self.config = CONFIGS / "llama-2-7b.json"

    def test_each_has_a_block_that_names_it(self):
        blocks = run("inspect", self.file, self.config).split("\n\n")
        self.assertEqual(len(blocks), 2)
        for block, path in zip(blocks, (self.file, self.config)):
            self.assertRegex(block, rf"^{path}\n|\nfile +{path}\n")
            self.assertIn(f"mrrope plan {path} -c", block)
        self.assertNotRegex(run("inspect", self.file), r"\nfile ")

    def test_json_of_several_is_an_array_of_the_same_objects(self):
        one = [json.loads(run("inspect", path, "--json")) for path in (self.file, self.config)]
        self.assertEqual(json.loads(run("inspect", self.file, self.config, "--json")), one)

    def test_one_that_fails_is_reported_and_the_others_are_shown(self):
        for flags in ([], ["--json"]):
            done = subprocess.run([PROGRAM, "inspect", self.file, "nothing.gguf", self.config, *flags], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("error: nothing.gguf", done.stderr)
            self.assertIn(str(self.config), done.stdout)
        self.assertEqual(len(json.loads(done.stdout)), 2)


class Values(unittest.TestCase):
    def test_a_group_is_extended_if_it_was(self):
        # It said what a plan would extend, of files that nobody had touched.
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "config.json"
            config.write_text((CONFIGS / "gemma-3-4b-v5.json").read_text())
            before = json.loads(run("inspect", folder, "--json"))
            self.assertEqual([(g["name"], g["extended"], g["keeps_table"]) for g in before["groups"]],
                             [("full_attention", False, False), ("sliding_attention", False, True)])
            run("extend", folder, "--factor", "2")
            after = json.loads(run("inspect", folder, "--json"))
            self.assertEqual([(g["name"], g["extended"]) for g in after["groups"]],
                             [("full_attention", True), ("sliding_attention", False)])

    def test_what_a_file_does_not_say_is_null(self):
        found = json.loads(run("inspect", CONFIGS / "llama-2-7b.json", "--json"))
        self.assertEqual((found["layers"], found["parameters"], found["bytes"], found["quantization"]), (32, None, None, None))


class Memory(unittest.TestCase):
    """Counted in tests/targets/kv_cache_test.cpp, compared with llama.cpp in tests/llama/test_cache_memory.py."""

    def inspected(self, architecture, keys, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "m.gguf"
            tiny_gguf.write(file, architecture, keys)
            return run("inspect", file, *arguments)

    GEMMA3 = {"block_count": 18, "context_length": 32768, "attention.head_count": 4, "attention.head_count_kv": 1,
              "attention.key_length": 256, "attention.value_length": 256, "attention.sliding_window": 512}

    def test_sliding_layers_keep_their_window(self):
        text = self.inspected("gemma3", self.GEMMA3)
        self.assertRegex(text, r"\nKV cache +3 KiB per token \(f16, one sequence\)\n +32k 111 MiB . 64k 207 MiB")
        self.assertIn("15 of 18 layers keep at most 1024 tokens\n", text)
        found = json.loads(self.inspected("gemma3", self.GEMMA3, "--json"))
        self.assertEqual(found["kv_bytes_per_token_f16"], 3 * 1024)
        self.assertEqual(found["kv_cache_f16"][0], {"tokens": 32768, "bytes": 111 * 2**20, "recurrent_bytes": 0})
        self.assertEqual([cache["tokens"] for cache in found["kv_cache_f16"]], [32768, 65536, 131072, 262144])

    def test_states_are_named(self):
        keys = {"ssm.conv_kernel": 4, "ssm.inner_size": 4096, "ssm.state_size": 128, "ssm.group_count": 16}
        self.assertIn("9 of 12 layers keep a state instead (18.8 MiB in all)\n", self.inspected("qwen3next", keys))
        self.assertIn("12 of 12 layers keep a state as well (25.1 MiB in all)\n", self.inspected("falcon-h1", keys))

    def test_layers_that_use_the_keys_of_others_are_named(self):
        self.assertIn("20 of 35 layers keep nothing\n", run("inspect", CONFIGS / "gemma-4-e2b.json"))

    def test_windows_everywhere_have_no_price_per_token(self):
        text = run("inspect", CONFIGS / "mistral-7b-v0.1.json")
        self.assertRegex(text, r"\nKV cache +in f16, one sequence\n +32k 576 MiB . 64k 576 MiB")
        self.assertIn("32 of 32 layers keep at most 4608 tokens\n", text)


if __name__ == "__main__":
    unittest.main()
