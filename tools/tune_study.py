#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares ways of searching for a table, on losses of a real model: best loss against tokens spent.

    python=$(tools/engine_env search)
    "$python" tools/tune_study.py run build/release/tune_driver tests/models/tiny-512.gguf 2048 TEXT losses.jsonl
    "$python" tools/tune_study.py table losses.jsonl…

Every loss is recorded once, by method and item, and taken from the record afterwards: a run that was interrupted goes on,
and a way that is changed costs only what is new. Tokens are counted as if nothing had been recorded. All ways search the
same cube (mrrope/tune.h) for the same mean over the same items, and all of them measure the fixed methods first.
"""
import argparse
import json
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
        self.start = [float(x) for x in self.points.read()]
        self.search = lambda budget, seed: Driver(driver, "search", gguf, context, budget, seed, *self.costs)
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
        if method not in self.done:
            self.losses(method, 0, len(self.model.costs))
        return self.done[method]


def race(account, seed):
    """Ours, of mrrope/tune.h: a race on paired differences, then steps around the best."""
    search = account.model.search(account.budget, seed)
    words = search.read()
    while words[0] != "best":
        losses = account.losses(words[0], int(words[1]), int(words[2]))
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


def bobyqa(account, seed):
    """NLopt's BOBYQA from mrrope-pro, and from random points when it has converged; all items each."""
    import nlopt
    import numpy
    random, start = numpy.random.default_rng(seed), numpy.array(account.model.start)
    start = numpy.clip(start + random.normal(0, 0.02, len(start)), 0, 1)
    while True:
        optimiser = nlopt.opt(nlopt.LN_BOBYQA, len(start))
        optimiser.set_lower_bounds(0)
        optimiser.set_upper_bounds(1)
        optimiser.set_initial_step(0.15)
        optimiser.set_xtol_abs(0.01)
        spent = []

        def objective(point, _gradient):
            try:
                return account.whole(point)
            except Spent as end:
                spent.append(end)
                raise nlopt.ForcedStop from end

        optimiser.set_min_objective(objective)
        try:
            optimiser.optimize(start)
        except (nlopt.ForcedStop, nlopt.RoundoffLimited):
            pass
        if spent:
            raise spent[0]
        start = random.random(len(start))


WAYS = {"race": race, "sobol": sobol, "cma": cma_es, "bobyqa": bobyqa}


def run(args):
    model = Model(args.driver, args.gguf, args.context, args.text, args.record)
    for seed in map(int, args.seeds.split(",")):
        for name in args.ways.split(","):
            account = Account(model)
            try:
                if name != "race":  # which does so by itself
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
    for way in WAYS:
        mine = [row for (name, _), row in curves.items() if name == way]
        cells = []
        for mark in marks:
            best = [min(mean for spent, mean, _ in row["curve"] if spent <= mark * row["costs"]) for row in mine]
            if best:
                cells.append(f"{statistics.median(best):.4f} ({min(best):.4f} to {max(best):.4f})")
        print("|", way, "|", len(mine), "|", " | ".join(cells), "|")


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
    second = commands.add_parser("table")
    second.add_argument("record", type=pathlib.Path, nargs="+")
    second.set_defaults(do=table)
    args = parser.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
