# SPDX-License-Identifier: MIT
"""Muon (Keller Jordan, 2024) with the constants of torch.optim.Muon, which multiplies in bfloat16 whatever the processor. Where that is
emulated it takes a fifth of a step; here matrices of one shape are orthogonalised together, in what the processor multiplies."""
import collections

import torch

# What matrices are multiplied in: bfloat16 where the processor has it; elsewhere it is emulated and takes 2.6 times as long as float32.
NARROW = torch.bfloat16 if {"amx_bf16", "avx512_bf16"} & {k for k, v in torch.cpu.get_capabilities().items() if v is True} else torch.float32

MOMENTUM, STEPS, QUINTIC = 0.95, 5, (3.4445, -4.7750, 2.0315)


def orthogonal(matrices):
    """About the nearest orthogonal matrices of a stack (count, rows, columns): singular values become 0.7 to 1.2."""
    a, b, c = QUINTIC
    x = matrices.to(NARROW)
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(STEPS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).float()


class Muon(torch.optim.Optimizer):
    """For matrices. The rate is that of AdamW: an update has a root mean square of about 0.2 of it."""

    def __init__(self, matrices, weight_decay):
        super().__init__(matrices, {"lr": 0.0, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):  # pylint: disable=arguments-differ
        for group in self.param_groups:
            alike = collections.defaultdict(list)
            for weight in group["params"]:
                alike[weight.shape].append(weight)
            for shape, weights in alike.items():
                averages = []
                for weight in weights:
                    average = self.state[weight].setdefault("momentum_buffer", torch.zeros_like(weight))
                    average.lerp_(weight.grad, 1 - MOMENTUM)
                    averages.append(weight.grad.lerp(average, MOMENTUM))
                rate = 0.2 * max(shape) ** 0.5 * group["lr"]
                for weight, update in zip(weights, orthogonal(torch.stack(averages))):
                    weight.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-rate)
