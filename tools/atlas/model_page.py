# SPDX-License-Identifier: MIT
"""The page of a model: every cell with its interval, and what it was measured with."""
from . import READING, ROOT, length_text, order
from .cells import shown

BASELINE = "yarn"  # the table that most people have: what engines run
NOVELS = ("bleak-house.md", "middlemarch.md", "moby-dick.md", "the-count-of-monte-cristo.md")
READ_IN_TRAINING = {"tiny-512": NOVELS, "lab-1024": NOVELS}  # tests/models/README.md; of other models nobody knows


def table(header, rows, numbers=1):
    """Markdown; all but the first `numbers` columns stand right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * numbers + "---:|" * (len(header) - numbers)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def heading(measure, factor):
    return f"{measure} x{factor:g}"


def anchor(measure, factor):
    return "#" + heading(measure, factor).replace(" ", "-").replace(".", "")


def baseline_of(plan):
    """A row with another type of cache stands beside the same plan without."""
    plain, _, cache = plan.partition(":cache=")
    return plain if cache else BASELINE


def row_of(values, lengths, value_text, difference_text):
    """A value and its difference to the baseline at each length."""
    for length in lengths:
        said = difference_text(length) if length in values else ""
        yield (value_text(values[length]) if length in values else "") + (f" ({said})" if said else "")


def answer_text(values):
    score, low, high, _ = values
    return f"{100 * score:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


def likelihood_text(values):
    return "" if values[3] is None else f"{values[3]:.3f}"


def reading_table(cells, factor):
    lengths = cells.lengths(READING, factor)
    rows, sources = [], set()
    for plan in cells.plans(READING, factor):
        values = cells.values(READING, factor, plan)
        last = values[max(values)][1]
        sources.update(row[2] for row in values.values())
        found = row_of(values, lengths, lambda row: f"{row[0]:.3f}",
                       lambda length: shown(cells.difference(READING, factor, plan, baseline_of(plan), length), " %"))  # fmt: skip
        rows.append([plan, *found, "" if last is None else f"{last:.3f}"])
    yield from table(["perplexity", *map(length_text, lengths), "last 2k"], rows)
    names, read = cells.texts(factor), READ_IN_TRAINING.get(cells.name, ())
    chapters = sum(name.endswith(".tex") for name in names)
    one = f"; the {chapters} .tex are chapters of one book and count as one, their mean" if chapters > 1 else ""
    yield from ("", f"{len(names)} texts ({', '.join(names)}) of {range_text(sources)} sources{one}. In round brackets the difference to "
                    f"{BASELINE}, on the same texts.")  # fmt: skip
    if cells.name not in READ_IN_TRAINING:
        yield from ("", "The model may have read them in its training: differences between plans count, perplexities less.")
    elif known := [name for name in names if name in read]:
        yield from ("", f"The model was trained on {' and '.join(known)}: differences between plans count, perplexities less.")


def answers_table(cells, measure, factor):
    lengths, tasks = cells.lengths(measure, factor), cells.tasks(measure, factor)
    hits, likelihoods = [], []
    for plan in cells.plans(measure, factor):
        for task in (None, *tasks):
            name, values = f"· {task}" if task else plan, cells.values(measure, factor, plan, task)
            where = (measure, factor, plan, baseline_of(plan))
            hits.append([name, *row_of(values, lengths, answer_text, lambda length: shown(cells.difference(*where, length, task)))])
            likelihoods.append([name, *row_of(values, lengths, likelihood_text,
                                              lambda length: shown(cells.likelihood(*where, length, task), digits=3))])  # fmt: skip
    yield from table(["percent found", *map(length_text, lengths)], hits)
    names = tasks or sorted({task for run in cells.runs if run["measure"] == measure for task in run["tasks"]})
    yield from ("", f"{' and '.join(names)}, {prompts_text(cells, measure, factor)}; in round brackets the difference to {BASELINE} in "
                    "points, on the same prompts.")  # fmt: skip
    if any(any(row[1:]) for row in likelihoods):
        yield from ("", *table(["-ln p of the right answers", *map(length_text, lengths)], likelihoods))
        yield from ("", "Nats a token; less is better.")


def prompts_text(cells, measure, factor):
    plans = cells.plans(measure, factor)
    counts = {found.count for length in cells.lengths(measure, factor) for plan in plans for other in plans
              if plan != other and (found := cells.difference(measure, factor, plan, other, length))}  # fmt: skip
    return f"{range_text(counts)} prompts a cell" if counts else "one plan"


def range_text(counts):
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def provenance(cells):
    def each(key):
        return ", ".join(sorted({str(run[key]) for run in cells.runs}))

    dates = sorted({run["date"] for run in cells.runs})
    settings = ", ".join(sorted({f"{key} {value}" for one in cells.facts["settings"].values() for key, value in one.items()}))
    facts = cells.facts
    yield f"{facts['model']} ({facts['architecture']}, trained for {cells.trained} tokens, content {facts['model_hash']})."
    yield f"{facts['engine']}, {settings}."
    yield f"{each('machine')}; mrrope {each('version')}, with its commit; {dates[0]}{'' if len(dates) == 1 else f' to {dates[-1]}'}."
    yield "Every run's words are in [runs.jsonl](runs.jsonl)."


def page(cells):
    lines = [f"# {cells.name}", "", *provenance(cells), "",
             "\\* a difference: for perplexity and -ln p, the 95 % interval excludes zero; for answers, p < 0.05 in the paired test, so that an",
             "interval may exclude zero without a star. ? no difference, but an interval wider than ± 5 % or ± 10 points: one that matters",
             "could have been missed. Square brackets: the interval of the value itself. All statistics are those of `mrrope compare`.",
             ""]  # fmt: skip
    for factor in cells.factors():
        lines += [f"## {factor:g} times the trained length", ""]
        campaign = ROOT / "campaigns" / "atlas" / f"{cells.name}-x{factor:g}.yaml"
        if campaign.is_file():
            lines += [f"[{campaign.name}](../../../../campaigns/atlas/{campaign.name})", ""]
        for measure, s in cells.measures():
            if s == factor:
                body = reading_table(cells, factor) if measure == READING else answers_table(cells, measure, factor)
                lines += [f"### {heading(measure, factor)}", "", *body, ""]
        lines += [*theory_table(cells, factor), ""]
    return "\n".join(lines).rstrip() + "\n"


def theory_table(cells, factor):
    said = cells.theory.get(f"{factor:g}", {})
    rows = [[plan, one["kind"], f"{one['drift']:.3g}", f"{one['unseen']:.3g}", str(one["bound"] or "none found")]
            for plan, one in sorted(said.items(), key=lambda item: order(item[0]))]  # fmt: skip
    return [f"### theory x{factor:g}", "", *table(["`mrrope analyze`", "kind", "drift, turns", "unseen, ratio", "bound, tokens"], rows, 2)]
