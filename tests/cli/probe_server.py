# SPDX-License-Identifier: MIT
"""A server for tests of `mrrope probe`: a token per word, and probabilities that depend on every word it reads.

What is wrong with it is set by its attributes: what it advertises, what it refuses, what it cuts, what it says.
"""
import contextlib
import hashlib
import http.server
import json
import math
import threading


class Behaviour:
    """Of one server."""

    def __init__(self, **changes):
        self.advertised = 2048  # max_model_len of /v1/models; None: nothing
        self.accepts = 2048  # tokens of prompt and answer
        self.reads = None  # the last so many tokens of a prompt; None: all
        self.logprobs = True
        self.key = None  # asks for this bearer token
        self.owner = "someone"
        self.name = "m"
        self.words = "too long"  # of a refusal
        self.body = None  # instead of every answer to a prompt
        self.same = True  # the same prompt has the same answer
        self.count = None  # of tokens in any text; None: the right one
        self.asked = 0  # prompts
        self.largest = 0  # bytes of a request
        self.__dict__.update(changes)


def tokens_of(prompt):
    return prompt if isinstance(prompt, list) else prompt.split()


def chances(words, turn):
    """Log probabilities of ten tokens, other ones for other words."""
    digest = hashlib.sha256(json.dumps([words, turn]).encode()).digest()
    weights = [1 + byte for byte in digest[:10]]
    total = 2 * sum(weights)
    return sorted(((f" w{i}", math.log(weight / total)) for i, weight in enumerate(weights)), key=lambda pair: -pair[1])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, value, status=200):
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refused(self):
        how = self.server.behaviour
        if how.key is None or self.headers.get("Authorization") == f"Bearer {how.key}":
            return False
        self.answer({"error": {"message": f"not you: {self.headers.get('Authorization')}"}}, 401)
        return True

    def do_GET(self):  # pylint: disable=invalid-name
        how = self.server.behaviour
        if self.refused():
            return
        if self.path != "/v1/models":
            self.answer({"error": "no such thing"}, 404)
            return
        model = {"id": how.name, "owned_by": how.owner}
        if how.advertised is not None:
            model["max_model_len"] = how.advertised
        self.answer({"data": [model]})

    def do_POST(self):  # pylint: disable=invalid-name
        how = self.server.behaviour
        size = int(self.headers["Content-Length"])
        how.largest = max(how.largest, size)
        asked = json.loads(self.rfile.read(size))
        if self.refused():
            return
        if self.path == "/tokenize":
            true = len(tokens_of(asked.get("content", asked.get("prompt", ""))))
            self.answer({"tokens": [0] * (true if how.count is None else how.count)})
            return
        if self.path != "/v1/completions":
            self.answer({"error": "no such thing"}, 404)
            return
        how.asked += 1
        if how.body is not None:
            self.answer(how.body)
            return
        words = tokens_of(asked["prompt"])
        new = asked.get("max_tokens", 16)
        if len(words) + new > how.accepts:
            self.answer({"error": {"message": how.words}}, 400)
            return
        read = words if how.reads is None else words[-how.reads:]
        said = chances(read, 0 if how.same else how.asked)
        choice = {"text": said[0][0] * new, "finish_reason": "length"}
        if how.logprobs and asked.get("logprobs"):
            choice["logprobs"] = {"tokens": [said[0][0]] * new, "token_logprobs": [said[0][1]] * new,
                                  "top_logprobs": [dict(said[:asked["logprobs"]])] * new}
        self.answer({"choices": [choice], "usage": {"prompt_tokens": len(words), "completion_tokens": new}})

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Server(http.server.ThreadingHTTPServer):
    behaviour = None

    def handle_error(self, *_):
        """A program that was killed hangs up."""


@contextlib.contextmanager
def running(**changes):
    """Its URL and its behaviour."""
    with Server(("127.0.0.1", 0), Handler) as server:
        server.behaviour = Behaviour(**changes)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", server.behaviour
        server.shutdown()
