# SPDX-License-Identifier: MIT
"""Models that see pictures (M-RoPE: three positions per token), of which mrrope extends the text: what `effective()` says
of a scaling beside mrope_section, and what `mrrope extend` writes, against the engine itself.

    MRROPE_ENGINE=vllm $(tools/engine_env vllm) -m pytest -rs tests/engines/test_sections.py
"""

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

ENGINE = os.environ.get("MRROPE_ENGINE")
if ENGINE is None:
    pytest.skip("MRROPE_ENGINE names no engine; see .ci/run engines", allow_module_level=True)
adapter = importlib.import_module(f"adapters.{ENGINE}")
if not hasattr(adapter, "ask_sections"):
    pytest.skip(f"{ENGINE} was not run with models that see pictures", allow_module_level=True)
NAME = adapter.NAME
FORMULA = 2e-4  # as in test_conformance.py


def asked(folder):
    """({group: (speeds, scale)}, None), or (None, the engine's error)."""
    try:
        return adapter.ask_sections(folder, c.CONTEXT), None
    except Exception as error:  # any failure of the engine is what must be foreseen
        return None, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("rope", c.ROPES)
@pytest.mark.parametrize("shape", adapter.SECTIONED)
def test_the_prediction_is_what_the_engine_builds(shape, rope, tmp_path):
    path = c.write_sectioned(tmp_path, shape, c.ROPES[rope])
    prediction = c.dump("effective", NAME, path, c.CONTEXT)
    found, error = asked(tmp_path)
    if error is not None:
        assert not prediction["loads"], error
        return
    assert prediction["loads"], prediction
    difference = c.same_rotation(prediction["groups"], found, adapter.TOLERANCE)
    assert difference is None, f"{difference}; notes: {prediction['notes']}"


@pytest.mark.parametrize("method", ["mrrope-pro", "yarn", "linear", "ntk"])
@pytest.mark.parametrize("shape", adapter.SECTIONED)
@pytest.mark.parametrize("target", ["universal", NAME])
def test_the_file_that_extend_writes_is_served_as_promised(target, shape, method, tmp_path):
    path = c.write_sectioned(tmp_path, shape, None, context=c.TRAINED)
    delivery = c.dump("deliver", target, path, c.CONTEXT, method)
    if "error" in delivery:
        assert target == NAME and "cannot run" in delivery["error"], delivery
        assert "Nearest that it can: " in delivery["error"], delivery
        return
    path.write_text(delivery["config"])
    text = json.loads(delivery["config"])
    text = text.get("text_config", text)
    for spelling in ("rope_scaling", "rope_parameters"):  # whoever looks into either finds the sections
        assert spelling not in text or c.SECTIONED[shape].items() <= text[spelling].items()
    found, error = asked(tmp_path)
    difference = error or c.same_rotation(delivery["groups"], found, adapter.TOLERANCE, FORMULA)
    served = target == NAME or next(s for s in delivery["services"] if s["engine"] == NAME)["served"]
    assert (difference is None) == served, difference
