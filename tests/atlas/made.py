# SPDX-License-Identifier: MIT
"""Runs and atlases made up for tests: their numbers are chosen, so that what follows from them is known."""
import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

TRAINED = 512
FACTS = ("model", "model_hash", "architecture", "context_trained", "engine")
INFO = {"schema": "mrrope.run/1", "model": "made.gguf", "model_hash": "00ff", "architecture": "llama", "context_trained": TRAINED,
        "engine": "llama.cpp 0.5.0", "served": False, "version": "0.0.1", "machine": "a machine", "started": "2026-11-18T20:00:00Z",
        "settings": {"cache-type-k": "f16"}}  # fmt: skip
PLANS = {"none": (1, 9.0), "yarn": (4, 3.00), "yarn-rotations": (4, 3.20), "mrrope-pro": (4, 2.90)}  # nats a token beyond 512


def hash_of(number):
    return f"{number + 1:016x}{0:016x}"


def reading(method, text, lengths=(512, 2048)):
    """A document's record; every text is harder than the one before, under every plan alike."""
    factor, loss = PLANS[method]
    points = [{"length": length, "predicted": length - 1, "nll": (length - 1) * (loss + 0.1 * text + 0.003 * (text % 3))}
              for length in lengths]  # fmt: skip
    return {"schema": "mrrope.record/1", "key": f"{method}{text}", "task": "ppl", "method": method, "factor": factor,
            "document": f"text-{text}.txt", "document_hash": hash_of(text), "points": points, "bucket": 256,
            "bucket_nll": [256 * loss] * (lengths[-1] // 256), "kl_tokens": 0, "kl": 0, "inv_freq": [1.0], "attention_scale": 1,
            "seconds": 1}  # fmt: skip


def answer(method, sample, score, nll, task="niah", length=2048):
    return {"schema": "mrrope.record/1", "key": f"{method}{task}{length}{sample}", "task": task, "method": method,
            "factor": PLANS[method][0], "document": task, "document_hash": hash_of(sample), "seconds": 1,
            "answer": {"length": length, "index": sample, "depth": 0.5, "prompt_tokens": length, "new_tokens": 3, "text": "7",
                       "finish": "stop", "references": ["7"], "score": score, "right": {"nll": 4 * nll, "tokens": 4}}}  # fmt: skip


def write_run(folder, records, *words):
    folder.mkdir(parents=True)
    command = ["/usr/bin/mrrope-eval", *words, "--factor", "4", "-o", str(folder)]
    (folder / "run.json").write_text(json.dumps({**INFO, "task": words[0], "command": command}))
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def runs(folder, better="mrrope-pro"):
    """Folders as a campaign lays them out: eight texts, twenty needles that `better` finds and others mostly do not."""
    place = folder / "made-x4" / "runs" / "made"
    model = str(ROOT / "tests" / "models" / "tiny-512.gguf")
    for method in PLANS:
        write_run(place / "ppl" / method / "0-of-1", [reading(method, text) for text in range(8)],
                  "ppl", "-m", model, "--methods", method, "--lengths", "512,2048")  # fmt: skip
        found = [answer(method, sample, int(method == better or sample < 5), 0.1 if method == better else 0.7 + 0.01 * sample)
                 for sample in range(20)]  # fmt: skip
        write_run(place / "needles" / method / "0-of-1", found,
                  "niah", "-m", model, "--methods", method, "--lengths", "2048", "--samples", "20")  # fmt: skip
    return folder / "made-x4"


def copy_of_tree(folder):
    """tools, campaigns and what they make, where tests may change them."""
    for part in ("tools/atlas", "campaigns/atlas", "docs/results"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "src/plan").mkdir(parents=True)
    for part in ("tools/atlas.py", "tools/gap_study.py", "src/plan/evidence_table.h"):
        shutil.copy(ROOT / part, folder / part)
    return folder


def atlas_folder(folder, readings, answers=(), theory=None, factor=4, name="made", too_few=False, count=8, width=0.02, length=2048):
    """DATA/MODEL by hand. readings: {(plan, against): [ratio, differs]}; answers: the same in points, "needles". `width`: of intervals
    over their value."""
    place = folder / name
    place.mkdir(parents=True)
    head = {"schema": "mrrope.atlas/1", "name": name, **{key: INFO[key] for key in FACTS}, "settings": {}}
    (place / "model.json").write_text(json.dumps(head))
    (place / "runs.jsonl").write_text("")
    (place / "theory.json").write_text(json.dumps({f"{factor:g}": theory or {}}))
    lines, plans = [], sorted({plan for pair in (*readings, *dict(answers)) for plan in pair})
    for measure, pairs in (("ppl", readings), ("needles", dict(answers))):
        for plan in plans if pairs else ():
            values = [[length, 10.0, 10.0, count]] if measure == "ppl" else [[length, 0.5, 0.4, 0.6, 0.3]]
            lines.append({"measure": measure, "factor": factor, "plan": plan, "task": None, "values": values})
        for (plan, against), (value, differs) in pairs.items():
            row = [length, count, value, *sorted(((1 - width / 2) * value, (1 + width / 2) * value)), differs, too_few]
            row += [] if measure == "ppl" else [0.0, -0.1, 0.1, False]
            lines.append({"measure": measure, "factor": factor, "plan": plan, "against": against, "task": None, "differences": [row]})
    (place / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place
