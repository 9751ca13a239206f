# SPDX-License-Identifier: MIT
"""A server of OpenAI's protocol for tests of the program: counts a token per character and always answers 7. Of a prompt's tokens it
says, as vLLM does, that each has a probability of 1/e; or nothing, as most do."""
import contextlib
import http.server
import json
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):  # pylint: disable=invalid-name
        self.answer({"data": [{"id": "m"}]})

    def do_POST(self):  # pylint: disable=invalid-name
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self.answer({"tokens": [0] * len(asked.get("content", asked.get("prompt", "")))})
        else:
            scores = [None] + [{str(token): {"logprob": -1.0}} for token in asked["prompt"][1:]] if "prompt_logprobs" in asked else None
            time.sleep(self.server.delay)
            choice = {"text": " 7", "finish_reason": "stop"} | ({"prompt_logprobs": scores} if self.server.scores else {})
            self.answer({"choices": [choice],
                         "usage": {"prompt_tokens": len(asked["prompt"]), "completion_tokens": 1}})

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Server(http.server.ThreadingHTTPServer):
    scores = True
    delay = 0.0

    def handle_error(self, *_):
        """A program that was killed hangs up."""


@contextlib.contextmanager
def running(scores=True, delay=0.0):
    """Its URL. `delay`: seconds before each answer."""
    with Server(("127.0.0.1", 0), Handler) as server:
        server.scores, server.delay = scores, delay
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
