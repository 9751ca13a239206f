# SPDX-License-Identifier: MIT
"""Runs with known numbers, written without the program that reads them."""
import json
import math
import random

PLANS = [("none", 1.0), ("yarn", 4.0), ("mrrope-pro", 4.0)]
LENGTHS = [512, 1024, 2048]
PAIRS = 16
HOSTILE = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>\u2028&\"'`${window.pwned = 3}"


def write_run(folder, task, records, model="model.gguf", command=(), trained=512, settings=None):
    folder.mkdir(parents=True)
    info = {"schema": "mrrope.run/1", "task": task, "model": model, "model_hash": "ab" * 16, "architecture": "llama",
            "context_trained": trained, "engine": "llama.cpp 0.5.0", "served": False, "version": "0.1.0", "machine": "a processor",
            "started": "2026-01-01T00:00:00Z", "settings": settings or {"flash-attn": "on"}, "command": list(command)}
    (folder / "run.json").write_text(json.dumps(info))
    with open(folder / "records.jsonl", "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")
    return folder


def ppl_records(texts=5, seed=1, name="text-", plans=tuple(PLANS)):
    rng = random.Random(seed)
    base = [10000 ** (-i / PAIRS) for i in range(PAIRS)]
    for text in range(texts):
        level = 1.2 + 0.3 * rng.random()
        for method, factor in plans:
            nll = []
            for bucket in range(LENGTHS[-1] // 256):
                beyond = max(0, bucket - 1) * (0.35 if method == "none" else 0.0)
                cost = {"none": 0.0, "yarn": 0.03}.get(method, 0.02)
                nll.append((255 if bucket == 0 else 256) * (level + beyond + cost + 0.02 * rng.random()))
            points = [{"length": n, "predicted": n - 1, "nll": math.fsum(nll[: n // 256])} for n in LENGTHS]
            slow = [1 if i < 5 else factor if i > 11 else factor ** ((i - 5) / 6) for i in range(PAIRS)]
            yield {"schema": "mrrope.record/1", "key": f"ppl {text} {method} {factor}", "task": "ppl", "method": method,
                   "factor": factor, "document": f"{name}{text}", "document_hash": f"{text:032x}", "points": points,
                   "bucket": 256, "bucket_nll": nll, "kl_tokens": 512, "kl": 512 * (0.0 if method == "none" else 0.01),
                   "inv_freq": [t / s for t, s in zip(base, slow)], "attention_scale": 1.0, "seconds": 1.5}


def tune_file(found="mrrope-power:p=1.5", label="tuned-0a53", tables=30, seed=3):
    """tune.json of a search: three fixed methods, then one found table after the other, the lowest of them the tuned one."""
    rng = random.Random(seed)
    search = []
    for i, name in enumerate(["yarn", "mrrope-pro", "ntk"] + [f"{found}:low={n}" for n in range(tables)]):
        within, beyond = 1.5 + 0.04 * rng.random(), 2.25 + 0.08 * rng.random() + (0.5 if name == "ntk" else 0)
        search.append({"method": name, "fixed": i < 3, "tokens": 40000 * (i + 1), "within": within, "beyond": beyond,
                       "objective": (within + beyond) / 2})
    for table in search:
        table["front"] = not any(o["within"] <= table["within"] and o["beyond"] <= table["beyond"] and o is not table for o in search)
    tuned = min(search, key=lambda t: t["objective"])
    fixed = min(search[:3], key=lambda t: t["objective"])
    assert tuned is not fixed
    verdict = [{"against": against, "metric": metric, "difference": d, "low": d - half, "high": d + half, "items": 6,
                "better": better, "worse": False}
               for against in ("yarn", "mrrope-pro", "ntk") for metric, d, half, better in (
                   ("ppl_long", -0.031, 0.006, True), ("ppl_short", -0.002, 0.004, False), ("answer_nll", -0.03, 0.018, True),
                   ("score", 0.016, 0.023, False))]
    return {"schema": "mrrope.tune/1", "model": "model.gguf", "model_hash": "ab" * 16, "context_trained": 512, "context": 2048,
            "read_tokens": 2048, "prefer": "balanced", "built_in_texts": False, "held_out_texts": 6, "held_out_prompts": 32,
            "plan": {}, "tuned": tuned["method"], "label": label, "best_fixed": fixed["method"], "evaluations": 3 * tables,
            "tokens": 40000 * (tables + 10), "search": search, "verdict": verdict, "recommended": "tuned"}


def needle_records(samples=6, depths=5, seed=2, task="niah", text="42", plans=tuple(PLANS)):
    rng = random.Random(seed)
    for length in LENGTHS:
        for depth in range(depths):
            for i in range(samples):
                index = depth * samples + i
                luck = rng.random()
                for method, factor in plans:
                    chance = {"none": 1.0 if length <= 512 else 0.1, "yarn": 0.7}.get(method, 0.95)
                    answer = {"length": length, "index": index, "depth": min(1.0, depth / (depths - 1) + 0.01 * rng.random()),
                              "asked_depth": depth / (depths - 1),
                              "prompt_tokens": length - 30, "new_tokens": 8, "text": text, "finish": "stop", "references": ["42"],
                              "score": float(luck < chance), "rotation": "00112233445566aa"}
                    yield {"schema": "mrrope.record/1", "key": f"{task} {length} {index} {method}", "task": task,
                           "method": method, "factor": factor, "document": f"sample {index}",
                           "document_hash": f"{task} {length} {index}", "answer": answer, "seconds": 0.5}
