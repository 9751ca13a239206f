# SPDX-License-Identifier: MIT
"""Whoever follows the printed lines gets there: for every family, as config.json and as GGUF, from `mrrope inspect` by the
`next` line of each output to a `run` line that serves the model.

    walk_test.py MRROPE [FAMILY…]

Two commands after inspect at most, none of them an error that leads nowhere; and what was written rotates as planned,
by the rules for the engine that the `run` line starts.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import families

PROGRAM = pathlib.Path(sys.argv.pop(1)).absolute()
LABELLED = re.compile(r"(next|run|hint:)\s+(\S.*)")
ENGINES = {"llama-server": "llama.cpp", "llama-cli": "llama.cpp", "vllm": "vllm", "python": "transformers5"}
LONG = ("next ", "run ", "better ", "wrote ", "error: ", "  ")  # lines to be copied, paths and tables are never wrapped


class Step:
    """One command of a walk, as a shell runs it, and what it said."""

    def __init__(self, command, folder):
        self.command = command
        environment = {**os.environ, "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ.get('PATH', '')}", "NO_COLOR": "1"}
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.status, self.text = done.returncode, done.stdout + done.stderr
        lines = [match.groups() for match in map(LABELLED.match, self.text.splitlines()) if match]
        self.next = [command for label, command in lines if label != "run" and command.startswith("mrrope ")]
        self.run = [command for label, command in lines if label == "run" or command.split()[0] in ENGINES]

    def __str__(self):
        return f"$ {self.command}\n{self.text}(exit status {self.status})\n"


def walk(file, folder):
    """The steps from inspect to the first that says how to serve the model, and what that one wants run before."""
    steps = [Step(f"mrrope inspect {shlex.quote(file)}", folder)]
    while len(steps) < 6 and not steps[-1].run and steps[-1].next:
        steps.append(Step(steps[-1].next[0], folder))
    if steps[-1].run and steps[-1].next:
        steps.append(Step(steps[-1].next[0], folder))
        steps[-1].run = steps[-2].run
    return steps


class Walk(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def arrives(self, family, file):
        steps = walk(file.name, self.folder)
        trail = "\n" + "\n".join(map(str, steps))
        self.assertTrue(steps[-1].run, "no line says how to serve it" + trail)
        self.assertLessEqual(len(steps), 3, "too many commands" + trail)
        for step in steps:
            self.assertTrue(step.command.startswith("mrrope "), trail)
            self.assertTrue(step.status == 0 or step.run or step.next, "an error that leads nowhere" + trail)
            for line in step.text.splitlines():
                self.assertTrue(len(line) <= 80 or line.startswith(LONG), f"too wide: {line}")
        if family.get("rotates", True):
            self.assertTrue(all(step.status == 0 for step in steps), trail)
            self.rotates_as_planned(family, steps, trail)

    def rotates_as_planned(self, family, steps, trail):
        written = [step.command for step in steps if step.command.startswith("mrrope extend ")]
        if not written:  # a plan file for the plug-in: it is the table
            plan = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
            self.assertGreater(plan["factor"], 1, trail)
            return
        words = shlex.split(written[0])
        output = words[words.index("-o") + 1]
        again = Step(f"{written[0]} --dry-run --force --json", self.folder)
        self.assertEqual(again.status, 0, str(again) + trail)
        said = json.loads(again.text)
        self.assertEqual(said["method"] == "none", family.get("windows", False), f"{said['method']}\n{trail}")
        trained = f" --trained {words[words.index('--trained') + 1]}" if "--trained" in words else ""
        plan = Step(f"mrrope plan {words[2]} -c {said['context_target']}{trained} --method {shlex.quote(said['method'])} --json > planned.json", self.folder)
        self.assertEqual(plan.status, 0, str(plan) + trail)
        for line in steps[-1].run:
            engine = next(ENGINES[word] for word in shlex.split(line) if word in ENGINES)
            # Phi-3's scale comes out of a formula of whole numbers
            tolerance = 2e-4 if family["config"]["model_type"] == "phi3" else 1e-5
            same = Step(f"mrrope diff {shlex.quote(output)}@{engine} planned.json --tolerance {tolerance} --json", self.folder)
            self.assertEqual(same.status, 0, f"{engine} would not rotate as planned:\n{same}{trail}")
            self.assertIn(output, line, trail)
            self.assertTrue(engine == "transformers5" or str(said["context_target"]) in line, trail)


def add_tests(names):
    for family in (families.FAMILIES[name] for name in names):
        for kind, write in (("config", families.write_config), ("gguf", families.write_gguf)):

            def test(self, family=family, write=write):
                self.arrives(family, write(self.folder, family))

            word = re.sub(r"\W+", "_", family["name"].lower())
            setattr(Walk, f"test_{word}_as_{kind}", test)


class Values(unittest.TestCase):
    def test_a_gguf_and_its_config_plan_the_same(self):
        """Two readers, two formats, one model: the same base, width, length and scaling. Hunyuan's conversion writes another
        length and InternLM 3's leaves its dynamic scaling out; llama.cpp reads neither the truncate of gpt-oss nor the betas of
        Kimi K2."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for family in families.FAMILIES.values():
                if family["name"] in ("gpt-oss", "Hunyuan", "InternLM 3", "Kimi K2") or not family.get("rotates", True):
                    continue
                tables = []
                for file in (families.write_config(folder, family), families.write_gguf(folder, family)):
                    step = Step(f"mrrope plan {shlex.quote(file.name)} --factor 2 --method mrrope-pro --json", folder)
                    self.assertEqual(step.status, 0, step)
                    plan = json.loads(step.text)
                    tables.append([plan["context_target"], *plan["inv_freq"]])
                self.assertEqual(len(tables[0]), len(tables[1]), family["name"])
                for a, b in zip(*tables):
                    self.assertAlmostEqual(a, b, delta=1e-6 * abs(a), msg=family["name"])  # factors are float32 in a GGUF


if __name__ == "__main__":
    chosen = sys.argv[1:]
    add_tests(chosen or families.FAMILIES)
    unittest.main(argv=sys.argv[:1] + (["Walk"] if chosen else []))
