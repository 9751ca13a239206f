# SPDX-License-Identifier: MIT
"""Programs that a worker starts: they end when it does (guard.py), write into a log, are known by their last words."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

from ..errors import Error, printable
from .folder import no_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GUARD = str(pathlib.Path(__file__).with_name("guard.py"))
_SHOWN = 2000  # bytes of a log
_START_SECONDS = 3600  # for a server to load its model: 400 GB from a slow disk


def program(name: str, variable: str = "") -> str:
    """A program by name or path; `variable`: of the environment, which may name another."""
    wanted = os.environ.get(variable) or name
    found = shutil.which(wanted)
    if not found:
        raise Error("there is no such program on PATH", "input/output", wanted)
    return found


@dataclasses.dataclass(frozen=True)
class Server:
    """One that was started here."""

    url: str
    process: subprocess.Popen[bytes]
    log: pathlib.Path


def run(
    words: list[str], log: pathlib.Path, environment: Mapping[str, str] | None = None, server: Server | None = None
) -> None:
    """Until it ends, or the server that it asks does. Error: another status than 0, with the end of what it said; 2 and
    3 are "invalid argument", for ever."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with _started(words, log, environment or {}) as process:
        while (status := _status_of(process)) is None:
            if server and server.process.poll() is not None:
                break
    if status != 0 and server and _status_of(server.process) is not None:
        raise Error(f"the server ended: {_end_of(server.log)}", "input/output", shlex.join(words[:3]))
    if status != 0:
        code = "invalid argument" if status in (2, 3) else "input/output"
        raise Error(f"ended with status {status}: {_end_of(log)}", code, shlex.join(words[:3]))


@contextlib.contextmanager
def serving(
    words: list[str], log: pathlib.Path, environment: Mapping[str, str], health: str = "/health"
) -> Iterator[Server]:
    """A server, once it answers, on a free port of this machine (--host, --port). It ends with the block."""
    port = _free_port()
    log.parent.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{port}"
    with _started([*words, "--host", "127.0.0.1", "--port", str(port)], log, environment) as process:
        last = time.monotonic() + _START_SECONDS
        while not _answers(url + health):
            if process.poll() is not None:
                raise Error(f"ended before it answered: {_end_of(log)}", "input/output", shlex.join(words[:3]))
            if time.monotonic() > last:
                said = f"did not answer within {_START_SECONDS} s: {_end_of(log)}"
                raise Error(said, "input/output", shlex.join(words[:3]))
            time.sleep(0.2)
        yield Server(url, process, log)


@contextlib.contextmanager
def _started(words: list[str], log: pathlib.Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with open(log, "ab", opener=no_link) as out:
        out.write(f"$ {shlex.join(words)}\n".encode())
        out.flush()
        process = subprocess.Popen(
            [sys.executable, "-E", "-S", _GUARD, *words],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            env={**os.environ, "OMP_WAIT_POLICY": "passive", "PYTHONSAFEPATH": "1", **environment},
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        if process.stdin:
            process.stdin.close()


def _status_of(process: subprocess.Popen[bytes]) -> int | None:
    """Within a second; None: it still runs."""
    try:
        return process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return None


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _end_of(log: pathlib.Path) -> str:
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _SHOWN))
        lines = file.read().decode(errors="replace").splitlines()
    started = max((at for at, line in enumerate(lines) if line.startswith("$ ")), default=-1)
    said = [line for line in lines[started + 1 :] if line.strip()]
    return printable("; ".join(said[-4:])) or f"it said nothing; {log}"
