# SPDX-License-Identifier: MIT
"""What surprises people in mlx-lm, each as a test; the grid of configs is in test_conformance.py.

    $(tools/engine_env mlx_lm) -m pytest -rs tests/engines/test_mlx_lm.py
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

c.needs("mlx_lm", "mlx_lm")
from adapters import mlx_lm as adapter  # noqa: E402


def test_a_config_that_transformers_5_saved_loses_base_and_scaling_on_llama(tmp_path):
    path = c.write_config(tmp_path, "llama", c.UNIVERSAL, "rope_parameters")
    plain = 1e4 ** (-np.arange(c.PAIRS) / c.PAIRS)
    speeds, scale = adapter.ask(tmp_path, c.CONTEXT)["all"]
    assert np.abs(speeds / plain - 1).max() < adapter.TOLERANCE and abs(scale - 1) < adapter.TOLERANCE
    assert any("takes 10000" in note for note in c.dump("effective", "mlx-lm", path)["notes"])


def test_both_spellings_together_work(tmp_path):
    c.write_config(tmp_path, "llama", c.UNIVERSAL, "both")
    wanted = [b / s for b, s in zip((c.BASE ** (-i / c.PAIRS) for i in range(c.PAIRS)), c.LONG)]
    assert np.abs(adapter.ask(tmp_path, c.CONTEXT)["all"][0] / wanted - 1).max() < adapter.TOLERANCE


def test_yarn_ignores_truncate(tmp_path):
    tables = []
    for rope in ("yarn", "yarn, no truncation"):
        c.write_config(tmp_path, "llama", c.ROPES[rope])
        tables.append(adapter.ask(tmp_path, c.CONTEXT)["all"][0])
    assert np.array_equal(*tables)
