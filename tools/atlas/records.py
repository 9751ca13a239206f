# SPDX-License-Identifier: MIT
"""From run folders of `mrrope eval`, as campaigns lay them out, to the items of a model."""
import json
import os
import pathlib

from . import READING, ROOT
from .items import HASH, STRETCH, Model, rounded

NOT_SETTINGS = ("-o", "--output")


class Unusable(Exception):
    """A run that the atlas cannot take."""


def folders_of(paths):
    """Run folders at or below the paths. What a search for a plan read is no measurement of it."""
    for path in map(pathlib.Path, paths):
        found = [path] if (path / "run.json").is_file() else sorted(file.parent for file in path.rglob("run.json"))
        found = [folder for folder in found if "tuned" not in folder.relative_to(path).parts[:1]]
        if not found:
            raise Unusable(f"{path}: no run.json there or below it")
        yield from found


def names_of(folder):
    """(model, measure, plan) of a campaign's …/runs/MODEL/MEASURE/PLAN/SHARD; Nones elsewhere."""
    parts = folder.resolve().parts
    if len(parts) > 5 and parts[-5] == "runs":
        return parts[-4:-1]
    return None, None, None


def relative(word, data):
    """A word of a command line without this machine's folders."""
    if not word.startswith("/"):
        return word
    path = os.path.normpath(word)
    for name, base in (("$MRROPE_DATA", os.path.realpath(data)), (".", str(ROOT))):
        if path.startswith(base + "/"):
            return name + path[len(base):]
    raise Unusable(f"{word} is neither in MRROPE_DATA nor in the tree: others could not run it again")


def words_of(command, data):
    """The words after `mrrope eval`, for any machine, without the folder that was written."""
    words, skip = [], False
    for word in command[1:]:
        if skip or word in NOT_SETTINGS:
            skip = not skip
            continue
        words.append(relative(word, data))
    return words


def after(words, flag):
    return words[words.index(flag) + 1] if flag in words else None


def whole(number):
    return int(number) if number == int(number) else number


def describe(model, folder, info, kind):
    """Takes over what the run says of the model, and refuses a run that was measured in another way."""
    facts = {key: info[key] for key in ("model", "model_hash", "architecture", "context_trained", "engine")}
    settings = model.facts.get("settings", {})
    for old, new in ((model.facts, facts), (settings.get(kind, {}), info["settings"])):
        if changed := [f"{key} {new.get(key)}, not {old[key]}" for key in old if key != "settings" and old[key] != new.get(key)]:
            raise Unusable(f"{folder}: measured with {', '.join(changed)}; take another name for the model")
    model.facts = {**facts, "settings": {**settings, kind: info["settings"]}}


def add_run(models, folder, data):
    """Adds a run to the models, {name: Model}, and returns its model, which may be new."""
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    named, measure, plan_name = names_of(folder)
    name = named or pathlib.Path(info["model"]).stem
    model = models.setdefault(name, Model(name))
    kind = READING if info["task"] == READING else measure or info["task"]
    describe(model, folder, info, kind)
    words = words_of(info["command"], data)
    tasks, methods = {}, {}
    with open(folder / "records.jsonl", encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n"):
                break  # of a process that was killed
            record = json.loads(line)
            method, _, cache = record["method"].partition(":cache=")
            # A campaign gives long spellings a name; the factor is the extension that was asked for, of whatever table
            label = method if plan_name is None or ":" not in method else plan_name
            plan = label + (f":cache={cache}" if cache else "")
            factor = 1 if method == "none" else whole(float(after(words, "--factor") or record["factor"]))
            methods[plan, factor] = method
            tasks.setdefault((plan, factor), set()).add(record["task"])
            take(model, kind, plan, factor, record)
    for (plan, factor), method in methods.items():
        run = {"measure": kind, "plan": plan, "factor": factor, "method": method, "words": words}
        model.runs = [one for one in model.runs if any(one[key] != run[key] for key in run)]  # it may have grown since
        model.runs.append({**run, "tasks": sorted(tasks[plan, factor]), "machine": info["machine"], "version": info["version"],
                           "date": info["started"][:10]})  # fmt: skip
    return model


def take(model, measure, plan, factor, record):
    if answer := record.get("answer"):
        right = answer.get("right")
        nll = rounded(right["nll"] / right["tokens"], 3) if right else None
        cell = (measure, record["task"], answer["length"], plan, factor)
        model.add_answer(cell, record["document_hash"][:HASH], rounded(answer["score"], 6), nll)
        return
    for point in record["points"]:
        if point["predicted"] != point["length"] - 1:
            raise Unusable(f"{record['document']}: {point['predicted']} of {point['length']} tokens predicted")
    found = {"name": record["document"], "nll": {p["length"]: round(p["nll"], 3) for p in record["points"]},
             "stretches": stretches(record["bucket_nll"], record["bucket"])}  # fmt: skip
    model.add_reading(plan, factor, record["document_hash"][:HASH], found)


def stretches(sums, bucket):
    """Sums over the file's stretches as sums over longer ones."""
    together = STRETCH // bucket if bucket else 0
    return [round(sum(sums[at:at + together]), 3) for at in range(0, len(sums), together)] if together else []
