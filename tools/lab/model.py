# SPDX-License-Identifier: MIT
"""llama, with the rotation table as an argument; names of modules are the names of GGUF tensors."""
import dataclasses

import torch
from torch import nn
from torch.nn import functional

from lab.muon import NARROW

HEAD_DIM, ROPE_BASE, NORM_EPSILON = 64, 10000.0, 1e-5


@dataclasses.dataclass(frozen=True)
class Shape:
    vocabulary: int
    embedding: int
    layers: int
    heads: int
    kv_heads: int  # a divisor of heads
    feed_forward: int


class Rotation:
    """Turns every pair by its angle; a plan divides the frequency of pair i by factor i and scales the result."""

    def __init__(self, length, pair_factors=1.0, attention_scale=1.0):
        inv_freq = ROPE_BASE ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
        inv_freq = inv_freq / torch.as_tensor(pair_factors, dtype=torch.float64)
        angle = torch.arange(length, dtype=torch.float64)[:, None] * inv_freq
        self.turn = torch.polar(torch.tensor(float(attention_scale), dtype=torch.float64).expand_as(angle), angle)
        self.turn = self.turn.to(torch.complex64)[:, None]  # (length, 1, pairs)

    def __call__(self, x):
        """Of x (samples, length, heads, HEAD_DIM). Pairs are neighbours, the order in which GGUF stores a llama."""
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * self.turn).flatten(-2).to(x.dtype)


def narrow(x):
    """What autocast would do for every matrix that reads x, done once."""
    return x.to(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else x


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.attn_norm = nn.RMSNorm(shape.embedding, NORM_EPSILON)
        self.attn_q = nn.Linear(shape.embedding, shape.heads * HEAD_DIM, bias=False)
        self.attn_k = nn.Linear(shape.embedding, shape.kv_heads * HEAD_DIM, bias=False)
        self.attn_v = nn.Linear(shape.embedding, shape.kv_heads * HEAD_DIM, bias=False)
        self.attn_output = nn.Linear(shape.heads * HEAD_DIM, shape.embedding, bias=False)
        self.ffn_norm = nn.RMSNorm(shape.embedding, NORM_EPSILON)
        self.ffn_gate = nn.Linear(shape.embedding, shape.feed_forward, bias=False)
        self.ffn_up = nn.Linear(shape.embedding, shape.feed_forward, bias=False)
        self.ffn_down = nn.Linear(shape.feed_forward, shape.embedding, bias=False)

    def forward(self, x, rotate):
        h = narrow(self.attn_norm(x))
        q, k, v = (f(h).unflatten(-1, (-1, HEAD_DIM)) for f in (self.attn_q, self.attn_k, self.attn_v))
        heads_first = (t.transpose(1, 2) for t in (rotate(q), rotate(k), v))
        grouped = self.shape.kv_heads != self.shape.heads
        y = functional.scaled_dot_product_attention(*heads_first, is_causal=True, enable_gqa=grouped)
        x = x + self.attn_output(y.transpose(1, 2).flatten(-2))
        h = narrow(self.ffn_norm(x))
        return x + self.ffn_down(functional.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocabulary, shape.embedding)  # also the output matrix
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = nn.RMSNorm(shape.embedding, NORM_EPSILON)
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)

    def hidden(self, tokens, rotate):
        x = self.token_embd(tokens)
        for block in self.blk:
            x = block(x, rotate)
        return narrow(self.output_norm(x))

    def loss(self, tokens, weights, rotate):
        """Negative log likelihood of the tokens after the first whose weight is not 0, a list, and their weights; in bfloat16 where the processor
        has it."""
        counts = weights > 0
        with torch.autocast("cpu", torch.bfloat16, enabled=NARROW == torch.bfloat16):
            logits = functional.linear(self.hidden(tokens[:, :-1], rotate)[counts], self.token_embd.weight).float()
        return functional.cross_entropy(logits, tokens[:, 1:][counts], reduction="none"), weights[counts]

    def logits(self, tokens, rotate):
        return functional.linear(self.hidden(tokens, rotate), self.token_embd.weight)

    def losses(self, tokens, rotate):
        """Negative log likelihood (samples, length) of every token after the first, and the likeliest tokens; in float32."""
        logits = self.logits(tokens[:, :-1], rotate)
        return functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none"), logits.argmax(-1)
