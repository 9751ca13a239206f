#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The long proofs of docs/campaigns.md: what campaigns lose (nothing), hold (memory) and cost (time).

    PYTHONPATH=… MRROPE_BIN=… $(tools/engine_env ray) tools/campaign_study.py FOLDER            all of them
    …                                                 tools/campaign_study.py FOLDER kills jobs

PYTHONPATH has the package, and for `transformers` that engine, as in `.ci/run campaign`. A part that is in
FOLDER/study.jsonl is not measured again.

| part | what |
|---|---|
| llama-server, vllm, transformers | three plans, two measurements, three nodes: two workers, a server, a node lost |
| kills | a driver on a cluster is killed 20 times at random and continued; the same |
| started | a cluster of two `ray start` processes; the same |
| tuned | a plan that is searched for, and then measured |
| jobs | 10^5 jobs that do nothing: time, and the driver's memory |
| overhead | what a campaign adds to the time of the measurements that it starts, one after the other |
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import resource
import shlex
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/campaign"))
import campaigns  # noqa: E402
from campaigns import LONG, cluster_of, disturb, drive, driving, records, servers_of, wait_for, write  # noqa: E402

os.environ.update(campaigns.QUIET)
# Minutes of work, for what is about time or about many kills
LONGER = [{"kind": "niah", "samples": 6, "depths": 5}, {"kind": "ruler", "tasks": ["niah_single_1"], "samples": 30}]


def compared(found, expected):
    """Whole records where the engine repeats itself to the last bit, else by sample and by answer."""
    def answers(one):
        return {(m, p, r["document_hash"]): r["answer"]["text"] for (m, p, _), r in one.items()}

    theirs, ours = answers(found), answers(expected)
    return {"records": len(expected), "equal_records": sum(found.get(key) == value for key, value in expected.items()),
            "same_samples": theirs.keys() == ours.keys() and len(found) == len(expected),
            "equal_answers": sum(theirs.get(key) == text for key, text in ours.items())}  # fmt: skip


def lost(folder, model, served, seconds, measurements=LONG):
    """Nodes, workers and a server, while the model is measured under three plans."""
    began = time.monotonic()
    undisturbed = write(folder, "undisturbed", models=[model], measurements=measurements)
    drive(undisturbed, "--local", seconds=10 * seconds)
    alone = time.monotonic() - began
    file = write(folder, "disturbed", models=[model], measurements=measurements)
    with cluster_of(3) as cluster:
        began = time.monotonic()
        with driving(file, "--address", cluster.address) as driver:
            disturb(cluster, driver, folder / "disturbed", served, seconds)
            said = driver.communicate(timeout=10 * seconds)[0]
            assert driver.returncode == 0, said
    return {**compared(records(folder / "disturbed"), records(folder / "undisturbed")), "alone_s": round(alone),
            "disturbed_s": round(time.monotonic() - began), "servers_left": len(servers_of(folder / "disturbed"))}


def llama_server(folder):
    return lost(folder, campaigns.llama_server_model(), True, 120)


def vllm(folder):
    return lost(folder, campaigns.vllm_model(campaigns.hugging_face_folder(folder / "hf")), True, 600)


def transformers(folder):
    """Fewer samples: its answers take ten times as long, and its start is long enough to be disturbed."""
    model = campaigns.transformers_model(campaigns.hugging_face_folder(folder / "hf"))
    few = [{"kind": "niah", "depths": 3}, {"kind": "ruler", "tasks": ["niah_single_1"], "samples": 2}]
    return lost(folder, model, False, 300, few)


def kills(folder):
    undisturbed, disturbed = (write(folder, name, measurements=LONGER) for name in ("undisturbed", "killed"))
    drive(undisturbed, "--local")
    expected = records(folder / "undisturbed")
    dice, at = random.Random(1), []
    with cluster_of(2) as cluster:
        while len(at) < 20:
            before = len(records(folder / "killed"))
            with driving(disturbed, "--address", cluster.address) as driver:
                if len(at) % 2:  # every other one at any moment, also while it starts
                    time.sleep(dice.uniform(0, 10))
                else:
                    wait_for(lambda many=before: len(records(folder / "killed")) > many, driver)
                    time.sleep(dice.uniform(0, 1))
                assert driver.poll() is None, driver.communicate()[0]
            at.append(len(records(folder / "killed")))
        drive(disturbed, "--address", cluster.address)
    return {"kills": len(at), "records_at_kills": at, **compared(records(folder / "killed"), expected)}


def started(folder):
    drive(write(folder, "undisturbed"), "--local")
    port = random.randint(20000, 30000)
    ray = str(pathlib.Path(sys.executable).with_name("ray"))
    file = write(folder, "started")
    with contextlib.ExitStack() as nodes:
        for words in (["--head", "--num-cpus=0", f"--port={port}", "--include-dashboard=false"],
                      [f"--address=127.0.0.1:{port}", "--num-cpus=2"]):  # fmt: skip
            nodes.enter_context(_started([ray, "start", "--block", "--object-store-memory=80000000", *words], folder))
        drive(file, "--address", f"127.0.0.1:{port}")
    return compared(records(folder / "started"), records(folder / "undisturbed"))


@contextlib.contextmanager
def _started(words, folder):
    """Up, or tried again: Ray gives a node 30 s. It alone ends with the block; `ray stop` ends those of others, too."""
    log = folder / "ray.txt"
    for _ in range(3):
        with log.open("w") as out:
            node = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
        while node.poll() is None and "Ray runtime started" not in log.read_text():
            time.sleep(0.2)
        if node.poll() is None:
            break
    assert node.poll() is None, log.read_text()
    try:
        yield
    finally:
        os.killpg(node.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            node.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)


def tuned(folder):
    plans = ["yarn", {"tune": {"minutes": 2}}]
    drive(write(folder, "tuned", plans=plans), "--local")
    found = records(folder / "tuned")
    plan = json.loads((folder / "tuned/plans/tiny/tuned.json").read_text())
    scores = {name: [record["answer"]["score"] for (_, p, _), record in found.items() if p == name]
              for name in ("yarn", "tuned")}  # fmt: skip
    return {"plan": plan["method"], **{name: f"{sum(all_):g} of {len(all_)}" for name, all_ in scores.items()}}


def nothing(job, path, mrrope):
    """A job that does nothing."""
    del job, path, mrrope
    return 0.0


def jobs(folder):
    from mrrope.campaign.cluster import run_on_cluster
    from mrrope.campaign.file import read_campaign
    from mrrope.campaign.folder import Folder
    from mrrope.campaign.jobs import jobs_of
    from mrrope.campaign.progress import Progress

    campaign = read_campaign(str(write(folder, "many", plans=["yarn"], shards=100_000)))
    place = Folder(campaign.output)
    with place.held(campaign), (folder / "said.txt").open("w") as said, contextlib.redirect_stderr(said):
        progress = Progress(campaign, place)
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run_on_cluster(jobs_of(campaign), 0, place, os.environ["MRROPE_BIN"], progress, "local", nothing)
    total = progress.board.total()
    return {"jobs": total.done, "failed": total.failed, "seconds": round(time.monotonic() - began, 1),
            "start_mb": before >> 10, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}


def overhead(folder):
    """What a campaign adds to the measurements that it starts, in one and the same run: rounds of minutes differ by more."""
    program = os.environ["MRROPE_BIN"]
    spent = folder / "spent.txt"
    timed = folder / "timed"
    timed.write_text(f"""#!/bin/sh
[ "$1" = eval ] || exec {shlex.quote(program)} "$@"
began=$(date +%s%N)
{shlex.quote(program)} "$@"
status=$?
echo $(($(date +%s%N) - began)) >>{shlex.quote(str(spent))}
exit $status
""")
    timed.chmod(0o755)
    rounds = []
    for one in range(3):
        spent.write_text("")
        began = time.monotonic()
        os.environ["MRROPE_BIN"] = str(timed)
        drive(write(folder, f"campaign-{one}", measurements=LONGER), "--local")
        os.environ["MRROPE_BIN"] = program
        whole = time.monotonic() - began
        runs = [int(line) / 1e9 for line in spent.read_text().split()]
        rounds.append({"campaign_s": round(whole, 1), "measuring_s": round(sum(runs), 1), "runs": len(runs),
                       "more": f"{100 * (whole / sum(runs) - 1):+.1f} %", "load": round(os.getloadavg()[0], 1)})  # fmt: skip
        print(rounds[-1], file=sys.stderr, flush=True)
    return {"rounds": rounds}


PARTS = {"llama-server": llama_server, "vllm": vllm, "transformers": transformers, "kills": kills, "started": started,
         "tuned": tuned, "jobs": jobs, "overhead": overhead}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    log = asked.folder / "study.jsonl"
    done = {json.loads(line)["part"] for line in log.read_text().splitlines()} if log.exists() else set()
    for part in asked.parts:
        if part not in done:
            folder = asked.folder.resolve() / part
            folder.mkdir(exist_ok=True)
            result = json.dumps({"part": part, "day": time.strftime("%Y-%m-%d"), **PARTS[part](folder)})
            print(result, flush=True)
            with log.open("a", encoding="utf-8") as file:
                file.write(result + "\n")


if __name__ == "__main__":
    main()
