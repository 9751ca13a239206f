#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many GPUs a ladder needs per rung, against one pool that serves every prompt at the length of the longest.

    tools/fleet_simulation.py [--gpus 1000] [--cache paged] [--short 0.95] [--wait 0.5] [--seconds 60] [--seed 1]

Discrete events, seeded. A pool is one queue in front of equal GPUs. A GPU reads one prompt at a time, and meanwhile writes
nothing; in between it writes a token of every answer that it holds. docs/scale.md has the formulas, the sources of the
numbers and what this leaves out. The rate of requests is what one pool of --gpus just serves; the ladder then gets as many
GPUs as it needs for the same requests.
"""
import argparse
import bisect
import collections
import dataclasses
import heapq
import itertools
import math
import random

RUNGS = {"8k": 8192, "16k": 16384, "32k": 32768}
# Tokens of prompts and answers at these shares of all requests, counted in two published traces; in between, straight lines.
SHARES = (0, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .99, 1)
# Azure 2023, conversation (Splitwise, ISCA 2024): the 19 365 of 19 366 requests that take at most 8192 tokens.
SHORT = ((2, 181, 207, 387, 403, 703, 1020, 1071, 1130, 1315, 2734, 4083, 4142, 7930),
         (7, 41, 54, 77, 91, 103, 129, 177, 384, 400, 424, 451, 601, 1000))
# Mooncake, conversation (FAST 2025): the 4 724 of 12 031 requests that take 8193 to 32768 tokens.
LONG = ((6775, 8356, 8871, 10027, 11408, 12912, 14572, 16357, 18571, 21643, 26146, 28672, 31612, 32713),
        (1, 10, 26, 126, 247, 315, 365, 408, 451, 503, 596, 709, 1204, 2000))
# What a prompt within the trained length pays in perplexity, percent, lowest and highest of four methods
# (docs/results/smollm2-135m.md, at 8k); by the factor of the rung.
PAID = {1: (0, 0), 2: (2, 2), 4: (7, 12)}


@dataclasses.dataclass(frozen=True)
class Gpu:
    """Llama-3-8B (trained at 8192) in BF16 on one H100 of 80 GB; docs/scale.md."""
    flops: float = 4e14         # operations a second, 40 % of the peak
    bandwidth: float = 2.35e12  # bytes a second, 70 % of the peak
    parameters: float = 8.03e9
    attention: float = 2 * 32 * 4096  # operations for each two tokens of a prompt: 2 · layers · width
    weights: float = 16.06e9    # bytes
    cache: float = 131072       # bytes a token
    room: int = 426_000         # tokens of cache: (0.9 · 80 GB - weights) / cache
    most: int = 256             # answers written at once

    def reading(self, prompt):
        return (2 * self.parameters * prompt + self.attention * prompt * prompt) / self.flops

    def step(self, tokens):
        """Seconds for one token of each answer, where all of them hold so many tokens of cache."""
        return (self.weights + self.cache * tokens) / self.bandwidth


def draw(table, chance):
    at = min(bisect.bisect_right(SHARES, chance), len(SHARES) - 1)
    low, high = SHARES[at - 1], SHARES[at]
    return round(table[at - 1] + (table[at] - table[at - 1]) * (chance - low) / (high - low))


def make_requests(count, short, seed):
    """(arrival, prompt, answer); arrivals are a Poisson process of one request a second."""
    dice = random.Random(seed)
    requests, now = [], 0.0
    while len(requests) < count:
        prompts, answers = SHORT if dice.random() < short else LONG
        prompt, answer = draw(prompts, dice.random()), draw(answers, dice.random())
        if (prompt + answer <= RUNGS["8k"]) == (prompts is SHORT[0]) and prompt + answer <= RUNGS["32k"]:
            now += dice.expovariate(1)
            requests.append((now, prompt, answer))
    return requests


def simulate(requests, gpus, gpu, places):
    """(wait, reading, seconds a token) of every request, in their order. places(prompt, answer): tokens of cache that are
    kept for a request. The queue is first come, first served; the GPU with most room takes the next."""
    state = [Busy() for _ in range(gpus)]
    free = [(0, index, 0) for index in range(gpus)]  # (tokens taken, gpu, version); those of old versions are void
    events, queue, results = [], collections.deque(), [None] * len(requests)
    reading, kept = [gpu.reading(p) for _, p, _ in requests], [places(p, a) for _, p, a in requests]
    coming, never, step = 0, math.inf, gpu.step
    while coming < len(requests) or events:
        arrives = requests[coming][0] if coming < len(requests) else never
        if not events or arrives <= events[0][0]:
            now = arrives
            queue.append(coming)
            coming += 1
        else:
            now, index, version = heapq.heappop(events)
            one = state[index]
            if version != one.version:
                continue
            one.version += 1
            one.since = now
            if one.reads is not None:  # the prompt is read, the answer begins
                number, one.reads = one.reads, None
                _, prompt, answer = requests[number]
                one.tokens += prompt + answer / 2
                heapq.heappush(one.answers, (one.written + answer, number, now))
            else:                      # an answer is complete
                one.written, number, began = heapq.heappop(one.answers)
                _, prompt, answer = requests[number]
                one.tokens -= prompt + answer / 2
                one.taken -= kept[number]
                results[number] += ((now - began) / answer,)
            heapq.heappush(free, (one.taken, index, one.version))
            if one.answers:
                heapq.heappush(events, (now + (one.answers[0][0] - one.written) * step(one.tokens), index, one.version))
        while queue and free:
            taken, index, version = free[0]
            one = state[index]
            if version != one.version:
                heapq.heappop(free)
                continue
            number = queue[0]
            if taken + kept[number] > gpu.room or len(one.answers) >= gpu.most:
                break
            heapq.heappop(free)
            queue.popleft()
            if one.answers:
                one.written += (now - one.since) / step(one.tokens)
            one.version += 1
            one.taken += kept[number]
            one.reads = number
            heapq.heappush(events, (now + reading[number], index, one.version))
            results[number] = (now - requests[number][0], reading[number])
    return results


class Busy:
    """What a GPU does: `written` is the tokens that an answer would have that was there from the beginning."""
    __slots__ = ("version", "taken", "tokens", "written", "since", "reads", "answers")

    def __init__(self):
        self.version, self.taken, self.tokens, self.written, self.since, self.reads, self.answers = 0, 0, 0.0, 0.0, 0.0, None, []


def load(requests, gpu, places):
    """GPU-seconds of a request where GPUs are full, and the answers that a full one holds."""
    def mean(values):
        return sum(values) / len(requests)
    answer = mean([a for _, _, a in requests])
    held = mean([a * (p + a / 2) for _, p, a in requests]) / answer  # tokens of an answer that is being written
    slots = min(gpu.most, gpu.room / (mean([a * places(p, a) for _, p, a in requests]) / answer))
    return mean([gpu.reading(p) for _, p, _ in requests]) + answer * gpu.step(slots * held) / slots, slots


def erlang_c(servers, offered):
    """The share that waits in M/M/c."""
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked)) if offered < servers else 1.0


def gpus_by_formula(rate, seconds, slots, wait):
    """The fewest GPUs whose slots, as servers of M/M/c, keep 1 % or fewer waiting for longer than `wait`."""
    for gpus in itertools.count(math.floor(rate * seconds) + 1):
        servers, offered = int(gpus * slots), rate * seconds * slots
        if servers > offered and erlang_c(servers, offered) * math.exp(-(servers - offered) / (seconds * slots) * wait) <= 0.01:
            return gpus


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def measured(requests, results):
    """Those of the second half: the first one fills the pool."""
    half = requests[-1][0] / 2
    return [result for (arrived, _, _), result in zip(requests, results) if arrived > half]


def enough(requests, gpus, gpu, places, wait):
    return share([r[0] for r in measured(requests, simulate(requests, gpus, gpu, places))], 0.99) <= wait


def at_rate(requests, rate, seconds):
    return [(t / rate, p, a) for t, p, a in requests[:int(rate * seconds)]]


def fewest(good, low, high, grain):
    """The lowest number from low on that is good, as far as `grain`; all above a good one are good."""
    while not good(high):
        low, high = high, high + (high - low) * 2
    while high - low > grain:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def row(name, requests, gpus, gpu, places, formula):
    results = measured(requests, simulate(requests, gpus, gpu, places))
    first = [r[0] + r[1] for r in results]
    print(f"| {name} | {len(requests) / requests[-1][0]:.0f} | {load(requests, gpu, places)[1]:.0f} | {formula} | {gpus} | "
          f"{share([r[0] for r in results], .99):.2f} | {share(first, .5):.2f} | {share(first, .99):.2f} | "
          f"{1000 * share([r[2] for r in results], .5):.0f} |")
    return gpus


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=1000)
    parser.add_argument("--cache", choices=("reserved", "paged"), help="only this one")
    parser.add_argument("--short", type=float, default=0.95, help="share of requests within 8192 tokens")
    parser.add_argument("--wait", type=float, default=0.5, help="seconds that 99 %% of the prompts wait at most before they are read")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    gpu, longest = Gpu(), max(RUNGS.values())
    drawn = make_requests(int(args.gpus * args.seconds * 12), args.short, args.seed)
    rungs = [next(name for name, length in RUNGS.items() if p + a <= length) for _, p, a in drawn]
    for cache in (args.cache,) if args.cache else ("reserved", "paged"):
        def kept(length):
            return (lambda p, a: length) if cache == "reserved" else (lambda p, a: p + a)
        seconds, slots = load(drawn, gpu, kept(longest))
        too_many = fewest(lambda rate: not enough(at_rate(drawn, rate, args.seconds), args.gpus, gpu, kept(longest), args.wait),
                          int(.92 * args.gpus / seconds), int(1.08 * args.gpus / seconds), args.gpus / seconds / 100)
        rate = too_many - int(args.gpus / seconds / 100)
        requests = at_rate(drawn, rate, args.seconds)
        print(f"\nCache {cache}: one pool of {args.gpus} GPUs serves {rate} requests a second.\n")
        print("| pool | requests/s | answers per GPU | GPUs, formula | GPUs, simulated | "
              "wait, 99 % | first token, 50 % | 99 % | ms a token |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
        row("one, 32k", requests, args.gpus, gpu, kept(longest), gpus_by_formula(rate, seconds, slots, args.wait))
        total, paid = 0, [0, 0]
        for name, length in RUNGS.items():
            own = [request for request, rung in zip(requests, rungs) if rung == name]
            seconds, slots = load(own, gpu, kept(length))
            needed = len(own) / args.seconds * seconds
            gpus = fewest(lambda n, own=own, length=length: enough(own, n, gpu, kept(length), args.wait),
                          int(.85 * needed), int(needed) + 1, max(1, needed / 100))
            total += row(f"rung {name}", own, gpus, gpu, kept(length), gpus_by_formula(len(own) / args.seconds, seconds, slots, args.wait))
            paid = [sum_ + len(own) / len(requests) * percent for sum_, percent in zip(paid, PAID[length // RUNGS["8k"]])]
        print(f"\nThe ladder: {total} GPUs, {100 * (total / args.gpus - 1):+.0f} %. Average cost in perplexity per prompt: "
              f"{paid[0]:.2f} to {paid[1]:.2f} %; in one pool at S = 4: {PAID[4][0]} to {PAID[4][1]} %.")


if __name__ == "__main__":
    main()
