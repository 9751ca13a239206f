# SPDX-License-Identifier: MIT
"""mrrope.analysis against a few lines of numpy."""
import numpy as np
import pytest

import mrrope
from mrrope import analysis

SPEC = mrrope.Spec(dim=128, base=10000, context=4096)
PLAN = mrrope.plan(SPEC, "64k")


def test_the_bound_is_a_sum_of_cosines():
    theta = 10000.0 ** (-np.arange(64) / 64)
    curve = analysis.bound_curve(theta, 20000)
    distances = np.arange(1, 20001)
    wanted = np.cos(np.outer(distances, theta)).sum(axis=1)
    # 64 angles of up to 2e4 rad, each rounded by 2^-53 relative, in both sums
    np.testing.assert_allclose(curve, wanted, atol=2 * 64 * 2e4 * 2**-53, rtol=0)
    assert analysis.bound(theta, 7) == pytest.approx(wanted[6], rel=1e-14)
    assert analysis.score_correlation(theta, 7) == pytest.approx(wanted[6] / 64, rel=1e-14)


def test_the_zeros_are_where_the_curve_crosses():
    zeros = analysis.bound_zeros(PLAN.inv_freq, PLAN.band)
    assert zeros.first_zero == 14239  # analysis.h
    curve = analysis.bound_curve(PLAN.inv_freq, 14239)
    assert curve[-1] <= 0 and (curve[:-1] > 0).all()
    assert analysis.bound_zeros(np.zeros(4), PLAN.band, limit=100).first_zero is None


def test_the_radix_view_is_that_of_the_paper():
    factors = PLAN.pair_factors
    radix = analysis.radix_factors(factors)
    np.testing.assert_allclose(radix, factors[1:] / factors[:-1], rtol=2**-52)
    np.testing.assert_allclose(analysis.pair_factors_from_radix(radix), factors, rtol=64 * 2**-52)
    np.testing.assert_array_equal(radix, PLAN.radix_factors)
    assert str(analysis.classify(factors)) == "progressive, lambda 1.008 -> 1.228 over pairs 20..45"
    assert analysis.range(10000, factors) == pytest.approx(160000, rel=1e-14)
    beta = 10000 ** (1 / 64)
    wanted = np.floor(12345 * beta ** -np.arange(64.0) / factors) % (beta * np.append(radix, 1))
    # a remainder of up to 12345 by a rounded radix
    np.testing.assert_allclose(analysis.digits(10000, factors, 12345), wanted, atol=12345 * 2**-48)


def test_positions_and_exposure():
    assert analysis.position_estimate(PLAN.inv_freq, 0) == 0
    assert analysis.attention_decay(PLAN.inv_freq, 0) == pytest.approx(1, rel=1e-14)
    exposure = analysis.exposure(SPEC, PLAN.pair_factors, 16)
    assert exposure.short_drift_pair == PLAN.exposure.short_drift_pair == 30
    turns = SPEC.turns
    assert exposure.short_drift_turns == pytest.approx((turns * (1 - 1 / PLAN.pair_factors)).max(), rel=1e-13)
    assert analysis.exposure(SPEC, np.ones(64), 16).unseen_pairs == int((turns < 1).sum())


@pytest.mark.parametrize("call", [
    lambda: analysis.bound_curve([1.0], 2**40),
    lambda: analysis.bound_curve([1.0], -1),
    lambda: analysis.bound_zeros([1.0], PLAN.band, limit=0),
    lambda: analysis.bound_zeros([1.0], PLAN.band, window=3),
    lambda: analysis.bound_zeros([], PLAN.band),
    lambda: analysis.bound([float("nan")], 1),
    lambda: analysis.bound([1.0], float("inf")),
    lambda: analysis.classify([]),
    lambda: analysis.classify([1.0, 0.0]),
    lambda: analysis.classify([1.0, -1.0]),
    lambda: analysis.radix_factors([float("nan"), 1.0]),
    lambda: analysis.digits(1, [1.0], 5),
    lambda: analysis.digits(10000, [1.0], -5),
    lambda: analysis.range(float("inf"), [1.0]),
    lambda: analysis.exposure(SPEC, [1.0, 2.0], 4),
    lambda: analysis.exposure(SPEC, np.ones(64), 0.5),
    lambda: SPEC.band(beta_fast=1, beta_slow=2),
    lambda: SPEC.band(beta_fast=float("nan")),
])
def test_what_the_headers_call_a_domain_is_an_error_here(call):
    with pytest.raises(mrrope.Error) as error:
        call()
    assert error.value.code == "invalid argument" and error.value.where


@pytest.mark.parametrize("call", [
    lambda: analysis.classify("abc"),
    lambda: analysis.classify([[1.0, 2.0]]),
    lambda: analysis.classify(np.ones((2, 2))),
    lambda: analysis.bound(None, 1),
    lambda: analysis.bound([1.0], "far"),
    lambda: mrrope.plan(SPEC, 1.5),
    lambda: mrrope.plan(SPEC, None),
    lambda: mrrope.plan(5, "8k"),
    lambda: mrrope.plan(SPEC, "8k", 7),
    lambda: mrrope.Spec(dim="128", context=4096),
    lambda: mrrope.Method(None),
])
def test_wrong_types_are_type_errors(call):
    with pytest.raises(TypeError):
        call()
