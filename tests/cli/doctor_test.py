# SPDX-License-Identifier: MIT
"""`mrrope doctor` finds each mistake that people made, and says nothing of healthy files.

    doctor_test.py MRROPE
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tiny_gguf

PROGRAM = sys.argv.pop(1)
LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
         "head_dim": 128, "max_position_embeddings": 8192, "rope_theta": 500000.0}
ONES, FOURS = [1.0] * 64, [4.0] * 64
FACTORS = {"rope_freqs.weight": [float(1 + i / 10) for i in range(32)]}
LISTS = {"rope_factors_long.weight": [4.0] * 32, "rope_factors_short.weight": [1.0] * 32}


def config(**changes):
    merged = {**LLAMA, **changes}
    return {key: value for key, value in merged.items() if value is not None}


def scaling(rope_type, **more):
    return {"rope_type": rope_type, **more}


YARN = scaling("yarn", factor=4.0, original_max_position_embeddings=8192)
UNIVERSAL = scaling("longrope", short_factor=FOURS, long_factor=FOURS, factor=4.0, original_max_position_embeddings=8860,
                    attention_factor=1.1386, short_mscale=1.1386, long_mscale=1.1386)

# code -> (architecture, keys, tensors) or a config
GGUF = {
    "R000": ("llamb", {}, None),
    "R001": ("llama", {"context_length": 32768, "rope.scaling.original_context_length": 8192}, None),
    "R002": ("falcon-h1", {"rope.scaling.type": "none"}, FACTORS),
    "R003": ("qwen2", {}, FACTORS),
    "R004": ("llama", {"rope.scaling.factor": 4.0}, FACTORS),
    "R005": ("llama", {"rope.scaling.type": "longrope"}, None),
    "R006": ("qwen2", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "context_length": 32768}, None),
    "R007": ("qwen3", {"rope.scaling.yarn_beta_fast": 16.0}, None),
    "R008": ("qwen2", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 8192}, None),
    "R009": ("llama", {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 4096}, LISTS),
    "R010": ("phi3", {}, {"rope_factors_long.weight": [4.0] * 32}),
    "R011": ("llama", {"rope.scaling.type": "longrope"}, {**FACTORS, **LISTS}),
    "R013": ("llama", {"rope.scaling.factor": 2.0, "rope.scale_linear": 2.0}, None),
    "R014": ("llama", {"rope.scaling.factor": 2.0, "rope.scaling.type": "none"}, None),
    "R015": ("llama", {"rope.scaling.type": "none"}, {"rope_freqs.weight": [0.25] * 32}),
}
CONFIG = {
    "R100": config(rope_scaling=scaling("longrope", short_factor=[1.0], long_factor=[1.0], original_max_position_embeddings=4096)),
    "R101": config(max_position_embeddings=32768, rope_scaling={**YARN, "type": "yarn"}),
    "R102": config(rope_scaling={"type": "linear", "rope_type": "yarn", "factor": 2.0}),
    "R103": config(rope_theta=None, rope_parameters={**YARN, "rope_theta": 500000.0}, max_position_embeddings=32768),
    "R104": config(rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
    "R105": config(rope_theta=None, rope_scaling=scaling("linear", factor=2.0)),
    "R106": config(rope_scaling=scaling("linear", factor=2.0), rope_parameters=scaling("linear", factor=4.0, rope_theta=500000.0)),
    "R107": config(rope_scaling=scaling("yarn", factor=4.0)),
    "R108": config(rope_scaling=YARN),
    "R109": config(rope_scaling=YARN, max_position_embeddings=131072),
    "R110": config(rope_scaling={**YARN, "mscale": 0.707}, max_position_embeddings=32768),
    "R111": config(rope_scaling={**YARN, "attention_factor": 1.0}, max_position_embeddings=32768),
    "R112": config(rope_scaling={**YARN, "truncate": False}, max_position_embeddings=32768),
    "R113": config(rope_scaling=scaling("linear", factor=4.0)),
    "R114": config(rope_scaling=scaling("dynamic", factor=4.0)),
    "R115": config(rope_scaling={**UNIVERSAL, "short_factor": ONES}, max_position_embeddings=32768),
    "R116": config(rope_scaling={**UNIVERSAL, "short_factor": ONES}, original_max_position_embeddings=8192, max_position_embeddings=32768),
    "R117": config(rope_scaling={k: v for k, v in UNIVERSAL.items() if "mscale" not in k}, max_position_embeddings=32768),
    "R118": config(rope_scaling=UNIVERSAL, original_max_position_embeddings=8860, max_position_embeddings=32768),
    "R119": config(model_type="phi3", rope_scaling=UNIVERSAL, original_max_position_embeddings=8860, max_position_embeddings=32768),
    "R120": config(model_type="mistral", head_dim=None, rope_scaling=YARN, max_position_embeddings=32768),
    "R121": config(rope_scaling=scaling("yarm", factor=4.0)),
    "R122": config(rope_scaling={"factor": 4.0}),
    "R123": config(rope_scaling=scaling("linear", factor=0.25)),
}
# What one engine does wrong: code -> (config, engine)
QWEN = config(model_type="qwen2", max_position_embeddings=131072,
              rope_scaling=scaling("yarn", factor=4.0, original_max_position_embeddings=32768))
WINDOWS = config(model_type="mistral", sliding_window=4096, max_position_embeddings=32768, rope_scaling=YARN)
ENGINES = {
    "R200": (config(max_position_embeddings=32768, rope_scaling=YARN), "mistral.rs"),
    "R201": (QWEN, "mistral.rs"),
    "R202": (config(max_position_embeddings=32768, rope_scaling=YARN), "exllamav2"),
    "R203": (config(max_position_embeddings=32768, rope_scaling={**YARN, "attention_factor": 1.0}), "sglang"),
    "R204": (config(max_position_embeddings=32768, rope_scaling=UNIVERSAL, original_max_position_embeddings=8860), "vllm"),
    "R205": (config(max_position_embeddings=32768, rope_scaling=UNIVERSAL), "sglang"),
    "R206": (WINDOWS, ""),
    "R207": (config(model_type="something_new", max_position_embeddings=32768, rope_scaling=YARN), "exllamav2"),
}
HEALTHY_GGUF = [
    ("llama", {}, None), ("qwen2", {}, None), ("gemma3", {"attention.sliding_window": 512}, None), ("llama", {}, FACTORS),
    ("qwen2", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 8192, "context_length": 32768}, None),
    ("phi3", {"rope.scaling.original_context_length": 8192, "context_length": 32768}, {k: FACTORS["rope_freqs.weight"] for k in LISTS}),
]
HEALTHY_CONFIG = [
    config(), config(rope_scaling=YARN, max_position_embeddings=32768), config(model_type="qwen2"),
    config(rope_scaling=UNIVERSAL, max_position_embeddings=32768),
    config(max_position_embeddings=131072, rope_scaling=scaling("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)),
    config(rope_scaling=None, rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
    {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024,
                                             "rope_scaling": scaling("linear", factor=8.0)}},  # Gemma 3 4B as released
]


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def examine(self, path, *arguments):
        done = subprocess.run([PROGRAM, "doctor", path, "--json", *arguments], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(done.stdout), done.returncode

    def gguf(self, fixture, base=True):
        tiny_gguf.write(self.folder / "m.gguf", *fixture, base=base)
        return self.folder / "m.gguf"

    def config(self, fixture):
        (self.folder / "config.json").write_text(json.dumps(fixture))
        return self.folder

    def codes(self, path):
        """What is wrong with the file itself."""
        return [finding["code"] for finding in self.examine(path)[0]["findings"] if not finding["engine"]]

    def of_engine(self, fixture, engine, *arguments):
        report, status = self.examine(self.config(fixture), *arguments)
        row = next(e for e in report["engines"] if e["name"] == engine)
        return row, {f["code"]: f for f in report["findings"] if f["engine"] == engine}, status

    def test_each_mistake_in_a_gguf_is_found(self):
        for code, fixture in GGUF.items():
            with self.subTest(code):
                self.assertIn(code, self.codes(self.gguf(fixture)))
        self.assertIn("R012", self.codes(self.gguf(("qwen2", {}, None), base=False)))

    def test_each_mistake_in_a_config_is_found(self):
        for code, fixture in CONFIG.items():
            with self.subTest(code):
                self.assertIn(code, self.codes(self.config(fixture)))

    def test_every_rule_has_a_fixture(self):
        listed = subprocess.run([PROGRAM, "doctor", "--list"], capture_output=True, text=True, check=True).stdout
        codes = {line.split()[0] for line in listed.splitlines()[1:]}
        self.assertEqual(codes, set(GGUF) | set(CONFIG) | set(ENGINES) | {"R012"})
        self.assertGreaterEqual(len(codes), 25)

    def test_every_rule_is_documented(self):
        listed = subprocess.run([PROGRAM, "doctor", "--list"], capture_output=True, text=True, check=True).stdout
        document = (pathlib.Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
        for line in listed.splitlines()[1:]:
            code, severity, title = line.split(maxsplit=2)
            self.assertIn(f"| {code} | {severity} | {title} |", document)

    def test_healthy_files_have_no_findings(self):
        for fixture in HEALTHY_GGUF:
            with self.subTest(fixture[0]):
                self.assertEqual(self.codes(self.gguf(fixture)), [])
        for fixture in HEALTHY_CONFIG:
            with self.subTest(fixture):
                self.assertEqual(self.codes(self.config(fixture)), [])

    def test_fail_on_decides_the_exit_status(self):
        path = self.config(CONFIG["R101"])  # a warning
        self.assertEqual(self.examine(path)[1], 0)
        self.assertEqual(self.examine(path, "--fail-on", "warning")[1], 3)
        path = self.config(CONFIG["R102"])  # an error
        self.assertEqual(self.examine(path)[1], 3)
        self.assertEqual(self.examine(path, "--fail-on", "never")[1], 0)

    def test_advice_for_a_raised_context_length_works(self):
        path = self.gguf(GGUF["R001"])
        advice = next(f["advice"] for f in self.examine(path)[0]["findings"] if f["code"] == "R001")
        command = advice.replace("FILE", str(path)).replace("OUT", str(self.folder / "out.gguf")).split()
        subprocess.run([PROGRAM, *command[1:]], check=True, capture_output=True)
        self.assertEqual(self.codes(self.folder / "out.gguf"), [])

    def test_values_that_no_rotation_can_have_are_found(self):
        for key, value in {"rope.freq_base": 0.0, "rope.scaling.attn_factor": 0.0, "rope.dimension_count": 63}.items():
            with self.subTest(key):
                report, status = self.examine(self.gguf(("llama", {key: value}, None)))
                self.assertEqual([f["code"] for f in report["findings"]], ["R000"])
                self.assertEqual(status, 3)

    def test_keys_that_llama_cpp_does_not_load_are_found(self):
        for key, value in {"rope.freq_base": 1000000, "rope.scaling.factor": float("nan"), "context_length": 8192.0}.items():
            with self.subTest(key):
                report = self.examine(self.gguf(("llama", {key: value}, None)))[0]
                self.assertEqual([f["code"] for f in report["findings"]], ["R000"])
                self.assertIn(f"llama.{key}: expected ", report["findings"][0]["message"])

    def test_what_is_no_model_has_no_findings(self):
        path = self.gguf(("llama", {}, None))
        path.write_bytes(path.read_bytes()[:100])
        done = subprocess.run([PROGRAM, "doctor", path, "--json"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("m.gguf", done.stderr)

    def test_a_model_that_does_not_rotate_is_healthy(self):
        self.assertEqual(self.codes(self.gguf(("mamba", {"attention.head_count": 0}, None))), [])

    def test_a_model_that_does_not_rotate_is_not_told_to_extend(self):
        for architecture in ("mamba", "jamba", "bloom"):
            with self.subTest(architecture):
                path = self.gguf((architecture, {}, None))
                report, status = self.examine(path)
                self.assertEqual((report["findings"], report["rotates"], status), ([], False, 0))
                self.assertFalse(any(e.get("groups") for e in report["engines"]))
                said = self.told(path)[0]
                self.assertIn("no layer rotates", said)
                self.assertNotIn("no findings", said)
        self.assertIn("no layer rotates", self.told(self.config({"model_type": "mamba", "hidden_size": 768}))[0])

    def told(self, *arguments):
        done = subprocess.run([PROGRAM, "doctor", *arguments], capture_output=True, text=True, env={"PATH": "/usr/bin"})
        return done.stdout, done.returncode, done.stderr

    def test_what_one_engine_does_wrong_is_found(self):
        for code, (fixture, engine) in ENGINES.items():
            with self.subTest(code):
                findings = self.examine(self.config(fixture))[0]["findings"]
                self.assertIn((code, engine), [(f["code"], f["engine"]) for f in findings])

    def test_an_engine_counts_in_full_where_it_is_asked_about(self):
        row, found, status = self.of_engine(QWEN, "mistral.rs")
        self.assertEqual((row["verdict"], found["R201"]["severity"], status), ("plain", "warning", 0))
        row, found, status = self.of_engine(QWEN, "mistral.rs", "--target", "Mistral.RS")
        self.assertEqual((row["verdict"], found["R201"]["severity"], status), ("plain", "error", 3))
        row, found, status = self.of_engine(QWEN, "vllm", "--target", "vLLM", "--fail-on", "note")
        self.assertEqual((row["verdict"], found, status), ("serves it", {}, 0))

    def test_engines_that_run_an_extension_plain_are_named(self):
        report = self.examine(self.config(QWEN))[0]
        plain = {e["name"] for e in report["engines"] if e["verdict"] == "plain"}
        self.assertEqual(plain, {"tensorrt-llm", "mistral.rs", "candle", "mlc-llm"})
        for engine in report["engines"]:
            if engine["evidence"] == "read":
                self.assertTrue(engine["source"], engine["name"])

    def test_other_engines_troubles_are_left_out_where_one_is_asked_about(self):
        path = self.config(CONFIG["R101"])  # ExLlamaV2 stops on it
        self.assertIn("R101", self.codes(path))
        report = self.examine(path, "--target", "vllm")[0]
        self.assertEqual(([e["name"] for e in report["engines"]], report["findings"]), (["vllm"], []))

    def test_an_engine_that_nobody_knows_is_refused_with_the_nearest(self):
        out, status, error = self.told(self.config(QWEN), "--target", "vlm")
        self.assertEqual((out, status), ("", 2))
        self.assertIn("did you mean vllm?", error)
        out, status, error = self.told(self.config(QWEN), "--target", "ollama")
        self.assertEqual((out, status), ("", 1))
        self.assertIn("Ollama reads GGUF files", error)

    def test_a_rule_that_knows_nothing_of_a_model_says_so(self):
        deepseek = {"model_type": "deepseek_v3", "max_position_embeddings": 163840, "rope_theta": 10000, "qk_rope_head_dim": 64,
                    "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "beta_fast": 32,
                                     "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}}
        oss = {"model_type": "gpt_oss", "head_dim": 64, "max_position_embeddings": 131072, "rope_theta": 150000,
               "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "beta_fast": 32.0,
                                "beta_slow": 1.0, "truncate": False}}
        for fixture in (deepseek, oss):  # mistral.rs has a field for the scaling of both
            self.assertEqual(self.of_engine(fixture, "mistral.rs")[0]["verdict"], "serves it", fixture["model_type"])
        self.assertEqual(self.of_engine(oss, "exllamav2")[0]["verdict"], "not checked")
        unknown = self.examine(self.config(ENGINES["R207"][0]))[0]["engines"]
        self.assertEqual({e["verdict"] for e in unknown}, {"not checked"})

    def test_who_takes_the_ratio_of_lengths_is_asked_of_the_rules(self):
        findings = self.examine(self.config(CONFIG["R109"]))[0]["findings"]
        message = next(f["message"] for f in findings if f["code"] == "R109")
        self.assertIn("ExLlamaV3 takes the second", message)
        self.assertNotIn("lmdeploy", message.lower())

    def test_a_code_is_explained(self):
        for code in ("R109", "r206"):
            out, status, _ = self.told("--explain", code)
            self.assertEqual(status, 0)
            self.assertGreaterEqual(out.count("\n\n"), 2)
            self.assertLessEqual(max(map(len, out.splitlines())), 80)
        out, status, error = self.told("--explain", "R19")
        self.assertEqual((out, status), ("", 2))
        self.assertIn("did you mean R1", error)

    def test_several_files_have_the_worst_status(self):
        good = self.folder / "good.json"
        good.write_text(json.dumps(config()))
        bad = self.folder / "bad.json"
        bad.write_text(json.dumps(CONFIG["R102"]))
        done = subprocess.run([PROGRAM, "doctor", good, bad, "--json"], capture_output=True, text=True)
        reports = json.loads(done.stdout)
        self.assertEqual(([r["path"] for r in reports], done.returncode), ([str(good), str(bad)], 3))
        out, status, error = self.told(good, self.folder / "none.json", bad)
        self.assertEqual(status, 1)
        self.assertIn("none.json", error)
        self.assertIn(f"{good}\n", out)
        self.assertIn(f"\n{bad}\n", out)

    def test_no_findings_never_stands_above_a_ruined_deployment(self):
        self.assertIn("no findings", self.told(self.config(config()))[0])
        out = self.told(self.config(QWEN))[0]
        self.assertNotIn("no findings", out)
        self.assertIn("R201 warning", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_an_odd_original_length_is_explained(self):
        said = self.told(self.config(config(max_position_embeddings=32768, rope_scaling={**UNIVERSAL, "original_max_position_embeddings": 3041})))[0]
        self.assertIn("3041 is not the trained length", " ".join(said.split()))
        self.assertNotIn("not the trained length", self.told(self.config(QWEN))[0])

    def test_engines_are_asked(self):
        report = self.examine(self.gguf(("qwen2", {}, FACTORS)))[0]
        engine = next(e for e in report["engines"] if e["name"] == "llama.cpp")
        self.assertFalse(engine["loads"])


if __name__ == "__main__":
    unittest.main()
