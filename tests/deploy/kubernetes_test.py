# SPDX-License-Identifier: MIT
"""deploy/kubernetes-indexed-job.yaml as envsubst and Kubernetes read it, with a mrrope that only says what it was asked.

    kubernetes_test.py CHECKOUT
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


if __name__ == "__main__":
    unittest.main()
