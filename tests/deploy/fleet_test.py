# SPDX-License-Identifier: MIT
"""tools/fleet_simulation.py against queues whose waits are known in closed form, and its formulas against it.

    fleet_test.py CHECKOUT
"""
import pathlib
import random
import statistics
import sys
import unittest

CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(CHECKOUT / "tools"))
import fleet_simulation as fleet  # noqa: E402

AT_ONCE = 1e30  # operations or bytes a second: what takes no time
NO_LIMIT = {"room": 10**15, "most": 10**9}


def poisson(rate, count, prompt, answer, seed=7):
    """Requests whose prompts and answers are drawn by these functions."""
    dice, now, requests = random.Random(seed), 0.0, []
    for _ in range(count):
        now += dice.expovariate(rate)
        requests.append((now, prompt(dice), answer(dice)))
    return requests


def waits(results):
    return [result[0] for result in results]


class KnownQueues(unittest.TestCase):
    def test_one_prompt_at_a_time_on_four_gpus_waits_as_erlang_says(self):
        # M/M/c: a prompt of x tokens takes x seconds, answers none. Mean wait C / (c mu - lambda).
        gpu = fleet.Gpu(flops=1, parameters=0.5, attention=0, bandwidth=AT_ONCE, **NO_LIMIT)
        requests = poisson(3.2, 200_000, lambda dice: dice.expovariate(1), lambda dice: 1)
        found = waits(fleet.simulate(requests, 4, gpu, lambda p, a: 1))
        waiting = fleet.erlang_c(4, 3.2)
        self.assertAlmostEqual(statistics.mean(wait > 0 for wait in found), waiting, delta=0.02)
        self.assertAlmostEqual(statistics.mean(found) / (waiting / (4 - 3.2)), 1, delta=0.05)

    def test_prompts_of_the_traces_on_one_gpu_wait_as_pollaczek_and_khinchine_say(self):
        # M/G/1: lambda E[S²] / (2 (1 - rho))
        gpu = fleet.Gpu(bandwidth=AT_ONCE, **NO_LIMIT)
        drawn = fleet.make_requests(200_000, 0.95, 3)
        seconds = [gpu.reading(p) for _, p, _ in drawn]
        rate = 0.7 / statistics.mean(seconds)
        requests = [(t / rate, p, a) for t, p, a in drawn]
        expected = rate * statistics.mean(s * s for s in seconds) / (2 * (1 - 0.7))
        self.assertAlmostEqual(statistics.mean(waits(fleet.simulate(requests, 1, gpu, lambda p, a: 1))) / expected, 1, delta=0.05)

    def test_answers_share_a_gpu_whatever_their_lengths(self):
        # M/G/1 with processor sharing: the mean time is E[S] / (1 - rho), by the mean of S alone. A step takes n · 1 ms.
        gpu = fleet.Gpu(flops=AT_ONCE, weights=0, cache=1e-3, bandwidth=1e9, **NO_LIMIT)
        for answer in (lambda dice: 200, lambda dice: 20 if dice.random() < 0.8 else 920):
            requests = poisson(0.6 / 0.2, 100_000, lambda dice: 10**9, answer)
            results = fleet.simulate(requests, 1, gpu, lambda p, a: 1)
            seconds = statistics.mean(r[2] * a for r, (_, _, a) in zip(results, requests))
            self.assertAlmostEqual(seconds / (0.2 / (1 - 0.6)), 1, delta=0.06)

    def test_erlang_c_has_the_values_of_the_tables(self):
        for servers, offered, waiting in ((1, 0.5, 0.5), (2, 1, 1 / 3), (10, 8, 0.4092), (100, 90, 0.2170)):
            self.assertAlmostEqual(fleet.erlang_c(servers, offered), waiting, delta=5e-4)


class Formulas(unittest.TestCase):
    def setUp(self):
        self.gpu = fleet.Gpu()
        self.drawn = fleet.make_requests(60_000, 0.95, 5)

    def test_a_gpu_that_is_never_idle_serves_as_many_as_the_load_says(self):
        for places in (lambda p, a: 8192, lambda p, a: 32768, lambda p, a: p + a):
            own = [r for r in self.drawn if r[1] + r[2] <= places(0, 8192)]
            seconds, _ = fleet.load(own, self.gpu, places)
            flood = [(0.0, p, a) for _, p, a in own[:20_000]]
            results = fleet.simulate(flood, 4, self.gpu, places)
            begun = sorted(waits(results))  # those that began between the filling and the emptying
            rate = (len(begun) // 2) / (begun[len(begun) * 3 // 4] - begun[len(begun) // 4])
            self.assertAlmostEqual(rate * seconds / 4, 1, delta=0.06)

    def test_gpus_by_formula_are_enough_and_not_many_too_many(self):
        own = [r for r in self.drawn if r[1] + r[2] <= 8192]
        places = lambda p, a: 8192  # noqa: E731
        seconds, slots = fleet.load(own, self.gpu, places)
        rate = 60 / seconds
        requests = fleet.at_rate(self.drawn, rate / 0.95, 60)
        requests = [r for r in requests if r[1] + r[2] <= 8192]
        gpus = fleet.gpus_by_formula(len(requests) / 60, seconds, slots, 0.5)
        self.assertTrue(fleet.enough(requests, gpus, self.gpu, places, 0.5))
        self.assertFalse(fleet.enough(requests, int(gpus * 0.88), self.gpu, places, 0.5))


class Traffic(unittest.TestCase):
    def test_lengths_have_the_means_of_the_traces(self):
        # Means of the requests that the tables were made from, in tokens
        drawn = fleet.make_requests(100_000, 0.95, 1)
        short = [r for r in drawn if r[1] + r[2] <= 8192]
        long = [r for r in drawn if r[1] + r[2] > 8192]
        self.assertAlmostEqual(len(short) / len(drawn), 0.95, delta=0.003)
        for requests, prompt, answer in ((short, 1154, 211), (long, 16007, 355)):
            self.assertAlmostEqual(statistics.mean(r[1] for r in requests) / prompt, 1, delta=0.04)
            self.assertAlmostEqual(statistics.mean(r[2] for r in requests) / answer, 1, delta=0.04)

    def test_the_same_seed_gives_the_same_requests(self):
        self.assertEqual(fleet.make_requests(1000, 0.95, 4), fleet.make_requests(1000, 0.95, 4))
        self.assertNotEqual(fleet.make_requests(1000, 0.95, 4), fleet.make_requests(1000, 0.95, 5))


if __name__ == "__main__":
    unittest.main()
