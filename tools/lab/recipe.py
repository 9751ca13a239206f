# SPDX-License-Identifier: MIT
"""What the lab's model is and what it reads, step by step. Everything of a step follows from the seed and its number."""
import numpy as np
import torch

from lab import bpe, hidden, lists, prose, training
from lab.model import Shape
from lab.text import FORM, Draw

# Tokens that RULER's prompts need at least with their answers, without haystack; medians of five (qa: of 240 SQuAD paragraphs):
#
#   vocabulary                bytes   1024   2048   4096
#   niah_single_1 to 3      329-389    123    108    105    (UUIDs: 182, 170, 161)
#   niah_multikey_2, 3      355-526    133    123    121    (two records; UUIDs: 339, 323, 322)
#   niah_multiquery             672    285    273    258
#   vt with its example        1906    781    634    628
#   cwe 6 : 1                  1058    599    538    494
#   qa, one more document      1771    757    643    575
#   novel, bytes per token     1.00   2.68   3.13   3.52
#
# With 30 to 128 tokens left for answers bytes have no room for three of the thirteen at 1024, and a line or two of haystack for
# others. From 2048 to 4096 little is gained; the embedding would double, to a sixth of the model.
CONTEXT, VOCABULARY = 1024, 2048

SHAPES = {
    "smoke": Shape(VOCABULARY, embedding=128, layers=2, heads=2, kv_heads=1, feed_forward=64),  # to try the tool
    "2m": Shape(VOCABULARY, embedding=192, layers=4, heads=3, kv_heads=3, feed_forward=640),
}

FAMILIES = {
    f.__name__: f
    for f in (prose.novel, prose.repeats, prose.records, prose.questions, hidden.single, hidden.several, hidden.roll,
              hidden.between, hidden.reminders, hidden.lines, hidden.object_of_keys, hidden.spoken, lists.tracking, lists.common,
              lists.frequent)
}

SHAPE, STEPS = "2m", 11400
# First step, peak of the learning rate, steps in which it rises, share of the leg in which it falls to 0. The second leg was added
# when the first had ended and had learnt one key, but not one among several; the third when it still did not say which of several
# values comes next; the fourth for the last points of lists.
LEGS = ((0, 2e-3, 100, 0.4), (3600, 1.2e-3, 40, 0.8), (4800, 1.2e-3, 40, 0.5), (10500, 8e-4, 40, 0.8))

TOKENS_PER_STEP = 4096
# Retrieval needs copying, and copying is learnt from short texts that repeat. (First step, length, share of each family.)
STAGES = (
    (0, 128, {"repeats": 0.55, "records": 0.30, "novel": 0.15}),
    (500, 256, {"novel": 0.25, "repeats": 0.10, "records": 0.20, "reminders": 0.20, "single": 0.08, "spoken": 0.05, "lines": 0.06,
                 "between": 0.06}),
    (1400, 512, {"novel": 0.25, "records": 0.08, "reminders": 0.16, "single": 0.06, "several": 0.08, "between": 0.06, "lines": 0.13,
                 "spoken": 0.02, "tracking": 0.05, "common": 0.04, "frequent": 0.04, "questions": 0.03}),
    (2200, CONTEXT, {"novel": 0.22, "records": 0.04, "reminders": 0.10, "single": 0.07, "several": 0.12, "between": 0.06,
                     "lines": 0.13, "object_of_keys": 0.02, "spoken": 0.02, "tracking": 0.06, "common": 0.07, "frequent": 0.06,
                     "questions": 0.03}),
    (3600, CONTEXT, {"novel": 0.12, "reminders": 0.12, "single": 0.05, "several": 0.27, "between": 0.08, "lines": 0.22,
                     "object_of_keys": 0.02, "spoken": 0.02, "tracking": 0.10}),
    (4800, 512, {"novel": 0.08, "reminders": 0.06, "single": 0.04, "roll": 0.34, "several": 0.12, "between": 0.08, "lines": 0.10,
                 "spoken": 0.02, "tracking": 0.16}),
    (6300, CONTEXT, {"novel": 0.12, "reminders": 0.04, "single": 0.05, "roll": 0.13, "several": 0.22, "between": 0.06, "lines": 0.12,
                     "object_of_keys": 0.01, "spoken": 0.02, "tracking": 0.15, "frequent": 0.08}),
    (10500, CONTEXT, {"novel": 0.13, "reminders": 0.04, "single": 0.05, "roll": 0.12, "several": 0.24, "between": 0.06, "lines": 0.22,
                      "object_of_keys": 0.01, "spoken": 0.02, "tracking": 0.11}),
)


def learning_rate(step, steps):
    """Of a training that ends after `steps`: a leg ends there, or where the next begins."""
    ends = [begin for begin, *_ in LEGS[1:] if begin < steps] + [steps]
    (begin, peak, rise, fall), end = next((leg, end) for leg, end in zip(LEGS, ends) if step < end)
    return training.learning_rate(step - begin, end - begin, peak, rise, fall)


def stage(step):
    return next(stage for stage in reversed(STAGES) if step >= stage[0])


def row(corpus, tokenizer, family, length, seed):
    """Tokens (length + 1) and weights (length) of a text of the family, which takes all of the length or, one time in three,
    some of it; the rest is a novel's, and so is all where the family has no text so short. A text begins with BOS and ends with
    EOS."""
    draw = Draw(corpus, seed)
    room = length if draw.random.random() < 0.67 else draw.random.randint(length // 4, length)
    made = FAMILIES[family](draw, tokenizer, room - 1) or prose.novel(draw, tokenizer, length)
    tokens, weights = [bpe.BOS, *made[0], bpe.EOS, bpe.BOS], [0.0, *made[1], FORM, 0.0]
    if len(tokens) <= length:
        rest = prose.novel(draw, tokenizer, length)
        tokens, weights = [*tokens, *rest[0]], [*weights, *rest[1]]
    return tokens[: length + 1], weights[1 : length + 1]


def batch(corpus, tokenizer, seed, step):
    """Tokens (rows, length + 1), weights (rows, length) and the families of the rows."""
    _, length, shares = stage(step)
    names = list(shares)
    rng = np.random.default_rng([seed, step])
    families = rng.choice(names, size=TOKENS_PER_STEP // length, p=np.array(list(shares.values())) / sum(shares.values()))
    rows = [row(corpus, tokenizer, family, length, f"{seed}/{step}/{i}") for i, family in enumerate(families)]
    tokens, weights = (np.array(column) for column in zip(*rows))
    return torch.tensor(tokens), torch.tensor(weights, dtype=torch.float32), families


def wording():
    """A text with the words that every prompt has, for the tokenizer: they are whole tokens then."""
    def said(parts):
        return "".join(text for text, _ in parts)

    return " ".join((
        hidden.instruction("number", False), hidden.instruction("uuid", True), *hidden.NOISE,
        said(hidden.question("number", ["a"], ["5"])), said(hidden.question("uuid", ["a"], ["5", "6"])),
        *(["VAR"] * 9), said(lists.tracked((["A"], "5", [], []), [], 0, FORM)),
        said(lists.numbered([], [], FORM)), *([" ..."] * 50),
        "Read the coded text below and find the three words that come most often.\nQuestion: Which three words come most often "
        "in the coded text above? Ignore the dots, explain nothing.\nAnswer: In the coded text above the three most frequent words are:\n",
        "Answer the question from the documents below. Give only the answer, no other words.\nDocument 1:\n",
    ))


def tokenizer(corpus):
    """Learnt from the novels and the wording of the prompts, as often as makes its words whole; some 10 seconds."""
    return bpe.Tokenizer(bpe.learn([*((text, 1) for text in corpus.novels), (wording(), 300)], VOCABULARY))
