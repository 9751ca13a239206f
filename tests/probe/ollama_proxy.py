#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ollama's way with prompts that are too long, in front of a llama-server: HTTP 200, and the front of the prompt is gone.

    ollama_proxy.py --upstream http://127.0.0.1:8080 --num-ctx 4096 --port 11434

For tests of truncation; a stand-in, not Ollama. What it copies, from ollama/ollama at fb30760996 (2026-08-21):

* `truncate` and `shift` are on unless a request of the native interface says otherwise (server/routes.go, GenerateHandler
  and ChatHandler); OpenAI's interface cannot say so. `num_keep` is 4 (api/types.go, DefaultOptions).
* Chat drops whole messages from the front until the prompt has at most num_ctx tokens; the system's messages and the last
  message stay (server/prompt.go, chatPrompt).
* `--rule half`: llm/llama_server.go, completionPromptForRequest and contextShiftPromptLimit, since #16856 (v0.30.11).
  A prompt of more than num_ctx - 1 tokens keeps its first num_keep (one more if the tokenizer adds BOS) and its last ones,
  num_ctx - (num_ctx - kept) / 2 together: about half of num_ctx is read.
* `--rule full`: NewSequence in runner/llamarunner/runner.go of v0.17.4. A prompt of more than num_ctx tokens keeps as many at
  its beginning, and num_ctx in all.
* The prompt of /v1/completions is a text, never tokens (openai/openai.go, CompletionRequest). Usage counts what is left
  after cutting. Log probabilities have texts and bytes, no ids (api/types.go, TokenLogprob), at most 20.
* /api/show tells the model's length, /api/ps the served one; /v1/models neither.

The upstream needs room for num_ctx tokens and the answer. Nothing is streamed. Standard library only.
"""

import argparse
import json
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NUM_KEEP = 4
MOST_LOGPROBS = 20


class Refusal(Exception):
    """An answer that is no success."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def cut(tokens, num_ctx, keep, rule="half"):
    """What Ollama leaves of a prompt; `keep` tokens at its beginning stay."""
    if len(tokens) <= (num_ctx - 1 if rule == "half" else num_ctx):
        return tokens
    keep = min(keep, num_ctx - 1)
    limit = num_ctx - max((num_ctx - keep) // 2, 1) if rule == "half" else num_ctx
    return tokens[:keep] + tokens[keep + len(tokens) - limit :]


class Upstream:
    """The llama-server behind."""

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.adds_bos = len(self.tokens("a")) > len(self.tokens("a", special=False))
        self.about = self.ask("/v1/models")["data"][0]

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refusal(500, error.read().decode(errors="replace")) from error

    def tokens(self, text, special=True):
        body = {"content": text, "add_special": special, "parse_special": True}
        return self.ask("/tokenize", body)["tokens"]

    def rendered(self, messages):
        return self.ask("/apply-template", {"messages": messages})["prompt"]


def without_ids(entries):
    """Log probabilities as Ollama shows them."""
    plain = [{name: entry[name] for name in ("token", "logprob", "bytes") if entry.get(name) != []} for entry in entries]
    for entry, source in zip(plain, entries):
        if source.get("top_logprobs"):
            entry["top_logprobs"] = without_ids(source["top_logprobs"])
    return plain


class Ollama:
    """Requests in, answers out."""

    def __init__(self, upstream, num_ctx, rule, model):
        self.upstream, self.num_ctx, self.rule, self.model = upstream, num_ctx, rule, model

    def fit_messages(self, messages):
        """The text of as many of the last messages as fit, with the system's."""
        for first in range(len(messages)):
            system = [m for m in messages[:first] if m.get("role") == "system"]
            text = self.upstream.rendered(system + messages[first:])
            if len(self.upstream.tokens(text)) <= self.num_ctx:
                break
        return text

    def generate(self, text, body, logprobs):
        """The upstream's answer to what is left of the prompt, and how many tokens that is."""
        if logprobs is not None and not 0 <= logprobs <= MOST_LOGPROBS:
            raise Refusal(400, "top_logprobs must be between 0 and 20")
        tokens = cut(self.upstream.tokens(text), self.num_ctx, NUM_KEEP + self.upstream.adds_bos, self.rule)
        asked = {name: body[name] for name in ("temperature", "top_p", "seed", "stop") if body.get(name) is not None}
        asked |= {"prompt": tokens, "max_tokens": body.get("max_tokens") or self.num_ctx}
        if logprobs is not None:
            asked["logprobs"] = max(logprobs, 1)
        return self.upstream.ask("/v1/completions", asked), len(tokens)

    def answer(self, kind, choice, generated, read):
        source = generated["choices"][0]
        choice = {"index": 0, **choice(source["text"]), "finish_reason": source["finish_reason"]}
        if source.get("logprobs"):
            choice["logprobs"] = {"content": without_ids(source["logprobs"]["content"])}
        written = generated["usage"]["completion_tokens"]
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {"id": "cmpl-1", "object": kind, "created": int(time.time()), "model": self.model,
                "system_fingerprint": "fp_ollama", "choices": [choice], "usage": usage}  # fmt: skip

    def complete(self, body):
        if not isinstance(body.get("prompt"), str):
            raise Refusal(400, "json: cannot unmarshal array into Go struct field CompletionRequest.prompt of type string")
        generated, read = self.generate(body["prompt"], body, body.get("logprobs"))
        return self.answer("text_completion", lambda text: {"text": text}, generated, read)

    def chat(self, body):
        logprobs = body.get("top_logprobs", 0) if body.get("logprobs") else None
        generated, read = self.generate(self.fit_messages(body["messages"]), body, logprobs)
        message = lambda text: {"message": {"role": "assistant", "content": text}}  # noqa: E731
        return self.answer("chat.completion", message, generated, read)

    def show(self, _body):
        trained = self.upstream.about["meta"]["n_ctx_train"]
        return {"parameters": f"num_ctx {self.num_ctx}", "details": {"format": "gguf", "family": "llama"},
                "model_info": {"general.architecture": "llama", "llama.context_length": trained},
                "capabilities": ["completion"]}  # fmt: skip

    def posts(self):
        return {"/v1/completions": self.complete, "/v1/chat/completions": self.chat, "/api/show": self.show}

    def gets(self):
        listed = {"name": self.model, "model": self.model}
        return {
            "/v1/models": {"object": "list", "data": [{"id": self.model, "object": "model", "created": 1, "owned_by": "library"}]},
            "/api/version": {"version": "0.32.7" if self.rule == "half" else "0.17.4"},
            "/api/tags": {"models": [listed]},
            "/api/ps": {"models": [dict(listed, context_length=self.num_ctx)]},
        }


def handler(ollama):
    class Handler(BaseHTTPRequestHandler):
        def send(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self):  # noqa: N802  pylint: disable=invalid-name
            found = ollama.gets().get(self.path)
            self.send(404 if found is None else 200, found or {"error": "404 page not found"})

        def do_POST(self):  # noqa: N802  pylint: disable=invalid-name
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            serve = ollama.posts().get(self.path)
            try:
                if serve is None:
                    raise Refusal(404, "404 page not found")
                self.send(200, serve(body))
            except Refusal as refusal:
                kind = "invalid_request_error" if refusal.status == 400 else "api_error"
                self.send(refusal.status, {"error": {"message": str(refusal), "type": kind, "param": None, "code": None}})

        def log_message(self, *_arguments):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description="llama-server with Ollama's cuts")
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--num-ctx", type=int, default=4096)
    parser.add_argument("--rule", choices=["half", "full"], default="half")
    parser.add_argument("--model", default="tiny:latest")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    ollama = Ollama(Upstream(options.upstream), options.num_ctx, options.rule, options.model)
    with ThreadingHTTPServer(("127.0.0.1", options.port), handler(ollama)) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
