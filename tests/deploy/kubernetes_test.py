# SPDX-License-Identifier: MIT
"""deploy/kubernetes-*.yaml as envsubst and Kubernetes read it, with a mrrope that only says what it was asked.

    kubernetes_test.py CHECKOUT [MRROPE]       a program that knows what its flags are called
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
    import yaml
except ImportError:
    yaml = None

CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()
MRROPE = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
SETTINGS = {"NAME": "ruler", "IMAGE": "mrrope:0.1.0", "CLAIM": "runs", "SHARDS": "16", "TASKS": "all", "SAMPLES": "500",
            "LENGTHS": "4k,8k", "MODEL": "llama-mrrope", "ENDPOINTS": "http://a:8000,http://b:8000"}


def envsubst(text, settings):
    """$NAME and ${NAME}, and nothing else of what a shell knows."""
    return re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda m: settings.get(m[1] or m[2], ""), text)


@unittest.skipUnless(yaml, "no PyYAML")
class IndexedJob(unittest.TestCase):
    def words(self, **more):
        """What mrrope of pod 3 is called with."""
        text = (CHECKOUT / "deploy" / "kubernetes-indexed-job.yaml").read_text()
        job = yaml.safe_load(envsubst(text, {**SETTINGS, **more}))
        self.assertEqual((job["spec"]["completions"], job["spec"]["parallelism"]), (16, 16))
        container = job["spec"]["template"]["spec"]["containers"][0]
        pod = {e["name"]: e["value"] for e in container["env"] if "value" in e} | {"JOB_COMPLETION_INDEX": "3"}
        command = [re.sub(r"\$\((\w+)\)", lambda m: pod[m[1]], word) for word in container["command"] + container["args"]]
        with tempfile.TemporaryDirectory() as folder:
            mrrope = pathlib.Path(folder) / "mrrope"
            mrrope.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
            mrrope.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            return json.loads(subprocess.run(command, env={**pod, "PATH": path}, capture_output=True, text=True, check=True).stdout)

    def test_a_pod_measures_its_shard(self):
        words = self.words(QUESTIONS="/runs/dev v2.json")
        self.assertEqual(words[:2], ["eval", "ruler"])
        for word in ("--shard=3/16", "/runs/run-3", "--endpoint=http://a:8000,http://b:8000", "--model=llama-mrrope",
                     "--questions=/runs/dev v2.json", "--lengths=4k,8k", "--samples=500", "--tasks=all"):
            self.assertIn(word, words)

    def test_questions_may_be_left_out(self):
        self.assertFalse([word for word in self.words() if "questions" in word])


@unittest.skipUnless(yaml, "no PyYAML")
class ProbedServer(unittest.TestCase):
    def setUp(self):
        text = (CHECKOUT / "deploy" / "kubernetes-probe.yaml").read_text()
        settings = {"NAME": "llama", "IMAGE": "mrrope:0.1.0", "SERVER": "server", "CLAIM": "models", "MODEL": "/models/longer model.gguf",
                    "PLAN": "/models/plan.json", "LENGTH": "32768"}
        self.text = envsubst(text, settings)
        self.spec = yaml.safe_load(self.text)["spec"]
        self.server, self.probe = self.spec["template"]["spec"]["containers"]

    def test_a_pod_is_ready_when_the_server_runs_its_plan_at_its_length(self):
        words = self.probe["startupProbe"]["exec"]["command"]
        self.assertEqual(words, ["mrrope", "probe", "http://localhost:8080", "-m", "/models/longer model.gguf", "--expect", "/models/plan.json",
                                 "--length", "32768"])
        self.assertNotIn("readinessProbe", self.probe, "it computes, and would do so every ten seconds")

    def test_it_asks_the_server_beside_it_about_what_that_one_was_started_with(self):
        port = self.server["ports"][0]["containerPort"]
        words = self.server["args"]
        self.assertIn(f":{port}", self.probe["startupProbe"]["exec"]["command"][2])
        self.assertEqual([words[words.index(flag) + 1] for flag in ("-m", "-c", "--port")], ["/models/longer model.gguf", "32768", str(port)])
        self.assertEqual(self.server["volumeMounts"], self.probe["volumeMounts"])

    @unittest.skipUnless(MRROPE, "no program was given")
    def test_the_program_has_these_flags(self):
        words = self.probe["startupProbe"]["exec"]["command"]
        done = subprocess.run([MRROPE, *words[1:]], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)  # 2 would be wrong usage
        self.assertIn("longer model.gguf", done.stderr)


if __name__ == "__main__":
    unittest.main()
