# SPDX-License-Identifier: MIT
"""Verdicts: what `mrrope compare --json` says of the items in the tree. No statistic is computed here.

    DATA/MODEL/verdicts.jsonl   per measure, extension and plan a line of values, per pair of plans a line of differences

A measure and an extension are laid out as a run folder, with what `compare` reads and nothing else, and compared once for
every plan as the baseline.
"""
import json
import pathlib
import subprocess
import tempfile
from statistics import fmean

from . import READING, order, plan_text, source_of
from .items import STRETCH, rounded, write_lines

DIGITS = 5
RUN = {"schema": "mrrope.run/1", "served": False, "version": "", "machine": "", "started": "", "command": []}
ANSWER = {"index": 0, "depth": -1, "prompt_tokens": 0, "new_tokens": 1, "text": ".", "finish": "stop", "references": []}
RECORD = {"schema": "mrrope.record/1", "seconds": 0}


def extensions(model, measure):
    """The factors that a measure has, {factor: {(plan, factor)}}; each with the plain model, which has none of its own."""
    if measure == READING:
        found = {(plan, factor) for plan, factor, _ in model.readings}
    else:
        found = {(plan, factor) for name, _, _, plan, factor in model.answers if name == measure}
    plain = {one for one in found if one[1] == 1}
    factors = sorted({factor for _, factor in found} - {1})
    return {factor: plain | {one for one in found if one[1] == factor} for factor in factors}


def measures(model):
    return ([READING] if model.readings else []) + sorted({cell[0] for cell in model.answers})


def by_source(model, plans):
    """{source: {(plan, factor): {length: {text: its sum}}}}"""
    found = {}
    for (plan, factor, text), read in model.readings.items():
        if (plan, factor) in plans:
            lengths = found.setdefault(source_of(read["name"]), {}).setdefault((plan, factor), {})
            for length, nll in read["nll"].items():
                lengths.setdefault(length, {})[text] = nll
    return found


def reading_records(model, plans):
    """A record per source, the mean of those texts that all plans have read: parts of one source resemble each other, so `compare`
    must not count them as many. Lengths are those of the extension: the plain model may have been measured on more."""
    for source, of_plans in sorted(by_source(model, plans).items()):
        wanted = sorted({length for (_, factor), lengths in of_plans.items() if factor != 1 for length in lengths})
        texts = {length: set.intersection(*(set(lengths[length]) for lengths in of_plans.values() if length in lengths)) for length in wanted}
        name = min(text for lengths in of_plans.values() for read in lengths.values() for text in read)
        for (plan, factor), lengths in sorted(of_plans.items()):
            points = [{"length": length, "predicted": length - 1, "nll": fmean(lengths[length][text] for text in texts[length])}
                      for length in wanted if length in lengths and texts[length]]  # fmt: skip
            if points:
                stretches = zip(*(model.readings[plan, factor, text]["stretches"] for text in texts[points[-1]["length"]]))
                yield {**RECORD, "task": READING, "method": plan, "factor": factor, "document": source, "document_hash": name,
                       "points": points, "bucket": STRETCH, "bucket_nll": [fmean(stretch) for stretch in stretches], "kl_tokens": 0,
                       "kl": 0, "inv_freq": [], "attention_scale": 1}  # fmt: skip


def answer_records(model, measure, plans):
    """Prompts, likewise."""
    cells = {cell: samples for cell, samples in model.answers.items() if cell[0] == measure and cell[3:] in plans}
    asked = {}
    for (_, task, length, _, factor), samples in cells.items():
        if factor != 1:
            asked.setdefault((task, length), set()).update(samples)
    for (_, task, length, plan, factor), samples in sorted(cells.items()):
        for prompt, (score, nll) in sorted(samples.items()):
            if prompt not in asked.get((task, length), ()):
                continue
            answer = {**ANSWER, "length": length, "score": score}
            if nll is not None:
                answer["right"] = {"nll": nll, "tokens": 1}
            yield {**RECORD, "task": task, "method": plan, "factor": factor, "document": "", "document_hash": prompt, "answer": answer}


def lay_out(folder, model, measure, plans):
    """A run folder with these plans' items. True: there are some."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    info = {**RUN, **model.facts, "settings": model.facts["settings"].get(measure, {}), "task": measure}
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    records = list(reading_records(model, plans) if measure == READING else answer_records(model, measure, plans))
    write_lines(folder / "records.jsonl", ({**record, "key": str(at)} for at, record in enumerate(records)))
    return bool(records)


def compared(program, folder, *options):
    done = subprocess.run([program, "compare", folder, "--json", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"mrrope compare: {done.stderr.strip()}")
    return json.loads(done.stdout)


def short(value):
    return rounded(value, DIGITS) if isinstance(value, float) else value


def value_rows(said):
    """{(plan as compare calls it, task or None): [[length, value, …], …]}."""
    rows = {}
    for one in said.get("perplexities", ()):
        rows.setdefault((one["plan"], None), []).append([one["length"], short(one["ppl"]), short(one["last_2k_ppl"]), one["documents"]])
    for one in said.get("scores", ()):
        cells = [short(one[key]) for key in ("score", "low", "high", "answer_nll")]
        rows.setdefault((one["plan"], one["task"]), []).append([one["length"], *cells])
    return rows


def pair_rows(said):
    """The same of differences to the baseline; where both have nothing in common, or no interval, there is no row."""
    rows = {}
    for one in said["comparisons"]:
        if "documents" in one:
            if None not in (one["low"], one["high"]):  # a single short text has no spread, and says nothing
                cells = [short(one[key]) for key in ("documents", "ratio", "low", "high", "differs", "too_few")]
                rows.setdefault((one["plan"], None), []).append([one["length"], *cells])
        elif one["samples"]:
            nll = one["answer_nll"]
            cells = [short(one[key]) for key in ("samples", "difference", "low", "high", "differs", "too_few")]
            cells += [short(nll[key]) for key in ("difference", "low", "high", "differs")]
            rows.setdefault((one["plan"], one["task"]), []).append([one["length"], *cells])
    return rows


def verdicts(model, program):
    """The lines of verdicts.jsonl."""
    with tempfile.TemporaryDirectory() as temporary:
        for measure in measures(model):
            for factor, plans in extensions(model, measure).items():
                folder = f"{temporary}/{measure}-{factor:g}"
                if lay_out(folder, model, measure, plans):
                    yield from of_group(program, folder, measure, factor, sorted(plans, key=lambda one: order(one[0])))


def of_group(program, folder, measure, factor, plans):
    names = {plan_text(*plan): plan[0] for plan in plans}
    by_task = [] if measure == READING else ["--by", "task"]
    for at, baseline in enumerate(plans):
        said = compared(program, folder, "--baseline", plan_text(*baseline), *by_task)
        head = {"measure": measure, "factor": factor}
        if at == 0:
            for (plan, task), rows in value_rows(said).items():
                yield {**head, "plan": names[plan], "task": task, "values": rows}
        later = [one[0] for one in plans[at + 1:]]
        for (plan, task), rows in pair_rows(said).items():
            if names[plan] in later:
                yield {**head, "plan": names[plan], "against": baseline[0], "task": task, "differences": rows}
