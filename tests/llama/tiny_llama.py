# SPDX-License-Identifier: MIT
"""The llama architecture in numpy, float64, for a small model and a short text: what llama.cpp is checked against."""
import gguf
import numpy as np


class TinyLlama:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.w = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64) for t in reader.tensors}

        def key(name):
            return reader.fields[f"llama.{name}"].parts[-1][0]

        self.layers, self.heads, self.kv_heads = int(key("block_count")), int(key("attention.head_count")), int(key("attention.head_count_kv"))
        self.eps, self.base = float(key("attention.layer_norm_rms_epsilon")), float(key("rope.freq_base"))
        self.head = self.w["blk.0.attn_q.weight"].shape[0] // self.heads

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.w[name + ".weight"]

    def rotate(self, x, positions, inv_freq, scale):
        """x: [tokens, heads, head]; pairs are neighbours, as llama.cpp stores this architecture."""
        angle = positions[:, None, None] * inv_freq
        c, s = np.cos(angle) * scale, np.sin(angle) * scale
        out = np.empty_like(x)
        out[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
        out[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c
        return out

    def logits(self, tokens, inv_freq=None, scale=1.0, positions=None):
        """[tokens, vocabulary]"""
        n = len(tokens)
        if inv_freq is None:
            inv_freq = self.base ** (-np.arange(self.head // 2) * 2 / self.head)
        positions = np.arange(n) if positions is None else np.asarray(positions)
        x = self.w["token_embd.weight"][tokens]
        mask = np.triu(np.full((n, n), -np.inf), 1)
        for i in range(self.layers):
            h, b = self.norm(x, f"blk.{i}.attn_norm"), f"blk.{i}."
            q, k, v = ((h @ self.w[b + f"attn_{c}.weight"].T).reshape(n, -1, self.head) for c in "qkv")
            q, k = self.rotate(q, positions, inv_freq, scale), self.rotate(k, positions, inv_freq, scale)
            k, v = (np.repeat(y, self.heads // self.kv_heads, 1) for y in (k, v))
            scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(self.head) + mask
            p = np.exp(scores - scores.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            x = x + np.einsum("hqk,khd->qhd", p, v).reshape(n, -1) @ self.w[b + "attn_output.weight"].T
            h = self.norm(x, f"blk.{i}.ffn_norm")
            gate = h @ self.w[b + "ffn_gate.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ self.w[b + "ffn_up.weight"].T)) @ self.w[b + "ffn_down.weight"].T
        return self.norm(x, "output_norm") @ self.w.get("output.weight", self.w["token_embd.weight"]).T

    def nll(self, tokens, inv_freq=None, scale=1.0, positions=None):
        """-ln p of every token after the first."""
        logits = self.logits(tokens, inv_freq, scale, positions)
        most = logits.max(-1, keepdims=True)
        lse = (most + np.log(np.exp(logits - most).sum(-1, keepdims=True)))[:, 0]
        return lse[:-1] - logits[np.arange(len(tokens) - 1), tokens[1:]]
