# SPDX-License-Identifier: MIT
"""Campaigns for tests: small files, drivers in processes of their own, records to compare.

Environment: MRROPE_BIN, the program; the package mrrope on PYTHONPATH (.ci/run campaign says how).
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "tests/models/tiny-512.gguf"
QUIET = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1", "RAY_AUTH_MODE": "disabled",
         "RAY_USAGE_STATS_ENABLED": "0", "PYTHONSAFEPATH": "1"}  # fmt: skip
VLLM = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1", "TORCH_COMPILE_DISABLE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}  # fmt: skip

# Long enough to be disturbed: some seconds for each job, 40 records
LONG = [{"kind": "niah", "samples": 2, "depths": 5}, {"kind": "ruler", "tasks": ["niah_single_1"], "samples": 10}]


def printed(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def llama_server():
    return printed(ROOT / "tools/llama_cpp", "--prefix") + "/bin/llama-server"


def llama_server_model():
    """The small model behind one slot without a cache of prompts: the same answers every time."""
    return {"name": "tiny", "path": str(TINY), "engine": "llama-server", "program": llama_server(),
            "options": {"threads": 1, "parallel": 1, "no-cache-prompt": True},
            "evaluate": {"concurrency": 1}}  # fmt: skip


def hugging_face_folder(folder):
    """The weights of the small model as transformers and vLLM read them, made where gguf is."""
    if not folder.exists():
        python = printed(ROOT / "tools/engine_env", "gguf")
        subprocess.run([python, ROOT / "tests/engines/gguf_folder.py", TINY, folder], check=True)
    return folder


def vllm_model(folder, **more):
    program = pathlib.Path(printed(ROOT / "tools/engine_env", "vllm_server")).with_name("vllm")
    return {"name": "tiny", "path": str(folder), "engine": "vllm", "program": str(program), "environment": VLLM,
            "options": {"dtype": "float32", "enforce-eager": True, "no-enable-prefix-caching": True},
            "vocabulary": str(TINY), "evaluate": {"concurrency": 1}, **more}  # fmt: skip


def transformers_model(folder):
    return {"name": "tiny", "path": str(folder), "engine": "transformers",
            "options": {"dtype": "float32", "device-map": "cpu"}}  # fmt: skip


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
def driving(file, *options, folder=None):
    """A driver at work, in a folder."""
    command = [sys.executable, "-m", "mrrope.campaign", file, *map(str, options)]
    environment = {**os.environ, **QUIET}
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=folder)
    try:
        yield driver
    finally:
        driver.kill()
        driver.wait()


def drive(file, *options, status=0, seconds=500, folder=None):
    """To its end; what it said."""
    with driving(file, *options, folder=folder) as driver:
        said = driver.communicate(timeout=seconds)[0]
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


def wait_for(what, driver=None, seconds=60):
    """What `what` returns, once that is something; a driver that ends meanwhile fails, with what it said."""
    last = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < last, "nothing came of it"
        assert driver is None or driver.poll() is None, driver.communicate()[0]
        time.sleep(0.1)
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


def servers_of(output, asked=False):
    """Pids of the servers that a campaign has started, by the ports in its logs, as far as they still run; `asked`:
    only those that were asked for an answer."""
    said = r"^\$ .* eval .*--endpoint http://127.0.0.1:([0-9]+)" if asked else r"^\$ .* --port ([0-9]+)"
    ports = set()
    for log in (pathlib.Path(output) / "logs").glob("*/*/*/*.txt"):
        ports |= {port.encode() for port in re.findall(said, log.read_text(errors="replace"), re.MULTILINE)}
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            guarded = any(word.endswith(b"guard.py") for word in words)
            if not guarded and b"--port" in words and words[words.index(b"--port") + 1] in ports:
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def cluster_of(nodes):
    """A Ray cluster: a head that takes no jobs, and so many nodes of one core each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        _add_node(cluster, num_cpus=0, include_dashboard=False)
        for _ in range(nodes):
            _add_node(cluster, num_cpus=1)
        yield cluster
    finally:
        cluster.shutdown()


def _add_node(cluster, **arguments):
    """Ray gives a node 30 s to start, whatever else the machine does: a late one is started again."""
    for left in (2, 1, 0):
        try:
            return cluster.add_node(object_store_memory=80 << 20, **arguments)
        except Exception as error:  # a plain one, by Ray
            if not left:
                raise
            print(f"a node is late: {error}", file=sys.stderr)
    return None


def disturb(cluster, driver, output, servers=True, seconds=60):
    """Kills two workers, a server where there are some, and a whole node, each while it has work."""

    def replaced(job, pid):
        return workers(output).get(job, pid) != pid

    for _ in range(2):
        job, pid = wait_for(lambda: list(workers(output).items()), driver, seconds)[-1]
        kill(pid)
        wait_for(lambda job=job, pid=pid: replaced(job, pid), driver, seconds)
    if servers:
        kill(wait_for(lambda: servers_of(output, asked=True), driver, seconds)[0])
        wait_for(lambda: '"again"' in _events(output), driver, seconds)
    node = wait_for(lambda: _busy_node(cluster, output), driver, seconds)
    cluster.remove_node(node, allow_graceful=False)


def _busy_node(cluster, output):
    """One that has a job. The head has none."""
    parents = set()
    for pid in workers(output).values():
        with contextlib.suppress(OSError):
            parents.add(int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))
    for node in cluster.worker_nodes:
        if any(one.process.pid in parents for one in node.all_processes["raylet"]):
            return node
    return None


def _events(output):
    with contextlib.suppress(OSError):
        return (pathlib.Path(output) / "events.jsonl").read_text()
    return ""
