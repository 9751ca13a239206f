# SPDX-License-Identifier: MIT
"""Patches a transformers model and draws what the patch does to its table.

    python patch_and_plot.py                     a tiny random Llama: seconds, no download
    python patch_and_plot.py Qwen/Qwen3-0.6B     a real one
    python patch_and_plot.py --output table.png

Written in cells (# %%), for editors that run them one by one.
"""
# %% The model
import argparse

import torch
from transformers import AutoConfig, AutoModelForCausalLM

import mrrope

parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
parser.add_argument("model", nargs="?", help="a model of transformers (default: a tiny random one)")
parser.add_argument("--factor", type=int, default=4, help="how many times the trained length")
parser.add_argument("--output", default="table.png", help="the picture")
arguments = parser.parse_args()

if arguments.model:
    model = AutoModelForCausalLM.from_pretrained(arguments.model)
else:
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model("llama", hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=2,
                             vocab_size=96, max_position_embeddings=512, initializer_range=0.06))
model.eval()

# %% The plan, and why it is what it is
spec = mrrope.spec(model.config)
plan = mrrope.plan(spec, arguments.factor * spec.context)
print(plan)
print(plan.explain())

# %% The model with and without it, on a text twice as long as it was trained for
tokens = torch.randint(0, model.config.vocab_size, (1, 2 * spec.context), generator=torch.Generator().manual_seed(1))
with torch.no_grad():
    before = model(tokens).logits
    with mrrope.patch(model, plan) as patched:
        print("patched", *patched.modules)
        after = model(tokens).logits
change = (after - before).abs().amax(dim=-1)[0]
half = spec.context // 2
print(f"largest change of a logit: {change[:half].max():.3f} in the first {half} tokens, "
      f"{change[spec.context:].max():.3f} beyond the trained length")

# %% The picture: by how much each pair is slowed down, for the methods people use
import matplotlib  # noqa: E402

matplotlib.use("Agg")  # no display is needed
from matplotlib import pyplot as plt  # noqa: E402

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for method in ("linear", "ntk", "yarn", "mrrope-uni", "mrrope-pro"):
    axes.plot(mrrope.plan(spec, plan.context, method).pair_factors, label=method)
axes.axvspan(plan.band.low, plan.band.high, alpha=0.1, label="band")
axes.set(xlabel="pair (fast pairs left)", ylabel="slowed down by", yscale="log",
         title=f"{spec.context} to {plan.context} tokens")
axes.legend()
figure.savefig(arguments.output, dpi=150)
print("wrote", arguments.output)
