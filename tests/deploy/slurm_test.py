# SPDX-License-Identifier: MIT
"""deploy/slurm-array.sh as Slurm starts it, with servers and a mrrope that only say who and where they are.

    slurm_test.py CHECKOUT
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()
SCRIPT = CHECKOUT / "deploy" / "slurm-array.sh"
# Listens late, as a server that loads its weights first, and not longer than a test takes.
SERVER = """
import http.server, os, sys, threading, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(os.getpid()).encode())
    def log_message(self, *arguments): pass
time.sleep(0.5)
threading.Timer(20, os._exit, [1]).start()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
GOES_AWAY = """
import subprocess, sys
quiet = subprocess.DEVNULL
subprocess.Popen([sys.executable, sys.argv[1], sys.argv[2]], stdout=quiet, stderr=quiet, start_new_session=True)
"""
MRROPE = """
import json, sys, time, urllib.request
words = sys.argv[1:]
value = dict(zip(words, words[1:]))
endpoint = value["--endpoint"]
server = urllib.request.urlopen(endpoint + "/health").read().decode() if "127.0.0.1" in endpoint else ""
time.sleep(1)
json.dump({"words": words, "endpoint": endpoint, "server": server}, open(value["-o"] + ".json", "w"))
"""


def two_free_ports():
    """The first of two neighbours that nobody listens on."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


@unittest.skipUnless(shutil.which("curl"), "no curl")
class SlurmArray(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("server.py", SERVER), ("goes_away.py", GOES_AWAY), ("mrrope.py", MRROPE)):
            (self.folder / name).write_text(text)
        self.port = two_free_ports()
        self.serve = f"{sys.executable} {self.folder}/server.py {{port}}"

    def start(self, shard, **settings):
        array = {"SLURM_ARRAY_TASK_ID": shard, "SLURM_ARRAY_TASK_COUNT": 2, "SLURM_ARRAY_TASK_MIN": 0,
                 "SLURM_ARRAY_TASK_MAX": 1}
        ours = {"MODEL": "m", "OUT": self.folder, "SERVE_PORT": self.port,
                "MRROPE": f"{sys.executable} {self.folder}/mrrope.py"}
        environment = {key: str(value) for key, value in {**os.environ, **array, **ours, **settings}.items()}
        return subprocess.Popen(["bash", SCRIPT], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True)

    def ended(self, task, status=0):
        said = task.communicate(timeout=30)[1]
        self.assertEqual(task.returncode, status, said)
        return said

    def asked(self, shard):
        return json.loads((self.folder / f"run-{shard}.json").read_text())

    def test_tasks_on_one_node_have_a_server_each(self):
        # All of them took port 8000: the second task asked the server of the first, which the first then ended.
        for task in [self.start(shard, SERVE=self.serve) for shard in (0, 1)]:
            self.ended(task)
        self.assertNotEqual(self.asked(0)["server"], self.asked(1)["server"])
        for shard in (0, 1):
            with self.assertRaises(ProcessLookupError):
                os.kill(int(self.asked(shard)["server"]), 0)

    def test_the_server_of_somebody_else_is_not_asked(self):
        with socket.create_server(("127.0.0.1", self.port)):
            self.assertIn("SERVE_PORT", self.ended(self.start(0, SERVE=self.serve), status=1))
        gone = f"{sys.executable} {self.folder}/goes_away.py {self.folder}/server.py {{port}}"
        self.assertIn("did not start", self.ended(self.start(1, SERVE=gone), status=1))
        self.assertEqual(list(self.folder.glob("run-*")), [])

    def test_questions_are_given_where_there_are_some(self):
        # RULER's thirteen tasks were eleven: the qa tasks need a file.
        self.ended(self.start(0, ENDPOINTS="http://node1:8000", QUESTIONS="/data/dev v1.json"))
        words = self.asked(0)["words"]
        self.assertEqual(words[words.index("--questions") + 1], "/data/dev v1.json")
        self.ended(self.start(1, ENDPOINTS="http://node1:8000"))
        self.assertNotIn("--questions", self.asked(1)["words"])

    def test_a_server_without_the_port_of_its_task_is_refused(self):
        self.assertIn("{port}", self.ended(self.start(0, SERVE="vllm serve m --port 8000"), status=2))
        self.assertIn("ENDPOINTS", self.ended(self.start(0), status=1))


if __name__ == "__main__":
    unittest.main()
