#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The long proofs of docs/campaigns.md: what campaigns lose (nothing), hold (memory) and cost (time).

    PYTHONPATH=… MRROPE_BIN=… $(tools/engine_env ray) tools/campaign_study.py FOLDER            all of them
    …                                                 tools/campaign_study.py FOLDER kills jobs

PYTHONPATH has the package, and for `engines` transformers, as in `.ci/run campaign`. A part that is in FOLDER/study.jsonl is
not measured again.

| part | what |
|---|---|
| kills | a driver is killed 20 times at random and continued; records against an undisturbed run |
| nodes | llama-server on three nodes, of which one is removed, two workers and one server killed; the same |
| started | a cluster of two `ray start` processes |
| jobs | 10^5 jobs that do nothing: time, and the driver's memory |
| overhead | a campaign against the bare loop of the same commands, on one core |
"""
import argparse
import json
import os
import pathlib
import random
import resource
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/campaign"))
import campaigns  # noqa: E402
from campaigns import drive, driving, kill, records, servers_of, wait_for, workers, write  # noqa: E402

os.environ.update(campaigns.QUIET)
LONG = [{"kind": "niah", "samples": 2, "depths": 5}, {"kind": "ruler", "tasks": ["niah_single_1"], "samples": 10}]


def kills(folder):
    undisturbed, disturbed = write(folder, "undisturbed", measurements=LONG), write(folder, "killed", measurements=LONG)
    drive(undisturbed, "--local")
    expected = records(folder / "undisturbed")
    dice, done = random.Random(1), 0
    while done < 20:
        before = len(records(folder / "killed"))
        with driving(disturbed, "--local") as driver:
            # At a random moment after it has something new, so that twenty kills come to an end
            wait_for(lambda many=before: len(records(folder / "killed")) > many or driver.poll() is not None)
            if driver.poll() is not None:
                break
            time.sleep(dice.uniform(0, 1))
        done += 1
    drive(disturbed, "--local")
    return {"kills": done, "records": len(expected), "equal": records(folder / "killed") == expected}


def nodes(folder):
    from ray.cluster_utils import Cluster

    model = {"name": "tiny", "path": str(campaigns.TINY), "engine": "llama-server", "program": campaigns.llama_server(),
             "options": {"threads": 1, "parallel": 1, "no-cache-prompt": True}, "evaluate": {"concurrency": 1}}
    undisturbed = write(folder, "served", models=[model])
    drive(undisturbed, "--local")
    disturbed = write(folder, "nodes", models=[model], shards=2)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        running = [cluster.add_node(num_cpus=1) for _ in range(3)]
        with driving(disturbed, "--address", cluster.address) as driver:
            for _ in range(2):
                kill(next(iter(wait_for(lambda: workers(folder / "nodes")).values())))
                time.sleep(3)
            kill(wait_for(lambda: servers_of(folder / "nodes"))[0])
            cluster.remove_node(running[2])
            said = driver.communicate(timeout=1200)[0]
            assert driver.returncode == 0, said
    finally:
        cluster.shutdown()
    found, expected = ({(m, p, r["document_hash"]): r["answer"]["text"] for (m, p, _), r in records(folder / name).items()} for name in ("nodes", "served"))
    return {"records": len(expected), "same_records": found.keys() == expected.keys(),
            "same_answers": sum(found.get(key) == text for key, text in expected.items())}


def started(folder):
    ray = str(pathlib.Path(sys.executable).with_name("ray"))
    port = random.randint(20000, 40000)
    file = write(folder, "started")
    try:
        subprocess.run([ray, "start", "--head", "--num-cpus=0", f"--port={port}", "--include-dashboard=false"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([ray, "start", f"--address=127.0.0.1:{port}", "--num-cpus=2"], check=True, stdout=subprocess.DEVNULL)
        drive(file, "--address", f"127.0.0.1:{port}")
    finally:
        subprocess.run([ray, "stop", "--force"], stdout=subprocess.DEVNULL, check=False)
    return {"records": len(records(folder / "started"))}


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
    with place.held(campaign):
        progress = Progress(campaign, place)
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run_on_cluster(jobs_of(campaign), 0, place, os.environ["MRROPE_BIN"], progress, "local", nothing)
    total = progress.board.total()
    return {"jobs": total.done, "seconds": round(time.monotonic() - began, 1), "start_mb": before >> 10,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}


def overhead(folder):
    """Processor seconds, too: this machine has other work, and its clock shows that."""
    file = write(folder, "campaign", measurements=LONG)
    began, cpu = time.monotonic(), _child_seconds()
    drive(file, "--local")
    whole, whole_cpu = time.monotonic() - began, _child_seconds() - cpu
    bare, bare_cpu = 0.0, 0.0
    for log in sorted((folder / "campaign/logs/tiny").glob("*/*/*.txt")):
        words = shlex.split(log.read_text().splitlines()[0][2:])
        words[-1] = str(folder / "bare" / log.parent.parent.name / log.stem)
        pathlib.Path(words[-1]).parent.mkdir(parents=True, exist_ok=True)
        began, cpu = time.monotonic(), _child_seconds()
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        bare, bare_cpu = bare + time.monotonic() - began, bare_cpu + _child_seconds() - cpu
    return {"campaign_s": round(whole, 1), "bare_s": round(bare, 1), "campaign_cpu_s": round(whole_cpu, 1), "bare_cpu_s": round(bare_cpu, 1)}


def _child_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


PARTS = {"kills": kills, "nodes": nodes, "started": started, "jobs": jobs, "overhead": overhead}


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
            result = json.dumps({"part": part, "day": time.strftime("%Y-%m-%d"), **PARTS[part](asked.folder.resolve())})
            print(result, flush=True)
            with log.open("a", encoding="utf-8") as file:
                file.write(result + "\n")


if __name__ == "__main__":
    main()
