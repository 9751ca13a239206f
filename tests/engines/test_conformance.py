# SPDX-License-Identifier: MIT
"""What mrrope says of an engine, against the engine itself.

    MRROPE_ENGINE=vllm $(tools/engine_env vllm) -m pytest -rs tests/engines/test_conformance.py

One adapter per engine (tests/engines/adapters) builds the engine's own rotary embedding from a config.json and reads
out the table, the magnitude and the length on offer; it holds no knowledge of what they ought to be. Two questions:

- Predictions: for every shape and rope type, `effective()` says what the engine builds, or that it fails.
- Files: what `mrrope extend` writes for the engine makes it build the plan's table; and the universal file serves the
  engine exactly when `extend` says so.
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
NAME = adapter.NAME
CATALOGUE = {e["name"]: e for e in c.dump("engines")}
TARGETS = ["universal", NAME]
METHODS = getattr(adapter, "METHODS", ["mrrope-pro", "mrrope-uni", "yarn", "linear", "ntk"])
SPELLINGS = getattr(adapter, "SPELLINGS", ["rope_parameters", "both"])
FORMULA = 2e-4  # an attention scale that comes out of a formula of whole numbers (docs/engines.md)


def asked(folder, context):
    """({group: (speeds, scale)}, None), or (None, the engine's error)."""
    try:
        return adapter.ask(folder, context), None
    except Exception as error:  # any failure of the engine is what must be foreseen
        return None, f"{type(error).__name__}: {error}"


def check_prediction(path, context):
    prediction = c.dump("effective", NAME, path, context)
    found, error = asked(path.parent, context)
    if error is not None:
        assert "error" in prediction or not prediction["loads"], error
        return
    if prediction.get("code") == "malformed":
        pytest.skip(f"no prediction: transformers calls the file malformed, and so does mrrope ({prediction['error']})")
    assert "error" not in prediction, prediction
    assert prediction["loads"], prediction["notes"]
    difference = c.same_rotation(prediction["groups"], found, adapter.TOLERANCE)
    assert difference is None, f"{difference}; notes: {prediction['notes']}"


def test_the_catalogue_names_this_version_and_these_models():
    if os.environ.get("MRROPE_ENGINE_NEWEST") != "1":
        assert CATALOGUE[NAME]["versions"].startswith(adapter.version())
    assert CATALOGUE[NAME]["evidence"] == "run" and CATALOGUE[NAME]["verified"]
    assert set(CATALOGUE[NAME]["models"].split()) == set(adapter.SHAPES) | set(getattr(adapter, "MORE_MODELS", []))


@pytest.mark.parametrize("context", adapter.CONTEXTS)
@pytest.mark.parametrize("rope", adapter.ROPES)
@pytest.mark.parametrize("shape", adapter.SHAPES)
def test_the_prediction_is_what_the_engine_builds(shape, rope, context, tmp_path):
    check_prediction(c.write_config(tmp_path, shape, c.ROPES[rope]), context)


@pytest.mark.parametrize("rope", [r for r in ("plain", "linear", "yarn", "longrope, L*") if r in adapter.ROPES])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("shape", adapter.SHAPES)
def test_the_prediction_holds_for_the_spelling_of_transformers_5(shape, spelling, rope, tmp_path):
    check_prediction(c.write_config(tmp_path, shape, c.ROPES[rope], spelling), adapter.CONTEXTS[-1])


@pytest.mark.skipif(not hasattr(adapter, "length"), reason="this engine has no length of its own")
@pytest.mark.parametrize("rope", adapter.ROPES if hasattr(adapter, "length") else ["any"])
@pytest.mark.parametrize("shape", adapter.SHAPES if hasattr(adapter, "length") else ["any"])
def test_the_length_on_offer_is_predicted(shape, rope, tmp_path):
    path = c.write_config(tmp_path, shape, c.ROPES[rope])
    prediction = c.dump("effective", NAME, path)
    try:
        length = adapter.length(tmp_path)
    except Exception as error:  # as above
        assert "error" in prediction or not prediction["loads"], error
        return
    assert prediction["context"] == length


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", adapter.SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_the_file_that_extend_writes_is_served_as_promised(target, shape, method, tmp_path):
    path = c.trained_config(tmp_path, shape)
    plan = json.loads(c.mrrope("plan", tmp_path, "-c", c.CONTEXT, "--method", method, "--json").stdout)
    groups = [
        dict(tables, name=spec.get("group", "all"))
        for spec, tables in zip(
            [plan["spec"], *plan["spec"].get("other_groups", [])], [plan, *plan.get("other_groups", [])]
        )
    ]
    arguments = [] if target == "universal" else ["--target", target]
    written = c.mrrope("extend", tmp_path, "-c", c.CONTEXT, "--method", method, "--json", *arguments, check=False)
    if target != "universal" and written.returncode != 0:
        # A refusal: then the universal file must not serve the engine either
        assert "cannot run" in written.stderr, written.stderr
        delivery = c.dump("deliver", "universal", path, c.CONTEXT, method)
        assert not next(s for s in delivery["services"] if s["engine"] == NAME)["served"]
        return
    assert written.returncode == 0, written.stderr
    served = True
    if target == "universal":
        services = c.dump("deliver", "universal", path.parent / "config.original.json", c.CONTEXT, method)["services"]
        served = next(s for s in services if s["engine"] == NAME)["served"]
    for context in adapter.CONTEXTS:
        found, error = asked(tmp_path, context)
        difference = error or c.same_rotation(groups, found, adapter.TOLERANCE, FORMULA)
        if difference is None and hasattr(adapter, "flaw"):
            difference = adapter.flaw(tmp_path)
        if not served:
            if difference is not None:
                return
            continue
        assert difference is None, difference
    assert served, "the file serves the engine, and extend says that it does not"
