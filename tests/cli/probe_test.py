# SPDX-License-Identifier: MIT
"""`mrrope probe` against servers that are made up: what it says, and how it ends.

    probe_test.py MRROPE [llama]       what it was built with

Real servers: tests/llama/test_probe.py. Servers that lie at the level of the protocol: tests/servers.
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import probe_server

PROGRAM = os.path.abspath(sys.argv.pop(1))
LLAMA = "llama" in sys.argv and bool(sys.argv.remove("llama") or True)
MODEL = pathlib.Path(__file__).resolve().parents[1] / "models" / "tiny-512.gguf"
KEY = "sk-5up3r-s3cr3t"


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


class Probe(unittest.TestCase):
    def run_probe(self, *arguments, status=0, key=None):
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")} | {"COLUMNS": "80", "LC_ALL": "C.UTF-8"}
        if key:
            environment["MRROPE_API_KEY"] = key
        done = subprocess.run([PROGRAM, "probe", *map(str, arguments)], capture_output=True, encoding="utf-8", env=environment,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for line in (done.stdout + done.stderr).splitlines():
            # Commands and errors are copied whole; a word of a server that is longer than a line stands alone in it
            if "--json" not in arguments and not line.startswith(("error: ", "hint: ", "next ", "warning: ")) and len(line.split()) > 1:
                self.assertLessEqual(len(line), 80, line)
            self.assertNotRegex(line, r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        return done

    def said(self, *arguments, status=0, **more):
        done = self.run_probe(*arguments, status=status, **more)
        return " ".join((done.stdout + done.stderr).split())

    def document(self, *arguments, status=0):
        return json.loads(self.run_probe(*arguments, "--json", status=status).stdout)

    def test_a_server_that_does_what_it_says_has_no_findings(self):
        with probe_server.running() as (url, how):
            text = self.said(url)
            self.assertIn("server unknown software, serves m", text)
            self.assertIn("length advertised 2048, accepts 2048, reads all of it", text)
            self.assertIn("table not asked", text)
            self.assertIn("repeats itself", text)
            self.assertNotRegex(text, r"P\d\d\d")
            self.assertIn(f"next mrrope probe {url} -m model.gguf", text)
            most = int(re.search(r"at most (\d+) requests", text)[1])
            self.assertLessEqual(how.asked, most)

    def test_what_it_may_take_is_said_before_a_prompt_is_sent(self):
        with probe_server.running(body=b"{}") as (url, _):
            done = self.run_probe(url, status=1)
            self.assertRegex(done.stdout, r"asks      at most \d+ requests")

    def test_a_prompt_that_is_cut_is_an_error_although_it_is_answered(self):
        with probe_server.running(reads=700) as (url, _):
            text = self.said(url, "--only", "length", status=3)
            self.assertIn("accepts", text)
            self.assertRegex(text, r"reads the last about 7\d\d|reads the last about 6\d\d|reads the last 700")
            self.assertIn("P101", text)
            self.assertIn("health not asked", text)
            self.said(url, "--only", "length", "--fail-on", "never")
            found = self.document(url, "--only", "length", status=3)
            self.assertEqual(found["length"]["cut"], "front")
            self.assertLess(abs(found["length"]["read"] - 700), 1 + found["length"]["read_within"])
            self.assertIsNone(found["health"])
            self.assertIsNone(found["table"])

    def test_a_server_that_miscounts_gets_no_longer_prompts_for_it(self):
        # Each count that was too low once made the next text longer, up to 20 GB
        for count, status in ((1, 0), (5, 0), (20, 0), (100_000, 1)):
            with self.subTest(count), probe_server.running(count=count) as (url, how):
                self.run_probe(url, status=status)
                self.assertLess(how.largest, 50 * 2048)

    def test_a_server_that_advertises_any_length_gets_no_prompt_of_any_length(self):
        with probe_server.running(advertised=1 << 30) as (url, how):
            self.run_probe(url, "--only", "length", status=1)  # what it counts is more than is read of an answer
            self.assertLess(how.largest, 50_000_000)

    def test_a_length_that_is_not_served_is_an_error_and_its_refusal_is_quoted(self):
        with probe_server.running(accepts=1000) as (url, _):
            found = self.document(url, "--only", "length", status=3)
            self.assertEqual([f["code"] for f in found["findings"]], ["P100"])
            self.assertLessEqual(found["length"]["accepted"], 1000)
            self.assertGreater(found["length"]["accepted"], 900)
            self.assertIn("too long", found["length"]["refusal"])

    def test_severities_decide_the_exit_status(self):
        with probe_server.running(advertised=None) as (url, _):
            self.assertIn("P102 note", self.said(url, "--only", "length", "--max-tokens", "1k"))
            self.said(url, "--only", "length", "--max-tokens", "1k", "--fail-on", "warning")
            self.said(url, "--only", "length", "--max-tokens", "1k", "--fail-on", "note", status=3)

    def test_a_server_that_does_not_repeat_itself_is_warned_of(self):
        with probe_server.running(same=False) as (url, _):
            self.assertIn("P300 warning", self.said(url, "--only", "health"))

    def test_a_length_that_is_expected_is_met_or_not(self):
        with probe_server.running() as (url, how):
            text = self.said(url, "--length", "2k")
            self.assertIn("expected all of it is true", text)
            self.assertIn("health not asked", text)
            how.accepts = 1024
            text = self.said(url, "--length", "2k", "--fail-on", "never", status=3)
            self.assertIn("expected not met: requests of 2048 tokens are not accepted", text)
            how.accepts, how.reads = 2048, 512
            found = self.document(url, "--length", "2k", status=3)
            self.assertEqual((found["expected"]["met"], found["expected"]["length"]), (False, 2048))
            self.assertIn("reads", found["expected"]["why"])

    def test_a_server_without_log_probabilities_is_not_judged(self):
        with probe_server.running(logprobs=False) as (url, _):
            found = self.document(url, "--only", "length")
            self.assertIn(found["length"]["cut"], ("none", "unknown"))

    def test_words_of_a_server_cannot_move_the_cursor_and_are_not_obeyed(self):
        evil = "\x1b]0;evil\x07\x1b[2J\u202e\u009b31m\r\n" + "x" * 5000
        with probe_server.running(accepts=1000, words=evil, name="m" + evil) as (url, _):
            self.run_probe(url, "--only", "length", status=3)
            self.assertNotIn("\\u001b", json.dumps(self.document(url, "--only", "length", status=3)))

    def test_an_answer_that_is_none_is_an_error_and_no_verdict(self):
        for body in (b"", b"null", b"[]", b"{" * 100000, b'{"choices": []}', b'{"choices": [{"text": 7}]}', b"\xff\xfe"):
            with self.subTest(body[:20]), probe_server.running(body=body) as (url, _):
                text = self.said(url, "--deadline", "5", status=1)
                self.assertIn("error:", text)
                self.assertNotRegex(text, r"P\d\d\d|reads all")

    def test_no_server_a_wrong_url_and_a_typo_end_before_anything_is_asked(self):
        self.assertIn("error:", self.said(f"http://127.0.0.1:{free_port()}", status=1))
        self.assertIn("error:", self.said("no-url-at-all", status=1))
        self.assertIn("error:", self.said("http://user:secret@localhost:1", status=1))
        self.assertNotIn("secret", self.said("http://user:secret@localhost:1", status=1))
        self.assertIn("URL", self.said(status=2))
        self.assertIn("--only", self.said("http://localhost:1", "--only", "lenght", status=2))
        self.assertIn("-m", self.said("http://localhost:1", "--only", "table", status=2))
        self.assertIn("-m", self.said("http://localhost:1", "--expect", "plan.json", status=2))
        self.assertIn("--table-tokens", self.said("http://localhost:1", "-m", MODEL, "--table-tokens", "8k", status=2))
        self.assertIn("--api-key-env", self.said("http://localhost:1", "--api-key-env", "NOT_SET_HERE", status=2))
        self.assertIn("--fail-on", self.said("http://localhost:1", "--fail-on", "bad", status=2))

    def test_a_key_is_sent_and_never_shown(self):
        with probe_server.running(key=KEY) as (url, _):
            self.said(url, "--only", "length", key=KEY)
            for wrong in (None, "sk-another-one"):
                text = self.said(url, status=1, key=wrong)
                self.assertIn("401", text)
                self.assertNotIn("sk-another-one", text)

    def test_ctrl_c_ends_it_at_once(self):
        with probe_server.running() as (url, how), subprocess.Popen(
                [PROGRAM, "probe", url], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            how.body = None
            while how.asked == 0:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            error = process.communicate(timeout=10)[1]
            if process.returncode != 0:  # it may have been done
                self.assertEqual((process.returncode, b"interrupted" in error), (130, True))

    @unittest.skipUnless(LLAMA, "built without llama.cpp")
    def test_weights_that_are_not_the_servers_name_no_table(self):
        with probe_server.running() as (url, _):
            found = self.document(url, "-m", MODEL, "--only", "table", "--fail-on", "error")
            self.assertIsNone(found["table"])
            self.assertEqual([f["code"] for f in found["findings"]], ["P203"])
            self.assertIn("table", found["missing"])

    @unittest.skipIf(LLAMA, "built with llama.cpp")
    def test_without_llama_cpp_the_table_is_missing_and_said_so(self):
        with probe_server.running() as (url, _):
            text = self.said(url, "-m", MODEL)
            self.assertIn("length advertised 2048", text)
            self.assertIn("built without llama.cpp", text)

    @unittest.skipUnless(LLAMA, "built without llama.cpp")
    def test_a_plan_of_another_model_is_refused_before_a_question(self):
        with tempfile.TemporaryDirectory() as folder, probe_server.running() as (url, how):
            plan = pathlib.Path(folder) / "plan.json"
            made = subprocess.run([PROGRAM, "plan", "--spec", "dim=128,base=10000,ctx=4k", "-c", "8k", "--json"], capture_output=True, check=True)
            plan.write_bytes(made.stdout)
            self.assertIn("another model", self.said(url, "-m", MODEL, "--expect", plan, status=1))
            self.assertEqual(how.asked, 0)

    def test_doctor_explains_its_codes(self):
        done = subprocess.run([PROGRAM, "doctor", "--explain", "p101"], capture_output=True, text=True, check=True)
        self.assertIn("prompts are cut", done.stdout)
        document = (pathlib.Path(__file__).parents[2] / "docs" / "probe.md").read_text(encoding="utf-8")
        codes = set(re.findall(r"^\| (P\d{3}) \|", document, re.MULTILINE))
        source = (pathlib.Path(__file__).parents[2] / "src" / "probe" / "catalogue.cpp").read_text(encoding="utf-8")
        self.assertEqual(codes, set(re.findall(r'\{"(P\d{3})"', source)))


if __name__ == "__main__":
    unittest.main()
