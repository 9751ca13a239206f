# SPDX-License-Identifier: MIT
"""Completions as a shell asks for them, and the manual page as man reads it.

    shell_test.py MRROPE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
ENVIRONMENT = dict(os.environ, PATH=f"{PROGRAM.parent}:{os.environ['PATH']}")


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def candidates(*words):
    return [line.split("\t")[0] for line in run("complete", *words).splitlines()]


class Completion(unittest.TestCase):
    def test_commands_options_and_methods_are_offered(self):
        self.assertEqual(candidates("rep"), ["report"])
        self.assertIn("inspect", candidates(""))
        self.assertIn("--baseline", candidates("compare", "run", "--"))
        self.assertIn("mrrope-pro", candidates("plan", "model.gguf", "--method", "mr"))
        self.assertEqual(candidates("report", "run", "-o", ""), [])  # a file: the shell knows those

    def test_values_are_offered_where_they_are_names(self):
        self.assertEqual(candidates("extend", "model.gguf", "--target", "sg"), ["sglang"])
        self.assertIn("universal", candidates("extend", "model.gguf", "--target", ""))
        self.assertEqual(candidates("doctor", "model.gguf", "--fail-on", ""), ["note", "warning", "error", "never"])
        self.assertEqual(candidates("analyze", "--figure", "b"), ["bound"])
        self.assertEqual(candidates("analyze", "--limit", ""), [])

    def test_a_list_goes_on_after_its_comma(self):
        self.assertEqual(candidates("analyze", "--methods", "none,yarn-"), ["none,yarn-rotations"])
        offered = candidates("analyze", "--methods", "yarn,")
        self.assertIn("yarn,mrrope-pro", offered)
        self.assertNotIn("yarn,yarn", offered)

    @unittest.skipUnless((PROGRAM.parent / "mrrope-eval").exists(), "built without mrrope-eval")
    def test_eval_completes_its_own_words(self):
        self.assertIn("ppl", candidates("eval", ""))
        self.assertIn("--lengths", candidates("eval", "niah", "--le"))
        self.assertIn("yarn", candidates("eval", "niah", "--methods", "ya"))
        self.assertEqual(candidates("eval", "ruler", "--tasks", "vt,cw"), ["vt,cwe"])
        self.assertEqual(candidates("eval", "niah", "--tasks", "niah"), ["niah", "niah_text", "niah_implied"])
        if "--minutes" in run("tune", "--help"):  # with llama.cpp
            self.assertEqual(candidates("tune", "--min"), ["--minutes"])
            self.assertEqual(candidates("tune", "m.gguf", "--target", "l"), ["llama.cpp", "lm-studio"])
            self.assertEqual(candidates("tune", "m.gguf", "--tasks", "pass"), ["passkey"])
            self.assertEqual(candidates("tune", "m.gguf", "--prefer", "b"), ["balanced"])

    def test_bash_completes(self):
        for words, found in (("compare --ba", "--baseline"), ("analyze --methods none,yarn-", "none,yarn-rotations")):
            script = run("completions", "bash") + f'\nCOMP_WORDS=(mrrope {words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n'
            script += '_mrrope\necho "${COMPREPLY[@]}"\n'
            done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, env=ENVIRONMENT, check=True)
            self.assertEqual(done.stdout, found + "\n")

    def test_scripts_are_valid_for_their_shells(self):
        for shell, flags in (("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])):
            with self.subTest(shell), tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
                file.write(run("completions", shell))
                file.flush()
                if not shutil.which(shell):
                    continue
                subprocess.run([shell, *flags, file.name], check=True, timeout=30)
        run("completions", "tcsh", status=2)


class Manual(unittest.TestCase):
    def test_every_command_and_option_of_the_help_is_in_the_manual(self):
        page = run("man").replace("\\-", "-")
        for command in re.findall(r"^  (\w+) ", run("--help").split("Commands:")[1], re.MULTILINE):
            self.assertIn(f".SS mrrope {command}\n", page)
            if command in ("campaign", "eval", "probe", "tune"):  # programs of their own, which may not be there
                continue
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(command, "--help"), re.MULTILINE):
                self.assertIn(option, page, command)

    def test_man_reads_it_without_complaint(self):
        if not shutil.which("mandoc"):
            self.skipTest("no mandoc")
        # STYLE is taste: a page without a date, lines longer than 80
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=run("man"), capture_output=True, text=True)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
        self.assertEqual(lines, [])


if __name__ == "__main__":
    unittest.main()
