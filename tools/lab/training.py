# SPDX-License-Identifier: MIT
"""Steps of training and what is kept between them, for tools/train_tiny.py and tools/train_lab.py."""
import os

import torch
from torch import nn

from lab.muon import Muon


def learning_rate(step, steps, peak, warmup, decay_share):
    """Warm up, stay, then fall to zero over the last share: the end may be moved while the rate still stays."""
    return peak * min(1, (step + 1) / warmup, (steps - step) / (decay_share * steps))


def make_optimizers(model):
    """Muon for the matrices inside the blocks, the only weights it is meant for; AdamW for embedding and norms."""
    matrices = [w for w in model.blk.parameters() if w.dim() == 2]
    others = [w for w in model.parameters() if not any(w is m for m in matrices)]
    return (
        Muon(matrices, weight_decay=0.05),
        torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0),
    )


def optimize(model, optimizers, rate, batch, rotation):
    """One step on (tokens, weights) by the weighted mean of the losses; the weighted losses and the weights of each row."""
    losses, weights = model.loss(*batch, rotation)
    weighted = losses * weights
    model.zero_grad()
    (weighted.sum() / weights.sum()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    rows = (batch[1] > 0).nonzero()[:, 0]
    return torch.zeros(len(batch[1])).index_add(0, rows, weighted.detach()).tolist(), batch[1].sum(1).tolist()


def save(path, model, optimizers, **facts):
    """A whole file or the old one: a run that is killed while writing can still be resumed."""
    state = {"model": model.state_dict(), "optimizers": [o.state_dict() for o in optimizers]}
    new = path.with_suffix(".new")
    with open(new, "wb") as file:
        torch.save(state | facts, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def restore(path, model, optimizers):
    """Loads what save wrote; the facts are in what is returned."""
    state = torch.load(path)
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"]):
        optimizer.load_state_dict(saved)
    return state
