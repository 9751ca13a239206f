# SPDX-License-Identifier: MIT
"""Finds the plan for a transformers model by measuring, and writes it for `mrrope extend` and `mrrope.patch`.

    python tune_model.py Llama-3-8B 32k novel.txt manual.txt

Run it again after an interrupt: it goes on from tuned.jsonl.
"""
import argparse
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import mrrope

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model", help="a folder of Hugging Face")
parser.add_argument("length", help="the context wanted: 32k")
parser.add_argument("texts", nargs="*", type=pathlib.Path, help="what the model will read; built-in prose without any")
parser.add_argument("--tokens", type=int, help="for the search (25 tables)")
words = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
model = AutoModelForCausalLM.from_pretrained(words.model).to(device)
tokenizer = AutoTokenizer.from_pretrained(words.model)


def show(done, total, what):
    if sys.stderr.isatty():
        print(f"\r{100 * done // total:3d} %  {what:<70.70}", end="", file=sys.stderr)


tuned = mrrope.tune(model, tokenizer, words.length, texts=words.texts or None, tokens=words.tokens, record="tuned.jsonl", progress=show)
print(tuned)
pathlib.Path("plan.json").write_text(tuned.plan.to_json())
