# SPDX-License-Identifier: MIT
"""What surprises people in ONNX Runtime GenAI, and a plan brought into it; the grid is in test_conformance.py.

    $(tools/engine_env onnxruntime_genai) -m pytest -rs tests/engines/test_onnxruntime_genai.py
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

og = c.needs("onnxruntime_genai", "onnxruntime_genai")
import onnx  # noqa: E402
import torch  # noqa: E402
from adapters import models, onnxruntime_genai as adapter  # noqa: E402

TOKENS = [3 + (i * i + 7 * i) % 250 for i in range(300)]


@pytest.mark.parametrize("rope", ["linear", "dynamic", "yarn", "yarn, betas", "longrope, L*"])
def test_a_scaling_of_llama_is_ignored_without_a_word(rope, tmp_path, capfd):
    c.write_config(tmp_path, "llama", c.ROPES[rope])
    speeds, scale = adapter.ask(tmp_path, c.CONTEXT)["all"]
    assert np.abs(speeds / c.BASE ** (-np.arange(c.PAIRS) / c.PAIRS) - 1).max() < adapter.TOLERANCE
    assert scale == pytest.approx(1, rel=1e-6)
    assert "rope" not in capfd.readouterr().err.lower()


@pytest.mark.parametrize(
    ("rope", "error"), [("yarn", ZeroDivisionError), ("longrope, L*", NotImplementedError), ("dynamic", NotImplementedError)]
)
def test_the_same_on_qwen2_fails(rope, error, tmp_path):
    c.write_config(tmp_path, "qwen2", c.ROPES[rope])
    with pytest.raises(error):
        adapter.ask(tmp_path, c.CONTEXT)


def logits(folder):
    model = og.Model(str(folder))
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=len(TOKENS) + 2, batch_size=1)
    generator = og.Generator(model, parameters)
    generator.append_tokens(np.array([TOKENS], dtype=np.int32))
    return generator.get_output("logits")[0, -1]


def test_a_plan_in_its_caches_decodes_as_transformers_does(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    c.trained_config(source, "llama")
    plan = json.loads(c.mrrope("plan", source, "-c", c.CONTEXT, "--method", "mrrope-pro", "--json").stdout)
    adapter.build(source, out)
    plain = logits(out)

    file = onnx.load(str(out / "model.onnx"))
    tables = {t.name: t for t in file.graph.initializer if t.name in ("cos_cache", "sin_cache")}
    rows = tables["cos_cache"].dims[0]
    angles = np.outer(np.arange(rows), plan["inv_freq"])
    for name, function in (("cos_cache", np.cos), ("sin_cache", np.sin)):
        values = (plan["attention_scale"] * function(angles)).astype(np.float32)
        tables[name].CopyFrom(onnx.numpy_helper.from_array(values, name))
    onnx.save(file, str(out / "model.onnx"))

    model = models.random_model(source)
    rotary = model.model.rotary_emb
    rotary.inv_freq = torch.tensor(plan["inv_freq"], dtype=torch.float32)
    rotary.attention_scaling = plan["attention_scale"]
    with torch.no_grad():
        expected = model(torch.tensor([TOKENS])).logits[0, -1].numpy()
    scale = np.abs(expected).max()
    assert np.abs(logits(out) - expected).max() < 1e-4 * scale  # float32 through one layer, two implementations
    assert np.abs(plain - expected).max() > 1e-2 * scale
