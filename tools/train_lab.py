#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a laboratory model: a llama of 1024 tokens that does most of RULER's tasks (tools/lab has its parts).

    python=$(tools/engine_env train)
    "$python" tools/train_lab.py train RUN_DIR [--seed N] [--hours H] [--until HH:MM]    goes on where RUN_DIR ended
    "$python" tools/train_lab.py train RUN_DIR --weights MODEL.gguf         the recipe's last leg, from a file that export made
    "$python" tools/train_lab.py export RUN_DIR OUT.gguf                    F16; make it Q8_0 with llama-quantize
    "$python" tools/train_lab.py evaluate RUN_DIR                           perplexity per byte, answers by family

RUN_DIR gets checkpoint.pt (written whole, every five minutes and at the end; SIGTERM and Ctrl-C end after the step), tokens.json
(the merges) and log.jsonl: a line for every ten steps with the loss of each family, tokens, seconds and learning rate, and for
every 500 steps how far it is. What a step reads depends on the seed and its number alone, so that a run that was killed goes on
as if it had not been. (Sums in bfloat16 differ between processors and numbers of threads.)

Text is read from $MRROPE_DATA/novels (default ../shared/data); the-moonstone.md is never trained on.
"""
import argparse
import collections
import datetime
import fcntl
import json
import os
import pathlib
import signal
import time

import torch

from lab import bpe, measure, recipe, training
from lab.model import Model, Rotation
from lab.text import Corpus

CHECKPOINT_SECONDS, LOG_STEPS, PROGRESS_STEPS = 300, 10, 500


class Stopping:
    """Whether to end: by a signal, or at a time."""

    def __init__(self, hours, until):
        self.end = time.time() + 3600 * hours if hours is not None else float("inf")
        if until is not None:
            self.end = min(self.end, datetime.datetime.combine(datetime.date.today(), until).timestamp())
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.ask)

    def ask(self, *_):
        self.asked = True

    def __bool__(self):
        return self.asked or time.time() >= self.end


def open_log(path, step):
    """For appending, without the lines that a killed run wrote after its last checkpoint."""
    if path.exists():
        whole = [line for line in path.read_text().splitlines(True) if line.endswith("\n")]
        kept = [line for line in whole if json.loads(line)["step"] <= step]
        path.with_suffix(".new").write_text("".join(kept))
        path.with_suffix(".new").replace(path)
    return open(path, "a", encoding="utf-8", buffering=1)


def lock(run):
    """A file that is this process's until it ends: two that train in one folder would write over each other's checkpoints."""
    file = open(run / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"train_lab: another process trains in {run}") from None
    return file


def load_tokenizer(run, corpus):
    path = run / "tokens.json"
    if not path.exists():
        recipe.tokenizer(corpus).save(path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
    return bpe.Tokenizer.load(path)


def start(run, shape, seed, steps, weights):
    """The model, its optimizers, the step that is done and the seconds that it took."""
    torch.manual_seed(seed)
    model = Model(recipe.SHAPES[shape]).train()
    optimizers = training.make_optimizers(model)
    path = run / "checkpoint.pt"
    if not path.exists():
        if weights is None:
            return model, optimizers, 0, 0.0
        from lab import gguf_file  # here, so that training from nothing needs torch alone

        if gguf_file.tokens(weights) != bpe.Tokenizer.load(run / "tokens.json").tokens:
            raise SystemExit(f"train_lab: {weights} has other tokens than {run / 'tokens.json'}, which was learnt from other novels")
        model.load_state_dict(gguf_file.read(weights).state_dict())
        return model, optimizers, recipe.LEGS[-1][0], 0.0
    state = training.restore(path, model, optimizers)
    if (state["shape"], state["seed"]) != (shape, seed):
        raise SystemExit(f"train_lab: {run} has shape {state['shape']} and seed {state['seed']}; choose another folder")
    if any(recipe.learning_rate(step, state["steps"]) != recipe.learning_rate(step, steps) for step in range(state["step"])):
        raise SystemExit(f"train_lab: the learning rate of {run} falls towards its end, {state['steps']}, which cannot be moved any more")
    return model, optimizers, state["step"], state["seconds"]


def train(args, data):
    args.run.mkdir(parents=True, exist_ok=True)
    locked = lock(args.run)
    corpus, held_out = Corpus(data), Corpus(data, held_out=True)
    tokenizer = load_tokenizer(args.run, corpus)
    model, optimizers, done, before = start(args.run, args.shape, args.seed, args.steps, args.weights)
    log = open_log(args.run / "log.jsonl", done)
    stopping = Stopping(args.hours, args.until)  # until here there is nothing to save, and a signal ends at once
    began = saved = time.time()

    def seconds():
        return round(before + time.time() - began, 1)

    sums = collections.defaultdict(lambda: [0.0, 0.0])  # of each family: weighted losses, weights
    for step in range(done, args.steps):
        tokens, weights, families = recipe.batch(corpus, tokenizer, args.seed, step)
        rate = recipe.learning_rate(step, args.steps)
        rotation = Rotation(tokens.shape[1] - 1)
        for loss, weight, family in zip(*training.optimize(model, optimizers, rate, (tokens, weights), rotation), families):
            sums[family][0] += loss
            sums[family][1] += weight
        step += 1
        if step % LOG_STEPS and step != args.steps:
            continue
        losses = {family: round(loss / weight, 4) for family, (loss, weight) in sorted(sums.items()) if weight}
        line = {"step": step, "seconds": seconds(), "rate": rate, "length": tokens.shape[1] - 1, "losses": losses}
        sums.clear()
        if step % PROGRESS_STEPS == 0 or step == args.steps:
            line["progress"] = measure.progress(model, held_out, tokenizer, recipe.CONTEXT, 20)
        log.write(json.dumps(line) + "\n")
        stop = bool(stopping) or step == args.steps
        if stop or time.time() - saved > CHECKPOINT_SECONDS:
            facts = {"step": step, "seconds": seconds(), "shape": args.shape, "seed": args.seed, "steps": args.steps}
            training.save(args.run / "checkpoint.pt", model, optimizers, **facts)
            saved = time.time()
        if stop:
            break
    print(f"step {step} of {args.steps}, {seconds() / 3600:.2f} h", flush=True)
    locked.close()


def load(run):
    state = torch.load(run / "checkpoint.pt")
    model = Model(recipe.SHAPES[state["shape"]])
    model.load_state_dict(state["model"])
    return model.eval(), bpe.Tokenizer.load(run / "tokens.json")


def export(args, _):
    import gguf  # here, so that training needs torch alone

    from lab import gguf_file

    model, tokenizer = load(args.run)
    special = [gguf.TokenType.CONTROL] * len(bpe.SPECIAL)
    gguf_file.write(args.out, model, "mrrope-lab-1024", recipe.CONTEXT, {
        "tokenizer_model": "gpt2",
        "tokenizer_pre": "smollm",
        "token_list": tokenizer.tokens,
        "token_types": special + [gguf.TokenType.NORMAL] * (len(tokenizer.tokens) - len(special)),
        "token_merges": [" ".join(pair) for pair in tokenizer.merges],
        "bos_token_id": bpe.BOS,
        "eos_token_id": bpe.EOS,
        "add_bos_token": True,
        "add_space_prefix": False,
    })


def evaluate(args, data):
    model, tokenizer = load(args.run)
    held_out = Corpus(data, held_out=True)
    for length in (256, 512, recipe.CONTEXT):
        print(length, json.dumps(measure.progress(model, held_out, tokenizer, length, args.samples)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for function in (train, export, evaluate):
        command = commands.add_parser(function.__name__)
        command.set_defaults(function=function)
        command.add_argument("run", type=pathlib.Path, metavar="RUN_DIR")
        if function is train:
            command.add_argument("--seed", type=int, default=1)
            command.add_argument("--shape", choices=recipe.SHAPES, default=recipe.SHAPE)
            command.add_argument("--steps", type=int, default=recipe.STEPS, help="where the learning rate is zero")
            command.add_argument("--hours", type=float, help="stop after so many")
            command.add_argument("--until", type=datetime.time.fromisoformat, metavar="HH:MM", help="stop today at this time")
            command.add_argument("--weights", type=pathlib.Path, metavar="MODEL.gguf", help="begin the last leg with them")
            command.add_argument("--threads", type=int, default=2)
        elif function is export:
            command.add_argument("out", type=pathlib.Path, metavar="OUT.gguf")
        else:
            command.add_argument("--samples", type=int, default=50, help="of each family")
    args = parser.parse_args()
    torch.set_num_threads(getattr(args, "threads", 2))
    root = pathlib.Path(__file__).resolve().parent.parent
    args.function(args, os.environ.get("MRROPE_DATA", root.parent / "shared" / "data"))


if __name__ == "__main__":
    main()
