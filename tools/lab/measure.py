# SPDX-License-Identifier: MIT
"""How far a model of the lab is, on the held-out novel and with its words. For curves; `mrrope eval` is what counts."""
import math

import numpy as np
import torch

from lab import bpe, recipe
from lab.model import Rotation
from lab.text import ANSWER, Draw

ASKED = ("single", "several", "lines", "tracking", "common", "frequent", "questions")


def nats_per_byte(model, corpus, tokenizer, windows, length):
    """Of windows spread evenly over the novel, each BOS and length - 1 tokens."""
    text, total, size = corpus.novels[0], 0.0, 0
    for i in range(windows):
        start = (2 * i + 1) * (len(text) - 6 * length) // (2 * windows)
        tokens = tokenizer(text[start : start + 6 * length])[: length - 1]
        total += model.losses(torch.tensor([[bpe.BOS, *tokens]]), Rotation(length - 1))[0].sum().item()
        size += int(tokenizer.width[tokens].sum())
    return total / size


def found(model, corpus, tokenizer, family, samples, length):
    """Share of texts whose answers are all right, in every token. Greedy decoding is right exactly if each token is the likeliest
    after the right ones before it, so one pass without generation decides."""
    right = 0
    for i in range(samples):
        made = recipe.FAMILIES[family](Draw(corpus, f"test/{family}/{i}"), tokenizer, length - 2)
        if made is None:  # too long a task for the length
            continue
        tokens, weights = made
        _, guess = model.losses(torch.tensor([[bpe.BOS, *tokens]]), Rotation(len(tokens)))
        right += bool((guess[0].numpy() == tokens)[np.array(weights) >= ANSWER].all())
    return right / samples


def progress(model, corpus, tokenizer, length, samples):
    """Held-out perplexity per byte, and the share of texts of which every answer is right, by family."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        figures = {"perplexity_per_byte": round(math.exp(nats_per_byte(model, corpus, tokenizer, 8, length)), 4)}
        figures |= {family: found(model, corpus, tokenizer, family, samples, length) for family in ASKED}
    model.train(was_training)
    return figures
