# SPDX-License-Identifier: MIT
"""What theory says of a table, before any model runs: the functions of analysis.h and radix.h (docs/theory.md).

    s = mrrope.Spec(dim=128, base=10000, context=4096)
    p = mrrope.plan(s, "64k")
    mrrope.analysis.classify(p.pair_factors)              # <progressive, lambda 1.008 -> 1.228 over pairs 20..45>
    mrrope.analysis.bound_zeros(p.inv_freq, p.band)       # where similar tokens stop attracting each other

Arrays of float64 are read where they are; lists and other types are converted. A module of its own, because `range`
is Python's everywhere else.
"""

from ._core import (
    attention_decay,
    bound,
    bound_curve,
    bound_zeros,
    classify,
    digits,
    exposure,
    pair_factors_from_radix,
    position_estimate,
    radix_factors,
    range,
    score_correlation,
)

__all__ = [
    "attention_decay",
    "bound",
    "bound_curve",
    "bound_zeros",
    "classify",
    "digits",
    "exposure",
    "pair_factors_from_radix",
    "position_estimate",
    "radix_factors",
    "range",
    "score_correlation",
]
