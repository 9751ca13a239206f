#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares ways of searching for a table, on losses of a real model: best loss against tokens spent.

    python=$(tools/engine_env search)
    "$python" tools/tune_study.py run build/release/tune_driver tests/models/tiny-512.gguf 2048 TEXT losses.jsonl
    "$python" tools/tune_study.py table losses.jsonl…
    "$python" tools/tune_study.py held-out build/release/tune_driver tests/models/tiny-512.gguf 2048 OTHER_TEXT losses.jsonl…

Every loss is recorded once, by method and item, and taken from the record afterwards: a run that was interrupted goes on,
and a way that is changed costs only what is new. Tokens are counted as if nothing had been recorded. All ways search the
same cube (mrrope/tune.h) for the same mean over the same items, and all of them measure the fixed methods first. `knots` and
`critical` search other shapes of the table, with BOBYQA, too. `longrope` is the genetic search of LongRoPE (arXiv 2402.13753),
by its paper: one factor per pair, perplexity of the texts alone, 64 tables and 40 rounds of 32.
"""
import argparse
import json
import math
import pathlib
import subprocess
import statistics
import warnings

FIXED = ("yarn", "mrrope-pro", "mrrope-uni", "ntk", "yarn-rotations")
EVALUATIONS = 25  # of all items: what the budget of a way pays for, the fixed methods included


class Spent(Exception):
    """The budget of a way is used up."""


class Driver:
    """tune_driver: a line for a line."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([str(a) for a in arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[1]} ended early")
        return line.split()

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.read()


class Model:
    """Losses by method and item, measured at most once."""

    def __init__(self, driver, gguf, context, text, record):
        self.measure, self.points = Driver(driver, "objective", gguf, context, text), Driver(driver, "points", gguf, context)
        self.costs = [int(x) for x in self.measure.read()]
        self.start, self.extension = [float(x) for x in self.points.read()], int(context) / TRAINED
        self.search = lambda seed: Driver(driver, "search", gguf, context, EVALUATIONS, seed)
        self.known, self.file = {}, open(record, "a+")
        self.file.seek(0)
        for line in self.file:
            row = json.loads(line)
            if "loss" in row:
                self.known[row["method"], row["item"]] = row["loss"]

    def losses(self, method, first, last):
        missing = [i for i in range(first, last) if (method, i) not in self.known]
        if missing:
            numbers = [float(x) for x in self.measure.ask(method, missing[0], missing[-1] + 1)]
            for item in range(missing[0], missing[-1] + 1):
                loss = numbers[2 * (item - missing[0]):][:2]
                self.known[method, item] = loss
                self.write({"method": method, "item": item, "loss": loss})
        return [self.known[method, i] for i in range(first, last)]

    def write(self, row):
        print(json.dumps(row), file=self.file, flush=True)


def preferred(loss):
    return 0.9 * loss[0] + 0.1 * loss[1]


class Account:
    """What one way spent, and the best it had at each time."""

    def __init__(self, model):
        self.model, self.spent, self.curve, self.done = model, 0, [], {}
        self.budget = EVALUATIONS * sum(model.costs)

    def losses(self, method, first, last):
        if self.spent + sum(self.model.costs[first:last]) > self.budget:
            raise Spent
        self.spent += sum(self.model.costs[first:last])
        new = self.model.losses(method, first, last)
        if last == len(self.model.costs):
            mean = statistics.mean(preferred(x) for x in self.model.losses(method, 0, last))
            self.done[method] = mean
            if not self.curve or mean < self.curve[-1][1]:
                self.curve.append((self.spent, mean, method))
        return new

    def whole(self, point):
        method, = self.model.points.ask(*point)
        return self.table(method)

    def table(self, method):
        if method not in self.done:
            self.losses(method, 0, len(self.model.costs))
        return self.done[method]


def surrogate(account, seed):
    """Ours, of mrrope/tune.h: a step along each axis, then the lowest points of a surface through what was measured."""
    search = account.model.search(seed)
    words = search.read()
    while words[0] != "best":
        losses = account.losses(words[0], 0, len(account.model.costs))
        words = search.ask(*(x for loss in losses for x in loss))


def sobol(account, seed):
    """Successive halving over Sobol's points, 32 at a time."""
    from scipy.stats import qmc
    items, dims = len(account.model.costs), len(account.model.start)
    sequence = qmc.Sobol(dims, seed=seed)
    while True:
        left, seen = [account.model.points.ask(*p)[0] for p in sequence.random(32)], {}
        stage = 2
        while True:
            for method in left:
                rows = seen.setdefault(method, [])
                rows += account.losses(method, len(rows), stage)
            if stage == items:
                break
            left = sorted(left, key=lambda m: statistics.mean(map(preferred, seen[m])))[:(len(left) + 1) // 2]
            stage = min(items, 2 * stage)


def cma_es(account, seed):
    """CMA-ES with eight at a time, from mrrope-pro, all items each."""
    import cma
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy = cma.CMAEvolutionStrategy(account.model.start, 0.15, {"bounds": [0, 1], "popsize": 8, "seed": seed, "verbose": -9})
        while True:
            points = strategy.ask()
            strategy.tell(points, [account.whole(p) for p in points])


def minimise(objective, start, seed, jitter=0.02):
    """NLopt's BOBYQA from near a start, and from random points when it has converged, until somebody raises Spent."""
    import nlopt
    import numpy
    random = numpy.random.default_rng(seed)
    start = numpy.clip(numpy.array(start) + random.normal(0, jitter, len(start)), 0, 1)
    while True:
        optimiser = nlopt.opt(nlopt.LN_BOBYQA, len(start))
        optimiser.set_lower_bounds(0)
        optimiser.set_upper_bounds(1)
        optimiser.set_initial_step(0.15)
        optimiser.set_xtol_abs(0.01)
        spent = []

        def guarded(point, _gradient):
            try:
                return objective(point)
            except Spent as end:
                spent.append(end)
                raise nlopt.ForcedStop from end

        optimiser.set_min_objective(guarded)
        try:
            optimiser.optimize(start)
        except (nlopt.ForcedStop, nlopt.RoundoffLimited, SystemError):  # the last: how some versions pass the first on
            pass
        if spent:
            raise spent[0]
        start = random.random(len(start))


def bobyqa(account, seed):
    """BOBYQA from mrrope-pro; all items each."""
    minimise(account.whole, account.model.start, seed)


PAIRS, TRAINED, BASE = 32, 512, 10000  # of tiny-512


def spelt(factors, scale):
    return "custom:factors=" + "/".join(f"{x:.5g}" for x in factors) + f":attention_scale={scale:.3f}"


def knots(account, seed):
    """Another shape: a free monotone curve of ln s through six knots, and the attention scale."""
    import numpy
    most = math.log(2 * account.model.extension)
    at = numpy.linspace(0, PAIRS - 1, 6)

    def objective(point):
        rises = numpy.cumsum(numpy.array(point[:6])) * most / 2
        curve = numpy.interp(numpy.arange(PAIRS), at, numpy.minimum(rises, most))
        return account.table(spelt(numpy.exp(curve), 1 + 0.2 * point[6]))

    pro = [0, 0.15, 0.5, 0.68, 0, 0, 0.69]  # near mrrope-pro's curve
    minimise(objective, pro, seed)


def critical(account, seed):
    """Another shape, LongRoPE2's: NTK below the critical pair, between S and 2 S above it; and the attention scale."""
    import numpy
    extension = account.model.extension
    known = PAIRS * math.log(TRAINED / (2 * math.pi)) / math.log(BASE)  # the last pair that turned once in training

    def objective(point):
        pair = known * (0.5 + point[0])
        first, last = (extension * 2 ** x for x in point[1:3])
        factors = [first ** (i / pair) if i < pair else first * (last / first) ** ((i - pair) / max(1, PAIRS - 1 - pair))
                   for i in range(PAIRS)]
        return account.table(spelt(numpy.maximum.accumulate(factors), 1 + 0.2 * point[3]))

    minimise(objective, [0.5, 0, 0, 0.69], seed)


WAYS = {"surrogate": surrogate, "sobol": sobol, "cma": cma_es, "bobyqa": bobyqa, "knots": knots, "critical": critical}


def longrope(args):
    """LongRoPE's genetic search on the texts, and how many tokens our search takes to reach what it reached."""
    import numpy
    model = Model(args.driver, args.gguf, args.context, args.text, args.record)
    texts = range(0, len(model.costs), 2)
    cost, extension = sum(model.costs[i] for i in texts), model.extension
    scale = math.sqrt(1 + math.log(extension) / math.log(TRAINED))
    share = (int(args.context) - TRAINED) / (int(args.context) - 1)

    def perplexity(method):
        # Of a text whole; the driver doubles the losses of texts, so that a mean over all items is theirs
        losses = [model.losses(method, i, i + 1)[0] for i in texts]
        return statistics.mean(share * beyond / 2 + (1 - share) * within / 2 for beyond, within in losses)

    random = numpy.random.default_rng(1)
    spent, best, curve = 0, {}, []

    def measured(factors):
        nonlocal spent
        factors = numpy.maximum.accumulate(numpy.clip(numpy.round(factors, 2), 1, 1.25 * extension))
        name = spelt(factors, scale)
        if name not in best:
            spent += cost
            best[name] = (perplexity(name), tuple(factors))
            if not curve or best[name][0] < curve[-1][1]:
                curve.append((spent, best[name][0], name))
        return best[name]

    def mutated(factors):
        change = random.random(PAIRS) < 0.3
        return numpy.where(change, numpy.array(factors) * numpy.exp(random.normal(0, 0.3, PAIRS)), factors)

    pair = numpy.arange(PAIRS)
    low, high = 3, 16  # YaRN's band on this model
    ramp = numpy.clip((pair - low) / (high - low), 0, 1)
    seeds = [numpy.full(PAIRS, extension), extension ** (pair / (PAIRS - 1)), 1 / (1 - ramp + ramp / extension)]
    population = [measured(x) for x in seeds]
    while len(population) < 64:
        population.append(measured(mutated(seeds[random.integers(3)])))
    for _ in range(args.rounds):
        parents = sorted(population)[:32]
        children = [measured(mutated(parents[random.integers(32)][1])) for _ in range(16)]
        for _ in range(16):
            a, b = (numpy.array(parents[random.integers(32)][1]) for _ in range(2))
            children.append(measured(numpy.where(random.random(PAIRS) < 0.5, a, b)))
        population = sorted(parents + children)[:64]
    print("longrope", spent, *curve[-1][1:])
    model.write({"way": "longrope", "seed": 1, "costs": cost, "curve": curve})

    search, ours, done = model.search(1), [], 0
    words = search.read()
    while words[0] != "best":
        loss, done = perplexity(words[0]), done + cost
        if not ours or loss < ours[-1][1]:
            ours.append((done, loss, words[0]))
        words = search.ask(*([loss, loss] * len(model.costs)))
    print("surrogate", done, *ours[-1][1:])
    reached = [tokens for tokens, loss, _ in ours if loss <= curve[-1][1]]
    print("reached what longrope reached:", f"after {reached[0]} tokens, 1/{spent / reached[0]:.0f}" if reached else "no")
    model.write({"way": "surrogate-texts", "seed": 1, "costs": cost, "curve": ours})


def run(args):
    model = Model(args.driver, args.gguf, args.context, args.text, args.record)
    for seed in map(int, args.seeds.split(",")):
        for name in args.ways.split(","):
            account = Account(model)
            try:
                if name != "surrogate":  # which does so by itself
                    for method in FIXED:
                        account.losses(method, 0, len(model.costs))
                WAYS[name](account, seed)
            except Spent:
                pass
            model.write({"way": name, "seed": seed, "costs": sum(model.costs), "curve": account.curve})
            print(name, seed, account.spent, *account.curve[-1][1:], flush=True)


def table(args):
    rows = [json.loads(line) for path in args.record for line in open(path)]
    curves = {(row["way"], row["seed"]): row for row in rows if "way" in row}
    marks = (5, 10, 15, 20, 25)
    print("| way | seeds |", " | ".join(f"{m} evaluations" for m in marks), "|")
    print("|---|---|" + "---|" * len(marks))
    for way in dict.fromkeys(name for name, _ in curves):
        mine = [row for (name, _), row in curves.items() if name == way]
        cells = []
        for mark in marks:
            best = [min(mean for spent, mean, _ in row["curve"] if spent <= mark * row["costs"]) for row in mine]
            if best:
                cells.append(f"{statistics.median(best):.4f} ({min(best):.4f} to {max(best):.4f})")
        print("|", way, "|", len(mine), "|", " | ".join(cells), "|")


def held_out(args):
    """What every way found, on items of another text."""
    rows = [json.loads(line) for path in args.record for line in open(path)]
    model = Model(args.driver, args.gguf, args.context, args.text, args.out)
    items = len(model.costs)
    ends = {(row["way"], row["seed"]): row["curve"][-1] for row in rows if "way" in row}
    fixed = {m: statistics.mean(map(preferred, model.losses(m, 0, items))) for m in FIXED}
    base = min(fixed.values())
    print("best fixed on these items:", min(fixed, key=fixed.get), f"{base:.4f}")
    by_way = {}
    for (way, _), (_, tuning, method) in sorted(ends.items()):
        by_way.setdefault(way, []).append((tuning, statistics.mean(map(preferred, model.losses(method, 0, items)))))
    print("| way | seeds | tuning items | held-out items | below the best fixed |\n|---|---|---|---|---|")
    for way, found in by_way.items():
        tuning, unseen = (statistics.median(x[i] for x in found) for i in (0, 1))
        print(f"| {way} | {len(found)} | {tuning:.4f} | {unseen:.4f} | {base - unseen:.4f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    first = commands.add_parser("run")
    for name in ("driver", "gguf", "context", "text"):
        first.add_argument(name)
    first.add_argument("record", type=pathlib.Path)
    first.add_argument("--ways", default=",".join(WAYS))
    first.add_argument("--seeds", default="1,2,3")
    first.set_defaults(do=run)
    genes = commands.add_parser("longrope")
    third = commands.add_parser("held-out")
    for parser_of, last in ((genes, "record"), (third, "out")):
        for name in ("driver", "gguf", "context", "text", last):
            parser_of.add_argument(name)
    genes.add_argument("--rounds", type=int, default=40)
    genes.set_defaults(do=longrope)
    third.add_argument("record", type=pathlib.Path, nargs="+")
    third.set_defaults(do=held_out)
    second = commands.add_parser("table")
    second.add_argument("record", type=pathlib.Path, nargs="+")
    second.set_defaults(do=table)
    args = parser.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
