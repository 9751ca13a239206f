# SPDX-License-Identifier: MIT
"""What `mrrope eval` can do in each configuration: servers are asked without llama.cpp, models run without libcurl, and
what is missing is said.

    eval_test.py MRROPE [llama] [servers]       what it was built with
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import answering_server

PROGRAM = sys.argv.pop(1)
PARTS = [sys.argv.pop(1) for _ in sys.argv[1:]]
MODEL = pathlib.Path(__file__).resolve().parents[1] / "models" / "tiny-512.gguf"


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, "eval", *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if status else done.stdout


class Configuration(unittest.TestCase):
    def test_servers_are_asked_or_libcurl_is_named(self):
        with answering_server.running() as url, tempfile.TemporaryDirectory() as folder:
            asked = ["niah", "--endpoint", url, "--model", "m", "--lengths", "2k", "--depths", 2, "-o", f"{folder}/run", "--json"]
            if "servers" in PARTS:
                self.assertEqual(sum(row["n"] for row in json.loads(run(*asked))["results"]), 2)
                self.assertEqual(len(pathlib.Path(f"{folder}/run/records.jsonl").read_text(encoding="utf-8").splitlines()), 2)
            else:
                self.assertIn("--endpoint: this program was built without libcurl", run(*asked, status=2))

    def test_models_run_or_llama_cpp_is_named(self):
        niah = ["niah", "-m", MODEL, "--methods", "none", "--lengths", "512", "--depths", 1, "--json"]
        if "llama" in PARTS:
            self.assertEqual(len(json.loads(run(*niah))["results"]), 1)
            return
        self.assertIn("-m: this mrrope was built without llama.cpp and runs no models", run(*niah, status=2))
        ppl = ["ppl", "-m", MODEL, "-f", __file__, "--methods", "none", "--lengths", "512"]
        self.assertIn("-m: this mrrope was built without llama.cpp and runs no models", run(*ppl, status=2))
        for command in ("gap", "suite"):
            said = run(command, "-m", MODEL, "--factor", 4, status=1)
            self.assertIn("error: this mrrope was built without llama.cpp and runs no models", said)
            self.assertIn("tools/llama_cpp", said)
            self.assertIn("built without llama.cpp", run(command, "--help"))
        attention = subprocess.run([PROGRAM, "analyze", MODEL, "--attention"], capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(attention.returncode, 1)
        self.assertIn("built without llama.cpp", attention.stderr)

    def test_perplexity_is_asked_of_servers_or_libcurl_is_named(self):
        with answering_server.running() as url, tempfile.TemporaryDirectory() as folder:
            asked = ["ppl", "--endpoint", url, "--model", "m", "-f", __file__, "--lengths", "100,1k", "-o", f"{folder}/run", "--json"]
            if "servers" not in PARTS:
                self.assertIn("--endpoint: this program was built without libcurl", run(*asked, status=2))
                return
            for _ in range(2):  # the second time from the records
                rows = json.loads(run(*asked))["results"]
                self.assertEqual([(row["method"], row["length"], row["predicted"]) for row in rows], [("m", 100, 99), ("m", 1024, 1023)])
                for row in rows:
                    self.assertAlmostEqual(row["ppl"], math.e)
            self.assertEqual(len(pathlib.Path(f"{folder}/run/records.jsonl").read_text(encoding="utf-8").splitlines()), 1)
            info = json.loads(pathlib.Path(f"{folder}/run/run.json").read_text(encoding="utf-8"))
            self.assertEqual((info["task"], info["served"], info["settings"]["tokens"]), ("ppl", True, "/tokenize"))
            for flag, value in (("--factor", 4), ("--kl", 64), ("--cache-type-k", "f16"), ("--protocol", "llama-perplexity")):
                said = " ".join(run(*asked, flag, value, status=2).split())
                self.assertIn(f"{flag}: servers answer as they were started: leave it out", said)
            self.assertIn("--model: expected the name", run("ppl", "--endpoint", url, "-f", __file__, "--lengths", "100", status=2))

    @unittest.skipUnless("servers" in PARTS, "built without libcurl")
    def test_a_server_that_scores_no_prompts_ends_the_run_with_the_names_of_those_that_do(self):
        with answering_server.running(scores=False) as url, tempfile.TemporaryDirectory() as folder:
            said = run("ppl", "--endpoint", url, "--model", "m", "-f", __file__, "--lengths", "100", "-o", f"{folder}/run", status=1)
            self.assertIn("does not say how likely the tokens of a prompt are, which vLLM and SGLang do", " ".join(said.split()))
            self.assertEqual(pathlib.Path(f"{folder}/run/records.jsonl").read_text(encoding="utf-8"), "")

    @unittest.skipUnless("servers" in PARTS and "llama" in PARTS, "built without llama.cpp or without libcurl")
    def test_the_vocabulary_of_another_model_is_refused_before_anything_is_measured(self):
        with answering_server.running() as url:  # every character is token 0 there
            said = run("ppl", "--endpoint", url, "--model", "m", "-m", MODEL, "-f", __file__, "--lengths", "100", status=1)
            self.assertIn("its vocabulary is not that of the servers", " ".join(said.split()))

    def test_a_file_of_items_says_what_it_is_or_is_refused(self):
        """longbook_choice_eng.jsonl was scored as code_debug, longbook_qa_eng.jsonl as longdialogue_qa_eng."""
        item = {"id": 0, "context": "c", "input": "q", "answer": ["a"], "options": ["a", "b"]}
        longbench2 = {"_id": "1", "domain": "", "sub_domain": "", "difficulty": "", "length": "", "question": "", "choice_A": "",
                      "choice_B": "", "choice_C": "", "choice_D": "", "answer": "A", "context": ""}
        with tempfile.TemporaryDirectory() as folder:
            def refusal(group, name, entry, *more):
                path = pathlib.Path(folder, name)
                path.write_text(json.dumps(entry) + "\n", encoding="utf-8")
                said = run(group, "-m", MODEL, "--methods", "none", "--lengths", "1k", "--items", path, *more, status=2)
                return " ".join(said.split())
            self.assertIn("--items: the file holds chess, which is no task of InfiniteBench or LongBench-v2",
                          refusal("infinitebench", "a.jsonl", {"task": "chess", **item}))
            self.assertIn("no task of InfiniteBench", refusal("infinitebench", "a.jsonl", {"task": "niah", **item}))
            self.assertIn('name it as published, code_debug.jsonl, or add "task": "code_debug"',
                          refusal("infinitebench", "mine.jsonl", item))
            self.assertIn("code_debug asks the questions of a file: InfiniteBench's code_debug.jsonl",
                          refusal("infinitebench", "longdialogue_qa_eng.jsonl", item, "--tasks", "code_debug"))
            self.assertIn("the file holds code_debug, and --tasks asks for passkey only",
                          refusal("infinitebench", "code_debug.jsonl", item, "--tasks", "passkey"))
            self.assertIn("mrrope eval longbench2 asks its questions", refusal("infinitebench", "data.jsonl", longbench2))
            self.assertIn("mrrope eval infinitebench asks its questions", refusal("longbench2", "code_debug.jsonl", item))

    def test_the_vocabulary_of_a_file_counts_or_llama_cpp_is_named(self):
        if "llama" in PARTS or "servers" not in PARTS:
            return  # tests/llama asks real servers with a vocabulary
        said = run("niah", "-m", MODEL, "--endpoint", "http://127.0.0.1:9", "--model", "m", "--lengths", "1k", status=2)
        self.assertIn("-m: this mrrope was built without llama.cpp", said)
        self.assertIn("the servers count", said)


class WhatIsStarted(unittest.TestCase):
    """mrrope starts mrrope-eval, and nothing else that lies where it looks."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def plant(self, place, text):
        place.parent.mkdir(parents=True)
        place.write_text(text, encoding="utf-8")
        place.chmod(0o755)

    def test_without_proc_nothing_of_the_current_folder_runs(self):
        self.plant(self.root / "lib/mrrope/mrrope-eval", "#!/bin/sh\necho a stranger\n")
        without_proc = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*without_proc, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this system has no namespaces for users")
        done = subprocess.run([*without_proc, pathlib.Path(PROGRAM).resolve(), "eval", "--help"], cwd=self.root, capture_output=True,
                              encoding="utf-8", check=False)
        self.assertNotIn("a stranger", done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not say where this program is", done.stderr)

    def test_a_file_that_is_no_program_is_not_given_to_a_shell(self):
        (self.root / "bin").mkdir()
        program = shutil.copy(PROGRAM, self.root / "bin/mrrope")
        self.plant(self.root / "lib/mrrope/mrrope-eval", "echo by a shell\n")
        done = subprocess.run([program, "eval", "--help"], capture_output=True, encoding="utf-8", check=False)
        self.assertNotIn("by a shell", done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be started", done.stderr)

    def test_mrrope_eval_of_a_package_of_another_version_is_not_run(self):
        """pip upgrades mrrope and leaves mrrope-llama as it was; records would carry the one version and be made by the other."""
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            for path in (place / "bin/mrrope", place / "lib/mrrope/mrrope-eval"):
                path.parent.mkdir(parents=True)
                shutil.copy(PROGRAM, path)
            words = [place / "bin/mrrope", "eval", "--version"]
            version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
            for said, status in (("0.0.1\n", 1), (f"{version}\n", 0), ("", 0)):
                (place / "lib/mrrope/VERSION").write_text(said)
                if not said:
                    (place / "lib/mrrope/VERSION").unlink()
                done = subprocess.run(words, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual("mrrope-llama 0.0.1" in done.stderr and "--upgrade" in done.stderr, status == 1)

    def test_a_run_without_a_folder_says_what_it_needs(self):
        if "llama" not in PARTS:
            self.skipTest("runs no models")
        done = subprocess.run([PROGRAM, "eval", "niah", "-m", MODEL, "--methods", "none", "--lengths", "512", "--depths", "1"],
                              env={"TMPDIR": "/nowhere"}, capture_output=True, encoding="utf-8", check=False)
        self.assertIn("-o: there is no folder for temporary files", done.stderr)


if __name__ == "__main__":
    unittest.main()
