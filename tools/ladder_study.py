#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the LiteLLM proxy makes of a ladder of servers: right rungs, latency, a killed server, memory (docs/ladder.md).

    tools/ladder_study.py build/release/mrrope -o build/ladder_study                   all of it
    tools/ladder_study.py build/release/mrrope -o build/ladder_study --only latency    one part

Rungs of 512, 1k, 2k and 8k tokens of the small model on llama-servers of one thread; for vLLM two. One line per request in
FOLDER/PART.jsonl; routing, the long part, asks nothing again that is there, so that a study that was stopped goes on. Prints
tables in Markdown.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "ladder"))
import gateway as g  # noqa: E402  pylint: disable=wrong-import-position

LENGTHS = (512, 1024, 2048, 8192)
RESERVE = 64
KINDS = [(path, stream) for path in (g.CHAT, g.TEXT) for stream in (False, True)]
WORDS = "the old house on the hill was empty but for a clock that went on and on through every night of that winter".split()


def text_of(tokens, seed="one"):
    """So many bytes of words; the same beginning for every length, so that servers find most of it in their caches."""
    chance = random.Random(f"text {seed}")
    words = []
    while sum(map(len, words)) + len(words) < tokens:
        words.append(chance.choice(WORDS))
    return " ".join(words).ljust(tokens)[:tokens]


def environment(name):
    """The python of tools/engine_env."""
    return pathlib.Path(subprocess.run([ROOT / "tools" / "engine_env", name], check=True, capture_output=True, text=True).stdout.strip())


class Study:
    def __init__(self, args):
        self.args = args
        self.folder = args.output
        self.litellm = environment("litellm").with_name("litellm")
        self.open = contextlib.ExitStack()
        self.rungs, self.gateways = [], {}

    def keep(self, process):
        self.open.callback(process.end)
        return process

    def serve(self):
        if not self.rungs:
            self.rungs = [self.keep(g.Rung(length, self.folder, self.args.mrrope)) for length in LENGTHS]
            for rung in self.rungs:
                rung.wait()
            self.around = {p: g.ask(self.rungs[0].url, p, g.body_of(p, "a", max_tokens=1)).prompt - 1 for p in (g.CHAT, g.TEXT)}
        return self.rungs

    def gateway(self, hook=True):
        if hook not in self.gateways:
            text = g.configuration(self.serve(), RESERVE, hook=hook)
            self.gateways[hook] = self.keep(g.gateway(self.folder / ("hooked" if hook else "plain"), text, self.litellm)).wait()
        return self.gateways[hook].url

    def body(self, path, prompt, seed="one", **more):
        return g.body_of(path, text_of(prompt - self.around[path], seed), **more)

    def lines(self, part):
        file = self.folder / f"{part}.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def write(self, part, row):
        with (self.folder / f"{part}.jsonl").open("a") as out:
            out.write(json.dumps(row) + "\n")
        return row


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print()


# ---------------------------------------------------------------------------------------------------------- right rungs


def case(index):
    """A request: every kind at every border, three tokens to each side, with and without a limit; the rest by chance."""
    chance = random.Random(f"ladder {index}")
    path, stream = KINDS[index % 4]
    near = [(border, off, limit) for border in LENGTHS for off in range(-3, 4) for limit in (1, 4, 16, None)]
    if index // 4 < len(near):
        border, off, limit = near[index // 4]
        prompt = border + off - (RESERVE if limit is None else limit)
    else:
        limit = chance.choice([1, 2, 8, 8, 100, 600, None])
        prompt = int(2 ** chance.uniform(6, 13.05))
    return {"index": index, "path": path, "stream": stream, "prompt": prompt, "limit": limit}


def expected(rungs, row):
    """The rung by the server's own count. Without a limit, the last rung gives what it has left."""
    if row["limit"] is not None:
        return g.rung_of(rungs, row["prompt"], row["limit"])
    return g.rung_of(rungs, row["prompt"], RESERVE) or g.rung_of(rungs[-1:], row["prompt"], 1)


def routing(study, part="routing", hook=True, count=None):
    rungs, url = study.serve(), study.gateway(hook)
    rows = study.lines(part)
    known = {row["index"] for row in rows}
    for index in range(count or study.args.prompts):
        if index in known:
            continue
        row = case(index)
        more = {"stop": ["e", " "]} if row["limit"] is None else {"max_tokens": row["limit"]}  # an answer without a limit ends soon
        answer = g.ask(url, row["path"], study.body(row["path"], row["prompt"], **more), row["stream"])
        row |= {"status": answer.status, "rung": answer.rung, "read": answer.prompt, "answered": answer.answer, "finish": answer.finish,
                "error": answer.error, "right": expected(rungs, row)}
        complete = row["limit"] is None or row["answered"] == row["limit"] or row["finish"] == "stop"
        if row["right"] is None:
            row["verdict"] = "refused" if row["status"] == 400 else "not refused"
        elif row["status"] != 200 or row["error"]:
            row["verdict"] = "error"
        elif row["read"] != row["prompt"]:
            row["verdict"] = "counted otherwise"
        else:
            row["verdict"] = "wrong rung" if row["rung"] != row["right"] else "right" if complete else "cut"
        rows.append(study.write(part, row))
    print(f"{len(rows)} requests, {'with the hook' if hook else 'fallbacks alone'}\n")
    names = ["right", "refused", "wrong rung", "cut", "error", "not refused", "counted otherwise"]
    count_of = collections.Counter()
    for row in rows:
        kind = ("chat" if row["path"] == g.CHAT else "completions") + (", streamed" if row["stream"] else "")
        for key in (f"rung {row['right']}" if row["right"] else "beyond the last", kind, "all"):
            count_of[key, row["verdict"]] += 1
    keys = list(dict.fromkeys(key for key, _ in sorted(count_of)))
    table(["requests", *names], [[key, *(count_of[key, name] for name in names)] for key in keys])


def plain(study):
    """The same requests without the hook: what fallbacks alone do."""
    routing(study, "plain", False, min(400, study.args.prompts))


# -------------------------------------------------------------------------------------------------------------- latency


def ratio(rows, name, base, what):
    """Median over the rounds of name/base, and its spread: tenth and ninetieth percentile."""
    found = sorted(row[name][what] / row[base][what] for row in rows)
    tenth = statistics.quantiles(found, n=10)
    return f"{statistics.median(found):.2f} ({tenth[0]:.2f} to {tenth[-1]:.2f})"


def latency(study):
    """Rounds of the same prompt, new to every server, asked of the server itself, of the gateway with the hook, and of the one
    without, where a refusal sends it up; the order by chance."""
    rungs = study.serve()
    urls = {"hook": study.gateway(), "fallback": study.gateway(False)}
    (study.folder / "latency.jsonl").unlink(missing_ok=True)
    rows = []
    for rung in rungs[:3]:
        for stream in (False, True):
            for round_ in range(-1, study.args.rounds):
                row = {"rung": rung.name, "stream": stream, "round": round_}
                ways = [("direct", rung.url), *urls.items()]
                random.Random(f"{rung.name} {round_}").shuffle(ways)
                for name, url in ways:
                    body = study.body(g.CHAT, rung.length - 32, f"{rung.name} {stream} {round_} {name}", max_tokens=16)
                    answer = g.ask(url, g.CHAT, body, stream)
                    assert answer.status == 200 and answer.rung in (None, rung.name), answer.error
                    row[name] = {"seconds": answer.seconds, "first": answer.first}
                if round_ >= 0:  # the first is for connections and caches of code
                    rows.append(study.write("latency", row))
    head = ["rung", "", "direct, ms", "hook, ms", "fallback, ms", "hook / direct", "fallback / direct"]
    body = []
    for rung in rungs[:3]:
        for stream, what in ((False, "seconds"), (True, "seconds"), (True, "first")):
            chosen = [row for row in rows if row["rung"] == rung.name and row["stream"] == stream]
            label = {False: "whole answer", True: "streamed"}[stream] + (", first line" if what == "first" else "")
            times = [f"{1000 * statistics.median(row[name][what] for row in chosen):.0f}" for name in ("direct", "hook", "fallback")]
            body.append([rung.name, label, *times, ratio(chosen, "hook", "direct", what), ratio(chosen, "fallback", "direct", what)])
    print(f"{study.args.rounds} rounds; ratios: median (10th to 90th percentile)\n")
    table(head, body)


# -------------------------------------------------------------------------------------------------------- a killed server


def kill(study):
    """Four clients; the second rung is killed (-9) among their requests, and started again. A client asks once more after a
    5xx or a stream that breaks off, as the OpenAI libraries do after a 5xx."""
    rungs, url = study.serve(), study.gateway()
    (study.folder / "kill.jsonl").unlink(missing_ok=True)
    dying = rungs[1]
    total, when, back = 200, 60, 140

    def send(i):
        if i == when:
            dying.kill()
        if i == back:
            dying.start()
            dying.wait()
        path, stream = KINDS[i % 4]
        row = {"index": i, "path": path, "stream": stream, "tries": []}
        for _ in range(2):
            answer = g.ask(url, path, study.body(path, 700 + i % 7, max_tokens=64), stream)
            row["tries"].append({"status": answer.status, "rung": answer.rung, "answered": answer.answer, "error": answer.error, "said": len(answer.text)})
            if answer.status == 200 and not answer.error:
                break
        return study.write("kill", row)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(send, range(total)))
    done = [row["tries"][-1] for row in rows]
    whole = sum(t["status"] == 200 and not t["error"] and t["answered"] == 64 for t in done)
    second = [row for row in rows if len(row["tries"]) > 1]
    by_rung = collections.Counter(t["rung"] for t in done)
    print(f"{total} requests of rung {dying.name}, four at a time; killed at {when}, started again at {back}: {whole} whole answers "
          f"({', '.join(f'{n} from {r}' for r, n in sorted(by_rung.items()))}); {len(second)} asked twice, all of them streams under way "
          f"at the kill: {sum(row['tries'][0]['said'] > 0 for row in second)} broke off after some text.\n")
    assert all(row["stream"] for row in second)


# -------------------------------------------------------------------------------------------------------------- climbing


def climb(study):
    """A conversation that grows by the same turn through three rungs, and the same on the longest rung alone: what is read
    anew, and the time of each turn."""
    rungs, url = study.serve(), study.gateway()
    (study.folder / "climb.jsonl").unlink(missing_ok=True)
    rows = []
    for way, address in (("ladder", url), ("longest alone", rungs[-1].url)):
        talk = [{"role": "system", "content": f"Seed {way}."}]
        for turn in range(24):
            talk.append({"role": "user", "content": text_of(60, f"turn {turn}")})
            body = {"model": "tiny", "messages": talk, "max_tokens": 8}
            answer = g.ask(address, g.CHAT, body)
            assert answer.status == 200, answer.error
            talk.append({"role": "assistant", "content": answer.text})
            rows.append(study.write("climb", {"way": way, "turn": turn, "rung": answer.rung or rungs[-1].name, "prompt": answer.prompt,
                                              "cached": answer.cached, "seconds": answer.seconds}))  # fmt: skip
    body, last = [], None
    for row in [row for row in rows if row["way"] == "ladder"]:
        if last and row["rung"] != last["rung"]:
            alone = next(r for r in rows if r["way"] == "longest alone" and r["turn"] == row["turn"])
            body.append([f"{last['rung']} to {row['rung']}", row["turn"] + 1, row["prompt"], row["prompt"] - row["cached"],
                         alone["prompt"] - alone["cached"], f"{row['seconds'] / last['seconds']:.1f}"])
        last = row
    read = {way: sum(row["prompt"] - row["cached"] for row in rows if row["way"] == way) for way in ("ladder", "longest alone")}
    table(["climb", "turn", "tokens", "read anew", "read anew without a climb", "time / turn before"], body)
    print(f"24 turns: {read['ladder']} tokens read on the ladder, {read['longest alone']} on the longest rung alone.\n")


# ---------------------------------------------------------------------------------------------------------------- memory


def proportional(pid, name):
    """MiB of a process's proportional set size: in all, of the file `name`, private."""
    total = of_file = private = 0
    inside = False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(name)
        elif line.startswith("Pss:"):
            total += int(line.split()[1])
            of_file += int(line.split()[1]) if inside else 0
        elif line.startswith(("Private_Clean:", "Private_Dirty:")):
            private += int(line.split()[1])
    return total / 1024, of_file / 1024, private / 1024


def memory(study):
    """One to three rungs over one file; weights large enough to see (SmolLM2), where they are."""
    (study.folder / "memory.jsonl").unlink(missing_ok=True)
    model = study.args.memory_model or g.MODEL
    trained = json.loads(subprocess.run([study.args.mrrope, "inspect", model, "--json"], check=True, capture_output=True, text=True).stdout)["context_trained"]
    size = model.stat().st_size / 2**20
    body = []
    with contextlib.ExitStack() as servers:
        rungs = []
        for factor in (1, 2, 4):
            rung = g.Rung(trained * factor, study.folder / "memory", study.args.mrrope, model, trained)
            servers.callback(rung.end)
            rungs.append(rung.wait())
            g.ask(rung.url, g.TEXT, g.body_of(g.TEXT, "Once upon a time", max_tokens=4))
            found = [proportional(one.process.pid, model.name) for one in rungs]
            row = {"file": model.name, "size": size, "rungs": [{"name": r.name, "pss": p, "of_file": f, "private": v} for r, (p, f, v) in zip(rungs, found)]}
            study.write("memory", row)
            body.append([" + ".join(r.name for r in rungs), f"{sum(f for _, f, _ in found):.0f}", " + ".join(f"{f:.0f}" for _, f, _ in found),
                         " + ".join(f"{v:.0f}" for _, _, v in found), f"{sum(p for p, _, _ in found):.0f}"])
    print(f"{model.name}, {size:.0f} MiB; proportional set size in MiB\n")
    table(["rungs", "weights, all rungs", "weights, each", "private, each (cache and buffers)", "in all"], body)


# ------------------------------------------------------------------------------------------------------------------ vLLM


class VllmRung(g.Process):
    """A rung of the folder that `mrrope ladder` wrote, by its start.sh, on a processor (tools/engine_env vllm_server)."""

    def __init__(self, folder, name, length, index):
        self.length, self.name = length, f"tiny-{name}"
        command = ["sh", "vllm/start.sh", name, "--dtype", "float32", "--enforce-eager"]
        path = f"{environment('vllm_server').parent}:{os.environ['PATH']}"
        super().__init__(command, folder.path / f"vllm-{name}.log", "/health", port=folder.port + 1 + index, cwd=folder.path, PATH=path,
                         VLLM_CPU_KVCACHE_SPACE="1", VLLM_CPU_OMP_THREADS_BIND="nobind", OMP_NUM_THREADS="1", VLLM_NO_USAGE_STATS="1",
                         HF_HUB_OFFLINE="1", TORCH_COMPILE_DISABLE="1")  # fmt: skip


def vllm(study):
    """Two rungs, 512 and 2k: two lengths to each side of the border, every kind, with a limit and without."""
    (study.folder / "vllm.jsonl").unlink(missing_ok=True)
    model = study.folder / "tiny"
    if not model.exists():
        subprocess.run([environment("gguf"), ROOT / "tests" / "engines" / "gguf_folder.py", g.MODEL, model], check=True)
    folder = g.Folder(study.args.mrrope, model, study.folder / "deploy", "--rungs", "512,2k", "--reserve", str(RESERVE))
    rungs = [study.keep(VllmRung(folder, name, length, i)) for i, (name, length) in enumerate((("512", 512), ("2k", 2048)))]
    for rung in rungs:
        rung.wait()
    around = {path: g.ask(rungs[0].url, path, g.body_of(path, "a", max_tokens=1)).prompt - 1 for path in (g.CHAT, g.TEXT)}
    written = (folder.path / "gateway" / "litellm.yaml").read_text()
    without = "".join(line for line in written.splitlines(True) if "callbacks:" not in line)
    count_of = collections.Counter()
    for hook in (True, False):
        proxy = study.keep(folder.gateway(study.litellm) if hook else g.gateway(study.folder / "vllm-plain", without, study.litellm)).wait()
        for path, stream in KINDS:
            for border in (512, 2048):
                for limit in (8, None):
                    for off in (-2, -1, 0, 1, 2):
                        row = {"hook": hook, "path": path, "stream": stream, "prompt": border + off - (limit or RESERVE), "limit": limit}
                        more = {"max_tokens": limit} if limit else {"stop": ["e", " "]}
                        answer = g.ask(proxy.url, path, g.body_of(path, text_of(row["prompt"] - around[path]), **more), stream)
                        row |= {"status": answer.status, "rung": answer.rung, "read": answer.prompt, "error": answer.error, "right": expected(rungs, row)}
                        if row["right"] is None:
                            row["verdict"] = "refused" if row["status"] == 400 else "not refused"
                        else:
                            row["verdict"] = "error" if row["status"] != 200 else "right" if row["rung"] == row["right"] else "wrong rung"
                        count_of[hook, study.write("vllm", row)["verdict"]] += 1
        proxy.end()
    names = ["right", "refused", "wrong rung", "error", "not refused"]
    table(["gateway", *names], [["hook" if hook else "fallbacks alone", *(count_of[hook, name] for name in names)] for hook in (True, False)])


PARTS = {"routing": routing, "plain": plain, "latency": latency, "kill": kill, "climb": climb, "memory": memory, "vllm": vllm}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mrrope", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="some of: " + ", ".join(PARTS))
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--memory-model", type=pathlib.Path, help="a larger .gguf for the part on memory")
    args = parser.parse_args()
    args.mrrope = args.mrrope.resolve()
    (args.output / "memory").mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers are killed on the way out
    study = Study(args)
    with study.open:
        for part in args.only.split(",") if args.only else PARTS:
            print(f"### {part}\n")
            PARTS[part](study)


if __name__ == "__main__":
    main()
