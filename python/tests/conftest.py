# SPDX-License-Identifier: MIT
"""Run by `.ci/run python` against an installed wheel, in an environment that holds nothing else but numpy and pytest."""
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))  # tiny_gguf

import tiny_gguf  # noqa: E402  pylint: disable=wrong-import-position

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "num_hidden_layers": 32, "head_dim": 128, "max_position_embeddings": 8192,
         "rope_theta": 500000.0, "rope_scaling": None, "vocab_size": 128256}


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def gguf(tmp_path):
    """A GGUF of 32 pairs, base 1e5, 8192 trained tokens."""
    path = tmp_path / "m.gguf"
    tiny_gguf.write(path, "llama", {}, None, base=True)
    return path


@pytest.fixture
def folder(tmp_path):
    """A Hugging Face folder of Llama 3."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(LLAMA, indent=2) + "\n")
    (path / "model.safetensors").write_text("weights")
    return path
