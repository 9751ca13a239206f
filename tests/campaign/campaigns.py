# SPDX-License-Identifier: MIT
"""Campaigns for tests: small files, drivers in processes of their own, records to compare.

Environment: MRROPE_BIN, the program; the package mrrope on PYTHONPATH (.ci/run campaign says how).
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "tests/models/tiny-512.gguf"
QUIET = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


def llama_server():
    prefix = subprocess.run([ROOT / "tools/llama_cpp", "--prefix"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return f"{prefix}/bin/llama-server"


def write(folder, name="c", **replaced):
    """A campaign file: three plans, two measurements, one llama.cpp in process."""
    campaign = {
        "schema": "mrrope.campaign/1",
        "name": "test",
        "models": [{"name": "tiny", "path": str(TINY), "engine": "llama.cpp", "options": {"threads": 1}}],
        "plans": ["none", "yarn", "mrrope-pro"],
        "lengths": [512, "1k"],
        "measurements": [{"kind": "niah", "depths": 3}, {"kind": "ruler", "tasks": ["niah_single_1"], "samples": 2}],
        "output": str(folder / name),
        **replaced,
    }
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(campaign))  # JSON is YAML
    return path


@contextlib.contextmanager
def driving(file, *options):
    """A driver at work."""
    command = [sys.executable, "-m", "mrrope.campaign", file, *map(str, options)]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **QUIET})
    try:
        yield driver
    finally:
        driver.kill()
        driver.wait()


def drive(file, *options, status=0):
    """To its end; what it said."""
    with driving(file, *options) as driver:
        said = driver.communicate(timeout=500)[0]
        assert driver.returncode == status, said
    return said


def records(output):
    """{(measurement, plan, key): record} of all run folders, without times. A record that is there twice fails."""
    found = {}
    for path in sorted((pathlib.Path(output) / "runs").glob("*/*/*/*/records.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            record.pop("seconds")
            key = (path.parts[-4], path.parts[-3], record["key"])
            assert key not in found, key
            found[key] = record
    return found


def wait_for(what, seconds=120):
    """What `what` returns, once that is something."""
    last = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < last, "nothing came of it"
        time.sleep(0.02)
    return found


def workers(output):
    """Processes at work: {job: pid}."""
    found = {}
    with contextlib.suppress(OSError):
        for mark in (pathlib.Path(output) / "running").iterdir():
            with contextlib.suppress(OSError, IndexError, ValueError):
                found[mark.name] = int(mark.read_text().split()[1])
    return found


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def servers_of(output):
    """Pids of llama-servers whose files are in a folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if words and words[0].endswith(b"llama-server") and any(str(output).encode() in word for word in words):
                found.append(int(entry.name))
    return found
