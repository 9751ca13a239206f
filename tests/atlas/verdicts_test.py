# SPDX-License-Identifier: MIT
"""Verdicts of the atlas follow from its data: claims, how methods compare, and whether the theory predicts."""
import itertools
import json
import math
import pathlib
import random
import tempfile
import unittest

from made import atlas_folder

from atlas import claims, evidence, theory
from atlas.cells import Cells
from gap_study import spearman

PRO, UNI, YARN, OLD = "mrrope-pro", "mrrope-uni", "yarn", "yarn-rotations"
CLAIM = claims.Claim("", "", "ppl", PRO, YARN)


class Temporary(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)


class Verdicts(Temporary):
    def found(self, **models):
        """A claim's verdict over models that are given as {name: (ratio, differs)}."""
        cells = [Cells(atlas_folder(self.folder, {(PRO, YARN): pair}, name=name)) for name, pair in models.items()]
        return claims.verdict(list(claims.found_of(CLAIM, cells)))

    def test_a_claim_flips_when_the_data_flip(self):
        self.assertEqual(self.found(one=(0.95, True)), "holds")
        self.assertEqual(self.found(other=(1.05, True)), "does not hold")

    def test_a_claim_holds_only_where_it_holds_on_every_model(self):
        self.assertEqual(self.found(a=(0.95, True), b=(0.97, True)), "holds")
        self.assertEqual(self.found(c=(0.95, True), d=(0.99, False)), "holds in part")
        self.assertEqual(self.found(e=(1.05, True), f=(0.99, False)), "does not hold")
        self.assertEqual(self.found(g=(1.05, True), h=(0.95, True)), "depends")

    def test_what_the_intervals_leave_open_is_no_verdict(self):
        self.assertEqual(self.found(a=(0.99, False), b=(1.01, False)), "tied")
        self.assertEqual(claims.verdict([]), "not measured")

    def test_too_few_texts_say_nothing(self):
        few = Cells(atlas_folder(self.folder, {(PRO, YARN): (0.9, False)}, name="few", too_few=True))
        many = Cells(atlas_folder(self.folder, {(PRO, YARN): (0.9, True)}, name="many"))
        self.assertEqual(claims.verdict(list(claims.found_of(CLAIM, [few]))), "too few to tell")
        self.assertEqual(claims.verdict(list(claims.found_of(CLAIM, [few, many]))), "holds")

    def side(self, pair, name, **options):
        found = list(claims.found_of(CLAIM, [Cells(atlas_folder(self.folder, {(PRO, YARN): pair}, name=name, **options))]))
        return (found[0].difference.better, found[0].difference.counts) if found else None

    def test_one_text_whose_stretches_differ_is_no_evidence_about_others(self):
        self.assertEqual(self.side((0.9, True), "one", count=1), (0, False))
        self.assertEqual(self.side((0.9, True), "three", count=3), (1, True))

    def test_a_star_is_never_a_tie(self):
        self.assertEqual(self.side((0.998, True), "small", width=0.001), (1, True))

    def test_a_tie_counts_only_where_what_matters_would_have_been_seen(self):
        self.assertEqual(self.side((0.99, False), "narrow", width=0.09), (0, True))
        self.assertEqual(self.side((0.99, False), "wide", width=0.12), (0, False))

    def test_the_longest_length_is_in_the_second_half_of_the_window(self):
        self.assertEqual(self.side((0.9, True), "end", length=1536), (1, True))
        self.assertIsNone(self.side((0.9, True), "half", length=1024))
        half = claims.Claim("", "", "ppl", PRO, YARN, "half")
        found = {length: list(claims.found_of(half, [Cells(atlas_folder(self.folder, {(PRO, YARN): (0.9, True)}, name=f"h{length}", length=length))]))
                 for length in (512, 1024, 1536)}  # fmt: skip
        self.assertEqual([length for length, one in found.items() if one], [1024])

    def test_a_plan_that_lacks_the_longest_length_meets_others_at_a_shorter_one(self):
        place = atlas_folder(self.folder, {(PRO, YARN): (0.9, True)}, length=1536)
        with open(place / "verdicts.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({"measure": "ppl", "factor": 4, "plan": PRO, "task": None, "values": [[2048, 9.0, 9.0, 8]]}) + "\n")
        self.assertEqual(claims.verdict(list(claims.found_of(CLAIM, [Cells(place)]))), "holds")

    def test_the_side_of_the_baseline_does_not_matter(self):
        cells = Cells(atlas_folder(self.folder, {(YARN, PRO): (1.25, True)}))
        turned = cells.difference("ppl", 4, PRO, YARN, 2048)
        self.assertEqual(turned.better, 1)
        self.assertAlmostEqual(turned.value, -20)
        self.assertLess(turned.low, turned.value)
        self.assertLess(turned.value, turned.high)

    def test_likelihood_is_shown_and_decides_nothing(self):
        place = atlas_folder(self.folder, {}, {(PRO, YARN): (1.0, False)})
        file = place / "verdicts.jsonl"
        file.write_text(file.read_text().replace("[2048, 8, 1.0, 0.99, 1.01, false, false, 0.0, -0.1, 0.1, false]",
                                                 "[2048, 8, 1.0, 0.99, 1.01, false, false, -0.2, -0.3, -0.1, true]"))  # fmt: skip
        cells = Cells(place)
        self.assertEqual(cells.difference("needles", 4, PRO, YARN, 2048).better, 0)
        self.assertEqual(cells.likelihood("needles", 4, PRO, YARN, 2048).better, 1)
        self.assertEqual(cells.likelihood("needles", 4, YARN, PRO, 2048).better, -1)


class Tallies(Temporary):
    def counts(self, *models):
        return evidence.tallies(models, 4, PRO, YARN)

    def test_differences_count_by_kind_and_ties_that_may_hide_one_do_not(self):
        one = Cells(atlas_folder(self.folder, {(PRO, YARN): (0.9, True)}, {(PRO, YARN): (-20.0, True)}, name="one"))
        wide = Cells(atlas_folder(self.folder, {(PRO, YARN): (0.99, False)}, name="wide", width=0.12))
        tied = Cells(atlas_folder(self.folder, {(YARN, PRO): (0.99, False)}, name="tied"))
        self.assertEqual(self.counts(one, wide, tied), ({"longest": [1, 0, 1], "trained": [0, 0, 0], "answers": [0, 1, 0]}, 2))

    def test_models_in_which_nothing_counts_are_not_counted(self):
        few = Cells(atlas_folder(self.folder, {(PRO, YARN): (0.9, True)}, name="few", count=2))
        self.assertEqual(self.counts(few)[1], 0)


def by_definition(a, b):
    """Spearman's rank correlation as the correlation (Pearson) of mean ranks, counted pair by pair."""
    def mean_ranks(values):
        return [sum((other < one) + (other == one) / 2 for other in values) for one in values]

    x, y = mean_ranks(a), mean_ranks(b)
    n = len(x)
    covariance = sum(p * q for p, q in zip(x, y)) / n - sum(x) * sum(y) / n**2
    return covariance / math.sqrt((sum(p * p for p in x) / n - (sum(x) / n) ** 2) * (sum(q * q for q in y) / n - (sum(y) / n) ** 2))


class Correlations(Temporary):
    def test_rank_correlation_is_that_of_the_definition(self):
        dice = random.Random(1)
        for size in (4, 5, 9):
            for _ in range(200):
                a = [dice.randrange(5) for _ in range(size)]
                b = [dice.random() if dice.random() < 0.7 else 0.5 for _ in range(size)]
                if len(set(a)) > 1 and len(set(b)) > 1:
                    self.assertAlmostEqual(spearman(a, b), by_definition(a, b), places=12)

    def test_rank_correlation_is_that_of_scipy(self):
        try:
            from scipy.stats import spearmanr
        except ImportError:
            self.skipTest("no scipy in this Python (tools/engine_env search has it)")
        self.assertAlmostEqual(spearman([1, 2, 2, 4, 7], [3, 1, 1, 0.5, 9]), spearmanr([1, 2, 2, 4, 7], [3, 1, 1, 0.5, 9])[0], places=12)

    def test_chance_has_the_variance_that_the_interval_assumes(self):
        every = [spearman(range(5), order) for order in itertools.permutations(range(5))]
        self.assertAlmostEqual(sum(rho**2 for rho in every) / len(every), 1 / (5 - 1), places=12)

    def cells(self, losses, drifts):
        """Plans with these perplexities at 2048 and these drifts."""
        plans = [YARN, OLD, UNI, PRO]
        said = {plan: {"kind": "uniform", "drift": drift, "unseen": 1, "bound": None} for plan, drift in zip(plans, drifts)}
        place = atlas_folder(self.folder, {(plan, YARN): (1.0, False) for plan in plans[1:]}, theory=said)
        lines = [json.loads(line) for line in (place / "verdicts.jsonl").read_text().splitlines()]
        for line in lines:
            if "values" in line:
                line["values"][0][1] = losses[plans.index(line["plan"])]
        (place / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return Cells(place)

    def test_a_theory_that_orders_plans_as_measured_is_plus_one(self):
        (drift,) = [one for one in theory.PREDICTORS if one.name == "drift"]
        found = theory.correlation([self.cells([3, 4, 5, 6], [1, 2, 3, 4])], drift, theory.OUTCOMES[0])
        self.assertAlmostEqual(found.mean, 1)
        self.assertEqual(found.groups, 1)
        self.assertGreater(found.half, 1)  # one order of four plans may be chance

    def test_extensions_of_a_model_are_not_more_models(self):
        (drift,) = [one for one in theory.PREDICTORS if one.name == "drift"]
        cells = self.cells([3, 4, 5, 6], [1, 2, 3, 4])
        alone, twice = (theory.correlation(models, drift, theory.OUTCOMES[0]) for models in ([cells], [cells, cells]))
        cells.measures = lambda: [("ppl", 4), ("ppl", 4)]
        again = theory.correlation([cells], drift, theory.OUTCOMES[0])
        self.assertEqual((again.half, again.groups, again.models), (alone.half, 2, 1))
        self.assertAlmostEqual(twice.half, alone.half / math.sqrt(2))

    def test_a_plan_measured_on_fewer_texts_has_no_rank(self):
        (drift,) = [one for one in theory.PREDICTORS if one.name == "drift"]
        cells = self.cells([3, 4, 5, 6], [1, 2, 3, 4])
        cells.values("ppl", 4, PRO)[2048][2] = 7
        self.assertIsNone(theory.correlation([cells], drift, theory.OUTCOMES[0]))

    def test_a_theory_that_is_the_wrong_way_round_is_minus_one(self):
        (drift,) = [one for one in theory.PREDICTORS if one.name == "drift"]
        self.assertAlmostEqual(theory.correlation([self.cells([6, 5, 4, 3], [1, 2, 3, 4])], drift, theory.OUTCOMES[0]).mean, -1)

    def test_a_theory_that_says_the_same_of_all_plans_says_nothing(self):
        (kind,) = [one for one in theory.PREDICTORS if one.name == "kind"]
        self.assertIsNone(theory.correlation([self.cells([3, 4, 5, 6], [1, 2, 3, 4])], kind, theory.OUTCOMES[0]))


if __name__ == "__main__":
    unittest.main()
