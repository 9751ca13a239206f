# SPDX-License-Identifier: MIT
"""mistral.rs shows no table: what it makes of a config is read from the probabilities of a small Llama.

    $(tools/engine_env mistralrs) -m pytest -rs tests/engines/test_mistralrs.py

The reference is a Llama in numpy with the speeds and the scale that mrrope predicts. A text of 1500 bytes: an error of
1 % in the median speed moves log-probabilities by 1e-1, one of 1e-4 in the scale by 1e-4. float32 through one layer and
1500 positions leaves 5e-5.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ["MISTRALRS_CPU_KV_F32"] = "1"
import conformance as c  # noqa: E402  pylint: disable=wrong-import-position

mistralrs = c.needs("mistralrs", "mistralrs")
import tiny_llama  # noqa: E402  pylint: disable=wrong-import-position

TOLERANCE = 2e-4
TEXT = "".join(chr(97 + (i * i + 7 * i) % 26) + (" " if i % 6 == 5 else "") for i in range(1290))[:1500]
TOKENS = [b + 3 for b in TEXT.encode()]
PLAIN = np.float64(c.BASE) ** (-np.arange(c.PAIRS) / c.PAIRS)


def answer(folder):
    """{token: log-probability} of the ten likeliest next tokens."""
    which = mistralrs.Which.Plain(
        model_id=str(folder), arch=mistralrs.Architecture.Llama, dtype=mistralrs.ModelDType.F32
    )
    runner = mistralrs.Runner(which=which, max_seqs=1)
    request = mistralrs.ChatCompletionRequest(
        model="x", messages=TEXT, max_tokens=2, temperature=0.0, logprobs=True, top_logprobs=10
    )
    choice = runner.send_chat_completion_request(request).choices[0]
    return {int(t.token): t.logprob for t in choice.logprobs.content[0].top_logprobs}


def distance(found, expected):
    return max(abs(value - expected[token]) for token, value in found.items())


@pytest.mark.parametrize("rope", ["plain", "linear", "llama3"])
def test_the_prediction_is_what_it_computes(rope, tmp_path):
    path = c.write_config(tmp_path, "llama", c.ROPES[rope])
    w = tiny_llama.weights()
    tiny_llama.save(tmp_path, w)
    group = c.dump("effective", "mistral.rs", path)["groups"][0]
    found = answer(tmp_path)
    assert distance(found, tiny_llama.log_probabilities(w, TOKENS, group["inv_freq"], group["attention_scale"])) < TOLERANCE
    if rope != "plain":
        assert distance(found, tiny_llama.log_probabilities(w, TOKENS, PLAIN)) > 100 * TOLERANCE


@pytest.mark.parametrize("rope", ["dynamic", "yarn", "longrope", "longrope, L*"])
def test_what_it_refuses_is_foreseen(rope, tmp_path):
    path = c.write_config(tmp_path, "llama", c.ROPES[rope])
    tiny_llama.save(tmp_path, tiny_llama.weights())
    assert not c.dump("effective", "mistral.rs", path)["loads"]
    with pytest.raises(ValueError, match="unknown variant|rope"):
        answer(tmp_path)


def plan_of(folder):
    return json.loads(c.mrrope("plan", folder, "-c", c.CONTEXT, "--method", "mrrope-pro", "--json").stdout)


def test_a_tensor_of_factors_with_the_scale_in_the_queries_carries_a_plan(tmp_path):
    c.trained_config(tmp_path, "llama")
    plan = plan_of(tmp_path)
    w = tiny_llama.weights()
    expected = tiny_llama.log_probabilities(w, TOKENS, plan["inv_freq"], plan["attention_scale"])
    w["model.layers.0.self_attn.q_proj.weight"] *= np.float32(plan["attention_scale"] ** 2)
    w["model.rope_freqs.weight"] = np.array(plan["pair_factors"], np.float32)
    tiny_llama.save(tmp_path, w)
    assert distance(answer(tmp_path), expected) < TOLERANCE


def test_the_same_tensor_without_its_prefix_is_silently_ignored(tmp_path):
    c.trained_config(tmp_path, "llama")
    w = tiny_llama.weights()
    tiny_llama.save(tmp_path, w | {"rope_freqs.weight": np.array(plan_of(tmp_path)["pair_factors"], np.float32)})
    assert distance(answer(tmp_path), tiny_llama.log_probabilities(w, TOKENS, PLAIN)) < TOLERANCE
