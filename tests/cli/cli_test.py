# SPDX-License-Identifier: MIT
"""The command line as a person and as a program meet it.

    cli_test.py MRROPE
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1)
LLAMA2 = ["--spec", "dim=128,base=10000,ctx=4096", "-c", "64k"]
SANITIZED = "Sanitizer" in subprocess.run(["strings", "-n", "9", PROGRAM], capture_output=True, text=True).stdout


def run(*arguments, status=0, stdin="", locale="C.UTF-8"):
    """stdout of the program; fails unless it exits with `status`."""
    env = dict(os.environ, LC_ALL=locale)
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}, expected {status}\n{done.stdout}{done.stderr}"
    if status:
        assert done.stderr.startswith("error: ") or not arguments, done.stderr
        assert not done.stdout or not arguments, "an error must not print data"
        return done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def next_of(text):
    """The command that the output offers; nothing if it offers none."""
    found = [line[len("next"):].strip() for line in text.splitlines() if line.startswith("next ")]
    return found[0] if found else None


class FixedInterface(unittest.TestCase):
    def test_help_and_version_are_commands_too(self):
        self.assertEqual(run("version"), run("--version"))
        self.assertEqual(run("help"), run("--help"))
        self.assertEqual(run("help", "plan"), run("plan", "--help"))

    def test_a_flag_with_a_typo_is_told_from_the_ones_there_are(self):
        for words, said in ((["plan", *LLAMA2, "--metod", "yarn"], "plan has no --metod; did you mean --method?"),
                            (["plan", "--metod=yarn"], "did you mean --method?"),
                            (["extend", "--in-plce", "x.gguf"], "did you mean --in-place?"),
                            (["doctor", "--nothing-like-it"], "doctor has no --nothing-like-it")):
            done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)

    def test_plan_json_has_the_promised_fields(self):
        plan = json.loads(run("plan", *LLAMA2, "--method", "mrrope-pro", "--json"))
        self.assertEqual(plan["schema"], "mrrope.plan/1")
        self.assertEqual({k: plan["spec"][k] for k in ("rotary_dim", "base", "context_trained")},
                         {"rotary_dim": 128, "base": 10000, "context_trained": 4096})
        self.assertEqual(plan["method"]["name"], "mrrope-pro")
        self.assertIsInstance(plan["method"]["params"], dict)
        self.assertEqual((plan["context_target"], plan["factor"]), (65536, 16))
        self.assertEqual(plan["band"], {"low": 20, "high": 46})
        self.assertEqual((len(plan["pair_factors"]), len(plan["inv_freq"]), len(plan["radix"]["lambda"])), (64, 64, 63))
        self.assertAlmostEqual(plan["attention_scale"], 1.2772588722239782, 15)
        self.assertEqual(plan["radix"]["kind"], "progressive")
        for s, theta, i in zip(plan["pair_factors"], plan["inv_freq"], range(64)):
            self.assertAlmostEqual(theta * s, 10000 ** (-i / 64), 12)

    def test_analyze_json_has_the_promised_fields(self):
        analysis = json.loads(run("analyze", *LLAMA2, "--json"))
        methods = {m["name"]: m for m in analysis["methods"]}
        self.assertEqual(methods["mrrope-pro"]["bound"],
                         {"first_zero": 14239, "band_first_zero": 1723, "smoothed_first_zero": 48166})
        self.assertEqual(methods["mrrope-pro"]["kind"], "progressive")
        self.assertEqual(methods["linear"]["kind"], "not a conversion")

    def test_a_plan_without_method_is_the_recommended_one(self):
        self.assertEqual(json.loads(run("plan", *LLAMA2, "--json"))["method"]["name"], "mrrope-pro")

    def test_methods_json_lists_everything(self):
        methods = json.loads(run("methods", "--json"))["methods"]
        self.assertEqual(len(methods), 20)
        self.assertEqual([m["name"] for m in methods if m["is_modifier"]], ["cope", "clip", "resonance"])


class PlanFiles(unittest.TestCase):
    def test_a_rule_to_climb_is_a_ladder_from_the_trained_length_to_the_target(self):
        ladder = json.loads(run("plan", *LLAMA2, "--method", "climb:yarn:ratio=4", "--json"))
        self.assertEqual(ladder["schema"], "mrrope.ladder/1")
        self.assertEqual([rung["length"] for rung in ladder["rungs"]], [4096, 16384, 65536])
        self.assertEqual([rung["plan"]["method"]["name"] for rung in ladder["rungs"]], ["none", "yarn", "yarn"])
        within = ["--spec", "dim=128,base=10000,ctx=4096", "-c", "2k", "--method", "climb"]
        self.assertEqual(len(json.loads(run("plan", *within, "--json"))["rungs"]), 1)
        self.assertNotIn("next", run("plan", *within))

    def test_a_plan_file_is_read_back_byte_for_byte(self):
        for method in ("mrrope-pro", "yarn:truncate=false", "dynamic-ntk", "mrrope-uni+cope", "none"):
            text = run("plan", *LLAMA2, "--method", method, "--json")
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                self.assertEqual(run("plan", file.name, "--json"), text)
            self.assertEqual(run("plan", "-", "--json", stdin=text), text)

    def test_a_plan_file_can_be_taken_to_another_length(self):
        text = run("plan", *LLAMA2, "--method", "yarn", "--json")
        other = json.loads(run("plan", "-", "-c", "32k", "--json", stdin=text))
        self.assertEqual((other["factor"], other["method"]["name"]), (8, "yarn"))

    def test_what_to_do_next_never_empties_the_plan_file(self):
        # A shell truncates plan.json before "mrrope plan plan.json … > plan.json" can read it.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            with open(path, "w") as file:
                file.write(run("plan", *LLAMA2, "--method", "yarn", "--json"))
            self.assertEqual(next_of(run("plan", path)), f"mrrope extend MODEL --plan {path}")
            self.assertEqual(next_of(run("plan", path, "-c", "32k")), f"mrrope plan {path} -c 32k --json > plan-32768.json")
            with open(path) as file:
                self.assertIsNone(next_of(run("plan", "-", stdin=file.read())))

    def test_a_damaged_plan_file_is_refused_by_field(self):
        plan = json.loads(run("plan", *LLAMA2, "--json"))
        plan["band"]["low"] = "20"
        self.assertIn("band.low: expected a number, found a string", run("plan", "-", stdin=json.dumps(plan), status=1))

    def test_other_files_are_refused(self):
        self.assertIn("not valid JSON", run("plan", "-", "-c", "8k", stdin="GGUF\x03", status=1))
        self.assertIn("No such file", run("plan", "/nonexistent", "-c", "8k", status=1))


class Usage(unittest.TestCase):
    def test_mistakes_exit_with_two_and_teach(self):
        for expected, arguments in {
            "did you mean plan?": ["plna"],
            "did you mean yarn?": ["plan", *LLAMA2, "--method", "yarm"],
            "say how long a text you want": ["plan", "--spec", "dim=128,base=10000,ctx=4096"],
            "which model?": ["plan", "-c", "8k"],
            "--spec dim: expected an even number": ["plan", "--spec", "dim=127,base=1e4,ctx=4k", "-c", "8k"],
            "-c: expected a length": ["plan", "--spec", "dim=128,base=1e4,ctx=4k", "-c", "8q"],
            "either -c or --factor": ["plan", *LLAMA2, "--factor", "4"],
            "--factor: expected a number": ["plan", "--spec", "dim=128,base=1e4,ctx=4k", "--factor", "0.5"],
            "--length: expected a length": ["plan", *LLAMA2, "--length", "x"],
            "missing: the new base": ["plan", *LLAMA2, "--method", "abf"],
            "--methods": ["analyze", *LLAMA2, "--methods", "none,,yarn"],
            "--bases: expected a number between 1.0001 and 1e+15, found nan":
                ["analyze", *LLAMA2, "--figure", "position", "--bases", "500,nan"],
            "--limit": ["analyze", *LLAMA2, "--limit", "1e12"],
            "not in {scale,bound,position,decay}": ["analyze", *LLAMA2, "--figure", "nine"],
            "unknown method": ["methods", "foo"],
            "hint: mrrope plan --help": ["plan", "--frobnicate"],
        }.items():
            with self.subTest(arguments):
                self.assertIn(expected, run(*arguments, status=2))

    def test_help_and_version_succeed(self):
        self.assertIn("mrrope extend model.gguf", run("--help"))
        self.assertIn("--method METHOD", run("plan", "--help"))
        self.assertRegex(run("--version"), r"^mrrope \d+\.\d+\.\d+\n$")

    def test_help_fits_eighty_columns(self):
        evals = ["eval"] if os.path.exists(os.path.join(os.path.dirname(PROGRAM), "mrrope-eval")) else []
        for program in [[], *([word] for word in evals)]:
            commands = re.findall(r"^  (\w+) ", run(*program, "--help").split("Commands:")[1], re.MULTILINE)
            # Without their program, these say what is missing, and have no help; that of campaigns is the Python package
            apart = {"campaign"} if evals else {"campaign", "eval", "probe", "tune"}
            for arguments in [program, *([*program, command] for command in commands if command not in apart)]:
                for line in run(*arguments, "--help").splitlines():
                    self.assertLessEqual(len(line), 80, f"{arguments}: {line}")

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "plan", *LLAMA2], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "error: could not write the output\n"))


COMMANDS = [
    ["plan", *LLAMA2],
    ["plan", "--spec", "dim=128,base=500000,ctx=128k,scaling=llama3,scaling_factor=8,scaling_ctx=8k", "-c", "1M"],
    ["plan", "--spec", "dim=256,base=1e6,ctx=8k", "-c", "10000", "--method", "mrrope-power:p=2.5:low=10:high=99+cope"],
    ["plan", "--spec", "dim=2,base=1e4,ctx=4k", "-c", "8k"],
    ["plan", "--spec", "dim=128,base=1e4,ctx=4k", "-c", "2k"],
    ["plan", "--spec", "dim=96,base=1e4,ctx=128k", "-c", "16M", "--method", "clip"],
    ["analyze", *LLAMA2],
    ["analyze", *LLAMA2, "--figure", "scale"],
    ["analyze", *LLAMA2, "--figure", "bound", "--methods", "none,mrrope-pro"],
    ["analyze", *LLAMA2, "--figure", "position"],
    ["analyze", *LLAMA2, "--figure", "decay", "--methods", "none,mrrope-pro:beta_fast=16:beta_slow=2"],
    ["methods"], ["methods", "yarn"], ["methods", "cope"], ["methods", "longrope"],
    ["--help"], ["plan", "--help"], ["analyze", "--help"], ["methods", "--help"],
]


class ForPeople(unittest.TestCase):
    def test_output_fits_eighty_columns(self):
        for arguments in COMMANDS:
            for line in run(*arguments).splitlines():
                # A command to be copied is never broken
                if not line.startswith(("next ", "try ")):
                    self.assertLessEqual(len(line), 80, f"{arguments}: {line}")

    def test_piped_output_has_no_escape_codes_or_trailing_spaces(self):
        for arguments in COMMANDS:
            text = run(*arguments)
            self.assertNotIn("\x1b", text)
            if "--help" not in arguments and "--figure" not in arguments:
                self.assertNotRegex(text, r" \n")

    def test_an_ascii_locale_gets_ascii(self):
        for arguments in COMMANDS:
            self.assertTrue(run(*arguments, locale="C").isascii(), arguments)


class ForPrograms(unittest.TestCase):
    def test_csv_has_a_header_and_equal_rows(self):
        for arguments in (["plan", *LLAMA2], ["analyze", *LLAMA2], ["analyze", *LLAMA2, "--figure", "bound", "--points", "64"],
                          ["analyze", *LLAMA2, "--figure", "position"], ["analyze", *LLAMA2, "--figure", "scale"]):
            rows = [line.split(",") for line in run(*arguments, "--csv").splitlines()]
            self.assertGreater(len(rows), 10)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})

    def test_figure_data_is_the_theorys(self):
        figure = json.loads(run("analyze", *LLAMA2, "--figure", "scale", "--methods", "mrrope-pro", "--json"))["figure"]
        plan = json.loads(run("plan", *LLAMA2, "--method", "mrrope-pro", "--json"))
        self.assertEqual(figure["series"][0]["y"], plan["pair_factors"])
        position = json.loads(run("analyze", *LLAMA2, "--figure", "position", "--bases", "500,10000", "--json"))["figure"]
        self.assertEqual([s["name"] for s in position["series"]], ["base 500", "base 10000"])

    def test_the_same_command_gives_the_same_bytes(self):
        for arguments in (["plan", *LLAMA2, "--json"], ["analyze", *LLAMA2, "--json"]):
            self.assertEqual(run(*arguments), run(*arguments))

    @unittest.skipIf(SANITIZED, "budgets are for the optimised build")
    def test_budgets(self):
        def best(*arguments):
            times = []
            for _ in range(5):
                start = time.monotonic()
                run(*arguments)
                times.append(time.monotonic() - start)
            return min(times)

        self.assertLess(best("plan", *LLAMA2), 0.020)
        self.assertLess(best("plan", *LLAMA2, "--json"), 0.020)
        self.assertLess(best("analyze", "--spec", "dim=128,base=1e9,ctx=256k", "-c", "1M"), 2)


if __name__ == "__main__":
    unittest.main()
