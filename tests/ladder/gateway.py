# SPDX-License-Identifier: MIT
"""A ladder as it is deployed, for tests and tools/ladder_study.py: llama-servers as rungs, the LiteLLM proxy in front.

The small model has one token per byte, so that a text has the length that a test wants; what counts in the end is what
the server says it read. Only the standard library: the proxy runs in its own environment (tools/engine_env litellm).
"""
import contextlib
import functools
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests" / "models" / "tiny-512.gguf"
HOOK = ROOT / "src" / "deploy" / "mrrope_ladder.py"
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
KEY = "sk-" + secrets.token_hex(32)  # the proxy wants one


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_free(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) != 0


class Process:
    """A server: started, waited for, killed. Its log is a file."""

    def __init__(self, command, log, path, port=None, cwd=None, **environment):
        self.port = port or free_port()
        self.cwd = cwd
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = pathlib.Path(log)
        self.command = [str(word).replace("{port}", str(self.port)) for word in command]
        self.environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **environment}
        self.path = path
        self.start()

    def start(self):
        """Also again, on the same port, after a kill."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=out, cwd=self.cwd, env=self.environment,
                                            start_new_session=True)

    def wait(self, seconds=600):
        """Until it answers. On a busy machine that is minutes for what is written in Python."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError), urllib.request.urlopen(self.url + self.path, timeout=5) as answer:
                if answer.status == 200:
                    return self
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.end()
        raise RuntimeError(f"{self.command[0]} does not come up:\n{self.log.read_text()[-3000:]}")

    def kill(self):
        """-9, as a machine would."""
        self.process.kill()
        self.process.wait()

    def end(self):
        """With what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


class Rung(Process):
    """llama-server with the small model: as it is, or by the sidecar that `mrrope extend` writes."""

    served = "tiny"

    def __init__(self, length, folder, mrrope, model=MODEL, trained=512):
        self.length, self.name = length, name_of(length)
        flags = ["-np", 1, "-t", 1, "--alias", self.served, "--port", "{port}"]
        if length <= trained:
            command = [llama_server(), "-m", model, "-c", length, *flags]
        else:
            command = [sidecar(length, folder, mrrope, model) / "serve.sh", *flags]
        path = f"{llama_server().parent}:{os.environ['PATH']}"
        super().__init__(command, pathlib.Path(folder) / f"rung-{self.name}.log", "/health", PATH=path)


class Folder:
    """What `mrrope ladder` writes, and what the commands of its README start. The port of the gateway, and those after it, are free."""

    def __init__(self, mrrope, model, path, *flags):
        self.path = pathlib.Path(path)
        self.port = next(port for port in iter(free_port, None) if all(is_free(port + i) for i in (1, 2, 3)))
        subprocess.run([mrrope, "ladder", model, *flags, "-o", self.path, "--port", str(self.port)], check=True, capture_output=True)

    def line(self, start):
        """The command of README.md that begins so."""
        return next(line for line in (self.path / "README.md").read_text().splitlines() if line.startswith(start))

    def gateway(self, litellm):
        return Process(["sh", "-c", self.line("LITELLM_LOCAL_MODEL_COST_MAP=True litellm ")], self.path / "litellm.log", "/health/liveliness",
                       port=self.port, cwd=self.path, PATH=f"{litellm.parent}:{os.environ['PATH']}", LITELLM_MASTER_KEY=KEY)


class Router(Process):
    """The llama-server of a folder: it runs a process for each rung."""

    def __init__(self, folder):
        super().__init__(["sh", "-c", "exec " + folder.line("llama-server ")], folder.path / "router.log", "/health", port=folder.port + 1,
                         cwd=folder.path, PATH=f"{llama_server().parent}:{os.environ['PATH']}", LLAMA_ARG_THREADS="1")

    def child(self, name):
        """The id of its process for the rung `name`."""
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            for pid in (task / "children").read_text().split():
                if name in pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                    return int(pid)
        raise ProcessLookupError(name)


def name_of(length):
    return f"{length // 1024}k" if length % 1024 == 0 else str(length)


@functools.cache
def llama_server():
    printed = subprocess.run([ROOT / "tools" / "llama_cpp", "--prefix"], check=True, capture_output=True, text=True).stdout
    return pathlib.Path(printed.strip()) / "bin" / "llama-server"


def sidecar(length, folder, mrrope, model=MODEL):
    out = pathlib.Path(folder) / f"sidecar-{name_of(length)}"
    if not out.exists():
        subprocess.run([mrrope, "extend", model, "-c", str(length), "--sidecar", "-o", out], check=True, capture_output=True)
    return out


def configuration(rungs, reserve, engine="llama.cpp", hook=True):
    """litellm.yaml, as JSON, which is YAML: what `mrrope ladder` writes."""
    names = ["tiny", *(f"tiny-{rung.name}" for rung in rungs[1:])]
    up = [{name: names[i + 1:]} for i, name in enumerate(names[:-1])]
    deployments = [
        {"model_name": name,
         "litellm_params": {"model": f"openai/{rung.served}", "api_base": f"{rung.url}/v1", "api_key": "none"},
         "model_info": {"id": rung.name, "ladder": "tiny", "length": rung.length, "reserve": reserve, "engine": engine}}
        for name, rung in zip(names, rungs)
    ]
    settings = {"fallbacks": up, "context_window_fallbacks": up, "telemetry": False}
    if hook:
        settings["callbacks"] = "mrrope_ladder.route"
    return json.dumps({"model_list": deployments, "router_settings": {"num_retries": 0}, "litellm_settings": settings}, indent=1)


def gateway(folder, text, litellm):
    """The proxy with the configuration `text`; `litellm`: its program. Up in 15 s."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "litellm.yaml").write_text(text)
    shutil.copy(HOOK, folder)
    command = [litellm, "--config", folder / "litellm.yaml", "--host", "127.0.0.1", "--port", "{port}"]
    return Process(command, folder / "litellm.log", "/health/liveliness", LITELLM_MASTER_KEY=KEY, LITELLM_LOCAL_MODEL_COST_MAP="True")


class Answer:
    """What came back: status, rung (as the gateway says), tokens (as the server says), text, finish, error, seconds."""

    def __init__(self, status, headers, body, streamed, seconds, first):
        self.status, self.seconds, self.first = status, seconds, first
        self.rung = headers.get("x-litellm-model-id")
        self.fallbacks = int(headers.get("x-litellm-attempted-fallbacks") or 0)
        parts = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: {")] if streamed else []
        if not parts:
            parts = [json.loads(body)] if body.startswith(b"{") else [{"error": body[:300].decode(errors="replace")}]
        usage = next((part["usage"] for part in reversed(parts) if part.get("usage")), {})
        self.prompt, self.answer = usage.get("prompt_tokens"), usage.get("completion_tokens")
        self.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        choices = [choice for part in parts for choice in part.get("choices") or []]
        self.finish = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), None)
        said = [choice.get("text") or (choice.get("delta") or choice.get("message") or {}).get("content") for choice in choices]
        self.text = "".join(text for text in said if text)
        error = next((part["error"] for part in parts if part.get("error")), None)
        self.error = error.get("message", str(error)) if isinstance(error, dict) else error


def ask(url, path, body, stream=False, seconds=300):
    """One request. Raises OSError where nobody answers."""
    if stream:
        body = body | {"stream": True, "stream_options": {"include_usage": True}}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"})
    start = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            first = answer.readline()
            then = time.monotonic()
            return Answer(answer.status, answer.headers, first + answer.read(), stream, time.monotonic() - start, then - start)
    except urllib.error.HTTPError as refusal:
        return Answer(refusal.code, refusal.headers, refusal.read(), stream, time.monotonic() - start, None)


def body_of(path, text, **more):
    content = {"prompt": text} if path == TEXT else {"messages": [{"role": "user", "content": text}]}
    return {"model": "tiny", **content, **more}


def rung_of(rungs, prompt, answer):
    """The rung that must have answered: the lowest with room for both; None: beyond the last."""
    return next((rung.name for rung in rungs if prompt + answer <= rung.length), None)
