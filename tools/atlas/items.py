# SPDX-License-Identifier: MIT
"""What the tree keeps of a model's runs: every text and every sample under every plan, in some bytes each.

    DATA/MODEL/model.json       what the model is
    DATA/MODEL/runs.jsonl       every run: its words, machine, version with commit, and date; plans that share them on a line
    DATA/MODEL/columns.jsonl    which prompts a task has at a length, by the hash that records have
    DATA/MODEL/items.jsonl      per plan: of each text the sums of -ln p, of each prompt the score and -ln p of the right answer

Perplexities keep sums to 0.001 nats, answers three digits of -ln p: what `mrrope compare` says is computed from these numbers
and not from finer ones (expand.py), so that anybody who has the tree computes the same.
"""
import json

from . import READING

STRETCH = 2048  # tokens of one sum along a text: what "the last 2k" and the spread within a single text need
PLAN_OF_RUN = ("plan", "factor", "method")
HASH = 16  # digits of a prompt's hash: 64 bits


class Contradiction(Exception):
    """A cell was measured twice, with two results."""


def rounded(value, digits):
    """To so many significant digits, as short as it can be written."""
    return float(f"{value:.{digits}g}")


class Model:
    """All that is known of one model.

    readings   {(plan, factor, hash of the text): {"name": …, "nll": {length: sum}, "stretches": [sum, …]}}
    answers    {(measure, task, length, plan, factor): {hash of the prompt: (score, -ln p per token or None)}}
    """

    def __init__(self, name):
        self.name = name
        self.facts, self.runs = {}, []
        self.readings, self.answers = {}, {}

    def methods(self):
        """{(plan, factor): as `mrrope eval --methods` took it}."""
        return {(run["plan"], run["factor"]): run["method"] for run in self.runs}

    def add_reading(self, plan, factor, text, found):
        old = self.readings.setdefault((plan, factor, text), {"name": found["name"], "nll": {}, "stretches": []})
        for length, nll in found["nll"].items():
            if abs(old["nll"].setdefault(length, nll) - nll) > same_sum(length):
                raise Contradiction(f"{self.name}: {plan} x{factor:g} on {found['name']} at {length}: {old['nll'][length]}, now {nll}")
        if len(found["stretches"]) > len(old["stretches"]):
            old["stretches"] = found["stretches"]

    def add_answer(self, cell, prompt, score, nll):
        old = self.answers.setdefault(cell, {}).setdefault(prompt, (score, nll))
        if old[0] != score:
            raise Contradiction(f"{self.name}: {cell}, prompt {prompt}: score {old[0]}, now {score}")

    def columns(self):
        """{(measure, task, length): hashes of its prompts, sorted}."""
        found = {}
        for (measure, task, length, _, _), samples in self.answers.items():
            found.setdefault((measure, task, length), set()).update(samples)
        return {column: sorted(prompts) for column, prompts in found.items()}

    # ---- files

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        head = {"schema": "mrrope.atlas/1", "name": self.name, **self.facts}
        (folder / "model.json").write_text(json.dumps(head, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        write_lines(folder / "runs.jsonl", together(self.runs))
        columns = self.columns()
        write_lines(folder / "columns.jsonl", ({"measure": column[0], "task": column[1], "length": column[2], "prompts": columns[column]}
                                               for column in sorted(columns)))
        write_lines(folder / "items.jsonl", [*self._reading_lines(), *self._answer_lines(columns)])

    def _reading_lines(self):
        for (plan, factor, text), found in sorted(self.readings.items()):
            yield {"measure": READING, "plan": plan, "factor": factor, "text": found["name"], "hash": text,
                   "nll": [[length, found["nll"][length]] for length in sorted(found["nll"])], "stretches": found["stretches"]}  # fmt: skip

    def _answer_lines(self, columns):
        for (measure, task, length, plan, factor), samples in sorted(self.answers.items()):
            asked = [samples.get(prompt) for prompt in columns[measure, task, length]]
            yield {"measure": measure, "task": task, "length": length, "plan": plan, "factor": factor,
                   "scores": packed([None if one is None else one[0] for one in asked]),
                   "nll": [None if one is None else one[1] for one in asked]}  # fmt: skip

    @classmethod
    def read(cls, folder):
        head = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        model = cls(head["name"])
        model.facts = {key: value for key, value in head.items() if key not in ("schema", "name")}
        model.runs = read_runs(folder)
        columns = {(line["measure"], line["task"], line["length"]): line["prompts"] for line in read_lines(folder / "columns.jsonl")}
        for line in read_lines(folder / "items.jsonl"):
            if line["measure"] == READING:
                model.readings[line["plan"], line["factor"], line["hash"]] = {
                    "name": line["text"], "nll": dict(map(tuple, line["nll"])), "stretches": line["stretches"]}  # fmt: skip
                continue
            key = (line["measure"], line["task"], line["length"])
            samples = zip(columns[key], unpacked(line["scores"]), line["nll"], strict=True)
            model.answers[*key, line["plan"], line["factor"]] = {p: (score, nll) for p, score, nll in samples if score is not None}
        return model


def together(runs):
    """Lines of runs.jsonl: runs that differ in nothing but their plan are one."""
    lines = {}
    for run in sorted(runs, key=json.dumps):
        pairs = zip(["", *run["words"]], run["words"])
        words = ["PLAN" if before == "--methods" and word == run["method"] else word for before, word in pairs]
        shared = {**{key: value for key, value in run.items() if key not in PLAN_OF_RUN}, "words": words}
        lines.setdefault(json.dumps(shared), {**shared, "plans": []})["plans"].append([run[key] for key in PLAN_OF_RUN])
    return lines.values()


def read_runs(folder):
    runs = []
    for line in read_lines(folder / "runs.jsonl"):
        for values in line.pop("plans"):
            run = dict(zip(PLAN_OF_RUN, values))
            runs.append({**line, **run, "words": [run["method"] if word == "PLAN" else word for word in line["words"]]})
    return runs


def same_sum(length):
    """How far two measurements of a text may be apart and still say the same: the rounding of the sum, and 1e-6 nats a token
    for sums that were added in another order (docs/evaluation.md)."""
    return 0.001 + 1e-6 * length


def packed(scores):
    """"10-1" where answers are right or wrong ("-": not asked), else the list."""
    if all(score in (0, 1, None) for score in scores):
        return "".join("-" if score is None else str(int(score)) for score in scores)
    return scores


def unpacked(scores):
    return [None if score in ("-", None) else float(score) for score in scores]


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
