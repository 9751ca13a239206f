#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets every call that touches a file go wrong once, in every command that writes, and looks at what is left:

    faults_everywhere.py MRROPE INJECT_LIBRARY [--every N]

Each call fails with ENOSPC, EIO, EINTR and EACCES, writes half of what it was given, or is the program's last. After each:

- what the command reads is as it was;
- what it writes is as before or as after, or a journal is there, and `inspect` says so;
- status 0 is only said of a complete result;
- nothing else lies about, but for a .tmp file where the program was killed or could not remove it;
- the same command, asked again, ends where it would have ended.

--every N takes each Nth call only, another one for each kind of fault."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "browser")]
import synthetic  # noqa: E402  pylint: disable=wrong-import-position
import tiny_gguf  # noqa: E402  pylint: disable=wrong-import-position

FAULTS = ["ENOSPC", "EIO", "EINTR", "EACCES", "short", "kill"]
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
          "num_hidden_layers": 2, "max_position_embeddings": 2048, "rope_theta": 10000.0, "intermediate_size": 512, "vocab_size": 100}


def gguf(folder):
    tiny_gguf.write(folder / "m.gguf", "llama", {}, factors={"blk.0.attn_q.weight": [0.5] * 20000})


def config(folder):
    (folder / "hf").mkdir()
    (folder / "hf/config.json").write_text(json.dumps(CONFIG, indent=2))
    (folder / "hf/model.safetensors").write_bytes(b"weights")


def runs(folder):
    for i in range(2):
        synthetic.write_run(folder / f"run-{i}", "niah", list(synthetic.needle_records(samples=1, depths=2, plans=(synthetic.PLANS[i],))))


def plan(folder):
    words = ["plan", "--spec", "dim=64,base=1e4,ctx=2k", "--factor", "4", "--json"]
    (folder / "p.json").write_bytes(subprocess.run([MRROPE, *words], capture_output=True, check=True).stdout)


def after(prepare, *words):
    def prepare_and_run(folder):
        prepare(folder)
        subprocess.run([MRROPE, *words], cwd=folder, capture_output=True, check=True)
    return prepare_and_run


# A sidecar has its script only while both belong together; without, it is not complete and the next command finishes it.
SCRIPT = "side/serve.sh"

# What is there before, and the command. Files that are named are what the command may change.
Case = collections.namedtuple("Case", "prepare words may_change")
CASES = {
    "copy": Case(gguf, ["extend", "m.gguf", "--factor", "4", "-o", "longer.gguf"], ["longer.gguf"]),
    "copy over": Case(after(gguf, "extend", "m.gguf", "--factor", "2", "-o", "longer.gguf"),
                      ["extend", "m.gguf", "--factor", "4", "-o", "longer.gguf", "-f"], ["longer.gguf"]),
    "sidecar": Case(gguf, ["extend", "m.gguf", "--factor", "4", "--method", "mrrope-pro", "--sidecar", "-o", "side"], ["side/"]),
    "sidecar over": Case(after(gguf, "extend", "m.gguf", "--factor", "2", "--method", "mrrope-pro", "--sidecar", "-o", "side"),
                         ["extend", "m.gguf", "--factor", "4", "--method", "mrrope-pro", "--sidecar", "-o", "side", "-f"], ["side/"]),
    "undo sidecar": Case(after(gguf, "extend", "m.gguf", "--factor", "4", "--method", "mrrope-pro", "--sidecar", "-o", "side"),
                         ["extend", "side/m-00001-of-00002.gguf", "--undo"], ["side/"]),
    "modelfile": Case(gguf, ["extend", "m.gguf", "--factor", "4", "--target", "ollama", "-o", "longer.gguf"], ["longer.gguf", "Modelfile"]),
    "in place": Case(gguf, ["extend", "m.gguf", "--factor", "4", "--method", "mrrope-pro", "--in-place"], ["m.gguf"]),
    "undo in place": Case(after(gguf, "extend", "m.gguf", "--factor", "4", "--method", "mrrope-pro", "--in-place"),
                          ["extend", "m.gguf", "--undo", "--in-place"], ["m.gguf"]),
    "config": Case(config, ["extend", "hf", "--factor", "4"], ["hf/config.json", "hf/config.original.json"]),
    "undo config": Case(after(config, "extend", "hf", "--factor", "4"), ["extend", "hf", "--undo"],
                        ["hf/config.json", "hf/config.original.json", "hf/config.extended.json"]),
    "second folder": Case(config, ["extend", "hf", "--factor", "4", "-o", "second"], ["second/"]),
    "copied folder": Case(config, ["extend", "hf", "--factor", "4", "-o", "second", "--copy"], ["second/"]),
    "merge": Case(runs, ["merge", "run-0", "run-1", "-o", "merged"], ["merged/"]),
    "export": Case(runs, ["export", "run-1", "--lm-eval", "out"], ["out/"]),
    "report": Case(plan, ["report", "p.json", "-o", "page.html"], ["page.html"]),
    "report over": Case(after(plan, "report", "p.json", "-o", "page.html"), ["report", "p.json", "-o", "page.html"], ["page.html"]),
}


def snapshot(folder):
    """Every name below: a folder, where a link points, or the bytes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = ("link", os.readlink(path).replace(str(folder), "FOLDER")) if path.is_symlink() else ("folder",) if path.is_dir() else ("file", steady(path.read_bytes()))
    return found


def steady(data):
    """Without what differs from run to run: times."""
    data = re.sub(rb'"date": [\d.e+]+', b'"date": TIME', data)
    return re.sub(rb"\d{4}-\d\d-\d\dT[\d:.+-]+Z?", b"TIME", data)


def steady_names(state):
    return {re.sub(r"\d{4}-\d\d-\d\dT[\d.:+-]+", "TIME", name): value for name, value in state.items()}


def run(words, folder, **environment):
    return subprocess.run([MRROPE, *words], cwd=folder, capture_output=True, env=os.environ | environment, timeout=60, check=False)


class Bench:
    """One command: its state before and after, and the number of its calls."""

    def __init__(self, name, place):
        self.name, self.case, self.place = name, CASES[name], place
        self.template = place / "template"
        self.template.mkdir(parents=True)
        self.case.prepare(self.template)
        self.old = steady_names(snapshot(self.template))
        folder = self.fresh("reference")
        log = place / "calls"
        done = run(self.case.words, folder, LD_PRELOAD=INJECT, FAULT_LOG=str(log))
        assert done.returncode == 0, (name, done.stderr)
        self.calls = int(log.read_text())
        self.new = steady_names(snapshot(folder))
        assert self.new != self.old or "over" in name, name

    def fresh(self, name):
        folder = self.place / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.template, folder, symlinks=True)
        return folder

    def may_change(self, name):
        return any(name == place or name + "/" == place or (place.endswith("/") and name.startswith(place)) for place in self.case.may_change)

    def left_over(self, name, fault):
        unfinished = name.endswith(".tmp") or re.match(r"merged\.\w{6}(/|$)", name)
        return (fault in ("kill", "unlink") and unfinished) or name.endswith(".mrrope-journal")

    def try_fault(self, call, fault):
        """A sentence about what is wrong; nothing if all is well."""
        folder = self.fresh(f"{call}-{fault}")
        log = self.place / f"{call}-{fault}.log"
        done = run(self.case.words, folder, LD_PRELOAD=INJECT, FAULT_AT=str(call), FAULT=fault, FAULT_LOG=str(log))
        reached = log.read_text() if log.exists() else "not reached"
        what = f"{self.name}: call {call} ({reached}) {fault}: "
        problem = self.look_at(folder, done, "unlink" if reached == "unlink" and fault != "kill" else fault)
        shutil.rmtree(folder)
        log.unlink(missing_ok=True)
        return what + problem if problem else ""

    def look_at(self, folder, done, fault):
        if done.returncode < 0 and fault != "kill":
            return f"ended by signal {-done.returncode}: {done.stderr.decode()}"
        now = steady_names(snapshot(folder))
        journal = any(name.endswith(".mrrope-journal") for name in now)
        if done.returncode == 0 and (now != self.new or journal):
            return "status 0, but the result is not complete"
        for name in sorted(set(now) | set(self.old) | set(self.new)):
            if journal and name in self.case.may_change:
                continue
            if self.left_over(name, fault) or (name == SCRIPT and name not in now):
                continue
            if now.get(name) != self.old.get(name) and not (self.may_change(name) and now.get(name) == self.new.get(name)):
                return f"{name} is neither as before nor as after"
        if journal:
            said = run(["inspect", self.case.words[1]], folder)
            if b"interrupted" not in said.stdout + said.stderr:
                return f"inspect does not tell of the interruption: {said.stderr.decode()}"
        again = run(self.case.words, folder)
        if again.returncode != 0:  # it had come so far that there is nothing left to do
            text = again.stderr.decode()
            gone = "|No such file" if self.name == "undo sidecar" else ""
            if not re.search("exists already|nothing to undo|already|extended before|the folder is not empty" + gone, text):
                return f"the same command fails: {text}"
        final = {name: value for name, value in steady_names(snapshot(folder)).items() if not self.left_over(name, fault) or "journal" in name}
        if again.returncode == 0 and final != self.new:
            return f"the same command ends elsewhere: {sorted(n for n in set(final) | set(self.new) if final.get(n) != self.new.get(n))}"
        return ""


def main():
    global MRROPE, INJECT  # pylint: disable=global-variable-undefined
    parser = argparse.ArgumentParser()
    parser.add_argument("mrrope")
    parser.add_argument("inject")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    MRROPE, INJECT = os.path.abspath(options.mrrope), os.path.abspath(options.inject)
    problems, total = [], 0
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in CASES:
            bench = Bench(name, pathlib.Path(place) / name)
            tries = [(call, fault) for i, fault in enumerate(FAULTS) for call in range(1 + i % options.every, bench.calls + 1, options.every)]
            found = [problem for problem in pool.map(lambda t, b=bench: b.try_fault(*t), tries) if problem]
            print(f"{name:<16} {bench.calls:>4} calls x {len(FAULTS)} faults: {len(tries):>5} tried, {len(found)} problems", flush=True)
            problems += found
            total += len(tries)
    print(f"{total} faults, {len(problems)} problems")
    print("\n".join(problems[:40]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
