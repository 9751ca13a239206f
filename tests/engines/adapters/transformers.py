# SPDX-License-Identifier: MIT
"""transformers 4 and 5: the rotary modules of the model class that a config.json names."""

import conformance as c

transformers = c.needs("transformers", "transformers5")

import torch

transformers.logging.set_verbosity_error()
NAME = f"transformers{transformers.__version__.split('.', maxsplit=1)[0]}"
TOLERANCE = 1e-6  # float32, read as an attribute
CONTEXTS = [4096, c.CONTEXT]  # tokens of the text
SHAPES = list(c.SHAPES)
ROPES = list(c.ROPES)
SECTIONED = [name for name in c.SECTIONED if NAME != "transformers4" or name != "qwen3_5"]
MORE_MODELS = c.fixture_models() | c.sectioned_models(SECTIONED)  # compared in test_targets.py and test_sections.py


def version():
    return transformers.__version__


def ask(folder, context):
    config = transformers.AutoConfig.from_pretrained(folder)
    body = transformers.AutoModelForCausalLM.from_config(config).model
    positions, x = torch.tensor([[1, context - 1]]), torch.zeros(1, 1)
    if hasattr(body, "rotary_emb_local"):  # Gemma 3 in transformers 4
        modules = {"full_attention": body.rotary_emb, "sliding_attention": body.rotary_emb_local}
    elif isinstance(getattr(body.rotary_emb, "rope_type", None), dict):  # Gemma 3 in transformers 5
        found = {}
        for name in body.rotary_emb.rope_type:
            body.rotary_emb(x, positions, layer_type=name)
            table = getattr(body.rotary_emb, f"{name}_inv_freq").double().numpy()
            found[name] = (table, float(getattr(body.rotary_emb, f"{name}_attention_scaling")))
        return found
    else:
        modules = {"all": body.rotary_emb}
    for module in modules.values():
        module(x, positions)  # the table may depend on the length
    return {name: (m.inv_freq.double().numpy(), float(m.attention_scaling)) for name, m in modules.items()}


def ask_sections(folder, context):
    """Of a model that sees pictures, the rotation of its text."""
    config = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForImageTextToText.from_config(config)
    rotary = next(m for name, m in model.named_modules() if name.endswith("rotary_emb") and "visual" not in name)
    positions = torch.tensor([[[1, context - 1]]] * 3)
    cosine, sine = (x.double().numpy() for x in rotary(torch.zeros(1, 1), positions))
    while cosine.ndim > 2:
        cosine, sine = cosine[0], sine[0]
    pairs = cosine.shape[-1] // 2
    return {"all": c.table_from(cosine[0, :pairs], sine[0, :pairs])}
