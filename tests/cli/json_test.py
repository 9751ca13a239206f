# SPDX-License-Identifier: MIT
"""What every --json prints is what docs/schemas say, and no command has one that is not looked at here.

    json_test.py MRROPE ROOT [llama] [servers]       what it was built with

Ends with status 77, for ctest a skipped test, where no Python here has jsonschema (Debian: python3-jsonschema).
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    # The package belongs to the system's Python, which may not be the first one
    if os.path.exists("/usr/bin/python3") and os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("skipped: no jsonschema in this Python (Debian: python3-jsonschema)")
    sys.exit(77)

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
PARTS = [sys.argv.pop(sys.argv.index(part)) for part in ("llama", "servers") if part in sys.argv]
sys.path.insert(0, str(ROOT / "tests" / "browser"))
import answering_server  # noqa: E402  pylint: disable=wrong-import-position
import synthetic  # noqa: E402  pylint: disable=wrong-import-position
import tiny_gguf  # noqa: E402  pylint: disable=wrong-import-position

MODEL = ROOT / "tests" / "models" / "tiny-512.gguf"
CONFIGS = sorted((ROOT / "tests" / "formats" / "configs").glob("*.json"))
SCHEMAS = {path.name.split(".")[0]: json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "docs" / "schemas").glob("*.schema.json")}
SPEC = ["--spec", "dim=128,base=10000,ctx=4096", "-c", "64k"]
seen = set()  # commands whose output was held against a schema


def strict(text):
    """JSON as the standard has it: no NaN, no Infinity, no key twice."""
    def refuse(name):
        raise ValueError(f"{name} is no JSON")

    def once(pairs):
        assert len(dict(pairs)) == len(pairs), f"a key stands twice: {[key for key, _ in pairs]}"
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=540, check=False)


class Documents(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def valid(self, schema, *arguments, status=0):
        """What `mrrope …` prints, after it was held against the schema."""
        done = run(*arguments, "--json")
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stderr}")
        document = strict(done.stdout)
        self.fits(schema, document)
        for one in document if isinstance(document, list) else [document]:
            self.assertEqual(one["schema"], f"mrrope.{schema}/1")
        seen.add(" ".join(arguments[:2]) if arguments[0] == "eval" else arguments[0])
        return document

    def fits(self, schema, document):
        problems = [f"{error.json_path}: {error.message}" for error in jsonschema.Draft202012Validator(SCHEMAS[schema]).iter_errors(document)]
        self.assertEqual(problems, [], schema)

    def ggufs(self):
        """A file for every architecture that goes its own way, as paths."""
        yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 8192}
        for architecture, keys in (("llama", {}), ("qwen2", yarn), ("qwen3", {}), ("gemma3", {"attention.sliding_window": 512}), ("phi3", {}),
                                   ("deepseek2", yarn | {"rope.scaling.yarn_log_multiplier": 0.0707})):
            path = self.folder / f"{architecture}.gguf"
            tiny_gguf.write(path, architecture, keys)
            yield path

    def test_schemas_are_schemas(self):
        for name, schema in SCHEMAS.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertEqual(schema["$id"], f"mrrope.{name}/1")

    def test_a_schema_refuses_what_it_does_not_describe(self):
        document = self.valid("inspect", "inspect", MODEL)
        for change in ({"layers": "30"}, {"groups": None}, {"schema": "mrrope.inspect/2"}):
            with self.assertRaises(AssertionError):
                self.fits("inspect", document | change)

    def test_files(self):
        paths = [MODEL, *CONFIGS, *self.ggufs()]
        for path in paths:
            with self.subTest(path.name):
                self.valid("inspect", "inspect", path)
                self.valid("doctor", "doctor", path, "--fail-on", "never")
                self.valid("plan", "plan", path, "--factor", 4)
        self.assertEqual(len(self.valid("inspect", "inspect", *paths)), len(paths))

    def test_extensions(self):
        copy = self.folder / "longer.gguf"
        self.valid("extend", "extend", MODEL, "--factor", 4, "--dry-run")
        done = self.valid("extend", "extend", MODEL, "--factor", 4, "-o", copy)
        length = next(change for change in done["changes"] if change["name"].endswith("context_length"))
        self.assertEqual((length["before"], length["after"]), (512, 2048))
        self.assertEqual(self.valid("inspect", "inspect", copy)["groups"][0]["extended"], True)
        self.valid("doctor", "doctor", copy, "--fail-on", "never")
        undone = self.valid("extend", "extend", copy, "--undo", "-o", self.folder / "back.gguf")
        self.assertIsNone(undone["method"])
        (self.folder / "hf").mkdir()
        (self.folder / "hf" / "config.json").write_text((ROOT / "tests/formats/configs/llama-3.1-8b.json").read_text())
        done = self.valid("extend", "extend", self.folder / "hf", "--factor", 2)
        self.assertIn(262144, [change["after"] for change in done["changes"]])
        self.valid("extend", "extend", self.folder / "hf", "--undo")

    def test_ladders(self):
        ladder = self.valid("ladder", "ladder", MODEL, "-c", "2k")
        self.assertEqual([rung["length"] for rung in ladder["rungs"]], [512, 1024, 2048])
        for rung in ladder["rungs"]:
            self.fits("plan", rung["plan"])
        written = self.folder / "deploy"
        self.assertEqual(self.valid("ladder", "ladder", MODEL, "-c", "2k", "-o", written), ladder)
        self.assertEqual(json.loads((written / "ladder.json").read_text()), ladder)

    def test_plans_and_what_is_said_of_them(self):
        plan = self.folder / "plan.json"
        for method in ("mrrope-pro", "yarn:truncate=false", "dynamic-ntk", "mrrope-uni+cope", "none", "linear"):
            plan.write_text(json.dumps(self.valid("plan", "plan", *SPEC, "--method", method)))
        self.valid("diff", "diff", plan, f"{MODEL}@llama.cpp", status=3)
        self.valid("diff", "diff", plan, plan)
        self.valid("analysis", "analyze", *SPEC)
        for figure in ("scale", "bound", "position", "decay"):
            self.valid("analysis", "analyze", *SPEC, "--figure", figure)
        defaults = {p["name"]: p["default"] for m in self.valid("methods", "methods")["methods"] if m["name"] == "yarn" for p in m["parameters"]}
        self.assertEqual((defaults["beta_fast"], defaults["truncate"]), (32, True))
        self.valid("methods", "methods", "abf")

    def test_runs(self):
        needles = synthetic.write_run(self.folder / "needles", "niah", list(synthetic.needle_records(samples=2, depths=2)))
        texts = synthetic.write_run(self.folder / "texts", "ppl", list(synthetic.ppl_records()))
        self.valid("compare", "compare", texts)
        self.valid("compare", "compare", needles)
        self.valid("compare", "compare", needles, "--by", "task")
        self.valid("merge", "merge", texts, texts, "-o", self.folder / "merged")
        self.valid("export", "export", needles, "--lm-eval", self.folder / "results")
        self.fits("tune", synthetic.tune_file())

    @unittest.skipUnless("servers" in PARTS, "built without libcurl")
    def test_servers(self):
        with answering_server.running() as url:
            for command, more in (("niah", ["--depths", 2]), ("ruler", ["--samples", 1, "--tasks", "vt,cwe"]),
                                  ("infinitebench", ["--samples", 1, "--tasks", "passkey"])):
                self.valid("eval", "eval", command, "--endpoint", url, "--model", "m", "--lengths", "2k", *more)
            self.valid("eval", "eval", "ppl", "--endpoint", url, "--model", "m", "-f", ROOT / "docs" / "theory.md", "--lengths", "256,1k")
            self.valid("probe", "probe", url, "--max-tokens", "2k")
            self.valid("probe", "probe", url, "--length", "8k", "--max-tokens", "8k", status=3)

    @unittest.skipUnless("llama" in PARTS, "built without llama.cpp")
    def test_models(self):
        text, model = ROOT / "docs" / "theory.md", ["-m", MODEL, "-t", 1]
        two = ["--methods", "none,yarn", "--factor", 2]
        self.valid("eval", "eval", "ppl", *model, "-f", text, *two, "--lengths", "256,512", "--kl", 256)
        self.valid("eval", "eval", "gap", *model, "-f", text, *two, "--gaps", "0,512", "--tokens", 256, "--windows", 1)
        self.valid("eval", "eval", "niah", *model, *two, "--lengths", 512, "--depths", 2)
        self.valid("eval", "eval", "suite", *model, "--methods", "none", "--factor", 2, "--lengths", "1k", "--minutes", 0.01)
        self.valid("attention", "analyze", "--attention", *model, "-f", text, "--factor", 2, "--methods", "none,yarn", "--samples", 100, "--tokens", 256)
        tuned = self.valid("tune", "tune", MODEL, "-c", "1k", "--tokens", 20000, "-t", 1, "-o", self.folder / "tuned")
        self.fits("plan", tuned["plan"])

    def test_zz_no_command_is_missing(self):
        """Last: every command that has --json was run above, as far as this build has it."""
        def commands(*words):
            return [[*words, name] for name in re.findall(r"^  (\w+) ", run(*words, "--help").stdout.split("Commands:")[-1], re.MULTILINE)]
        evals = commands("eval") if PARTS else []
        with_json = [" ".join(words) for words in [*commands(), *evals] if words != ["eval"] and re.search(r"^  --json ", run(*words, "--help").stdout, re.MULTILINE)]
        self.assertGreater(len(with_json), 8)
        not_here = {"eval longbench2"}  # wants a file of its own; the same code as infinitebench
        if "servers" not in PARTS:
            not_here |= {"eval ruler", "eval infinitebench", "probe"}
        if "llama" not in PARTS:  # nor where a program that has it is not asked to run models
            not_here |= {"tune", *(name for name in with_json if name.startswith("eval "))}
        self.assertEqual(sorted(set(with_json) - seen - not_here), [])


if __name__ == "__main__":
    unittest.main()
