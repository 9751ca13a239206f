# SPDX-License-Identifier: MIT
"""Cells picked at random, measured again from scratch, and held against the tree.

On the machine and with the version of a run the numbers are the same but for what was rounded away: sums of -ln p within
same_sum(), scores equal, -ln p of right answers within one unit of their third digit. Elsewhere floating-point sums have another
order. Then a text may differ by the 0.0011 nats a token that two engines with other arithmetic differ by (docs/campaigns.md), and
of the answers one in twenty, or one, may fall to the other side: they were near things.
"""
import json
import random
import subprocess
import tempfile

from . import READING, ROOT
from .items import STRETCH, Model, same_sum
from .records import after, take

OTHER_ARITHMETIC = 0.0011  # nats a token
NEAR_THINGS = 0.05  # of the answers


def all_cells(model):
    """[(measure, task or None, length, plan, factor)]"""
    readings = {(READING, None, length, plan, factor) for (plan, factor, _), found in model.readings.items() for length in found["nll"]}
    return sorted(readings | set(model.answers), key=str)


def picked(models, count, seed):
    """Of all models together: [(model, cell)], as many as there are at most."""
    every = [(model, cell) for model in models for cell in all_cells(model)]
    return random.Random(seed).sample(every, min(count, len(every)))


def runs_of(model, cell):
    """The plain model is measured beside every extension, by commands with other lengths."""
    measure, task, length, plan, factor = cell
    return [run for run in model.runs if (run["measure"], run["plan"], run["factor"]) == (measure, plan, factor)
            and (task is None or task in run["tasks"]) and length in lengths_of(run)]  # fmt: skip


def lengths_of(run):
    words = (after(run["words"], "--lengths") or "").split(",")
    return [int(word[:-1]) * 1024 if word[-1] in "kK" else int(word) for word in words if word]


def absolute(word, data):
    if word.startswith("$MRROPE_DATA/"):
        return data + word.removeprefix("$MRROPE_DATA")
    return str(ROOT / word) if word.startswith("./") else word


def words_for(run, cell, data):
    """The words of a run, for one of its cells."""
    words = [absolute(word, data) for word in run["words"]]
    for flag, value in (("--methods", run["method"]), ("--lengths", str(cell[2])), ("--tasks", cell[1])):
        if value and flag in words:
            words[words.index(flag) + 1] = value
    return words


def measured_again(program, model, cell, data):
    """A Model with the cell alone, and whether this was the machine and the version of all of its runs."""
    measure, _, length, plan, factor = cell
    again, same = Model(model.name), True
    for run in runs_of(model, cell):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([program, "eval", *words_for(run, cell, data), "-o", folder], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(run['words'])}: {done.stderr.strip()}")
            with open(f"{folder}/run.json", encoding="utf-8") as file:
                info = json.load(file)
            if info["model_hash"] != model.facts["model_hash"]:
                raise RuntimeError(f"{after(run['words'], '-m')} is another model here")
            same = same and (info["machine"], info["version"], info["engine"]) == (run["machine"], run["version"], model.facts["engine"])
            with open(f"{folder}/records.jsonl", encoding="utf-8") as lines:
                for line in lines:
                    record = json.loads(line)
                    cached = record["method"].partition(":cache=")[2]
                    if cached == plan.partition(":cache=")[2]:
                        take(again, measure, plan, factor, record)
    return again, same


def disagreement(model, cell, again, same):
    """What does not agree, in words; empty: nothing."""
    if cell[0] == READING:
        return reading_disagreement(model, cell, again, same)
    found, stored = again.answers.get(cell, {}), model.answers[cell]
    if missing := stored.keys() ^ found.keys():
        return f"{len(missing)} prompts are not the same"
    if not same:
        other = [prompt for prompt in stored if stored[prompt][0] != found[prompt][0]]
        return f"{len(other)} of {len(stored)} answers fell to the other side" if len(other) > max(1, NEAR_THINGS * len(stored)) else ""
    other = [prompt for prompt in stored if not same_answer(stored[prompt], found[prompt])]
    return f"{len(other)} of {len(stored)} answers are not the same" if other else ""


def reading_disagreement(model, cell, again, same):
    _, _, length, plan, factor = cell
    within = same_sum(length) if same else OTHER_ARITHMETIC * length
    for (one, s, text), found in model.readings.items():
        if (one, s) != (plan, factor) or length not in found["nll"]:
            continue
        now = again.readings.get((plan, factor, text), {"nll": {}})["nll"].get(length)
        if now is None or abs(now - found["nll"][length]) > within:
            return f"{found['name']}: {found['nll'][length]} nats, now {now} (within {within:.3g})"
        if length == max(found["nll"]) and (said := other_stretch(found, again.readings[plan, factor, text], same)):
            return f"{found['name']}: {said}"
    return ""


def other_stretch(stored, again, same):
    """The stretches are sums of their own, of which "last 2k" is made."""
    within = same_sum(STRETCH) if same else OTHER_ARITHMETIC * STRETCH
    if len(stored["stretches"]) != len(again["stretches"]):
        return f"{len(stored['stretches'])} stretches, now {len(again['stretches'])}"
    for at, (one, other) in enumerate(zip(stored["stretches"], again["stretches"])):
        if abs(one - other) > within:
            return f"stretch {at}: {one} nats, now {other} (within {within:.3g})"
    return ""


def same_answer(one, other):
    """(score, -ln p) with three digits."""
    if one[0] != other[0] or (one[1] is None) != (other[1] is None):
        return False
    return one[1] is None or abs(one[1] - other[1]) <= 0.01 * max(abs(one[1]), abs(other[1]))
