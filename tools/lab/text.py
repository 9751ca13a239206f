# SPDX-License-Identifier: MIT
"""What texts of the lab are made of: novels and words to draw from, parts with weights, and their tokens.

A text is a list of parts, (string, weight): the weight says how much the loss of a token there counts. Answers are some 3 % of
the tokens, so they would be learnt last; the first letter of an answer is the one for which the right place must be found; what
nothing before determines (the digits of a needle) teaches nothing but noise.
"""
import collections
import pathlib
import random
import re

import numpy as np

PROSE, COPY, HAY, FORM, GUESS, ANSWER, FIRST = 1.0, 1.0, 0.3, 0.1, 0.0, 4.0, 10.0

HELD_OUT = "the-moonstone"


class Corpus:
    """Novels without the held-out one (or that one alone), and the words that keys and lists are made of."""

    def __init__(self, folder, held_out=False):
        files = sorted(pathlib.Path(folder, "novels").glob("*.md"))
        if not files:
            raise SystemExit(f"train_lab: no *.md in {folder}/novels; MRROPE_DATA names the folder with novels/ in it")
        self.novels = [f.read_text(encoding="utf-8") for f in files if (f.stem == HELD_OUT) == held_out]
        self.flat = [novel.split() for novel in self.novels]  # as a haystack has them: one line, single spaces
        counts = collections.Counter(re.findall(r"\b[a-z]{3,9}\b", " ".join(self.novels)))
        self.words = sorted(word for word, count in counts.items() if count >= 5)


class Draw:
    """Everything random of one text."""

    def __init__(self, corpus, seed):
        self.corpus, self.random = corpus, random.Random(seed)

    def excerpt(self, letters):
        novel = self.random.choices(self.corpus.novels, [len(n) for n in self.corpus.novels])[0]
        start = self.random.randrange(len(novel) - letters)
        return novel[start : start + letters]

    def prose(self):
        """Words of a novel from anywhere on; the caller takes as many as it needs."""
        flat = self.random.choices(self.corpus.flat, [len(f) for f in self.corpus.flat])[0]
        start = self.random.randrange(len(flat) - 4000)
        return flat[start : start + 4000]

    def digits(self, count):
        return "".join([self.random.choice("123456789"), *self.random.choices("0123456789", k=count - 1)])

    def letters(self, count):
        return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=count))

    def uuid(self):
        groups = [f"{self.random.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12)]
        groups[2], groups[3] = "4" + groups[2][1:], self.random.choice("89ab") + groups[3][1:]
        return "-".join(groups)

    def word(self):
        return self.random.choice(self.corpus.words)

    def pair(self):
        return f"{self.word()}-{self.word()}"

    def different(self, make, count):
        """So many things of which no two are equal."""
        found = {}
        while len(found) < count:
            found[make()] = None
        return list(found)


def answer(text, known=ANSWER):
    """A thing that is to be found: its first letter is where it is decided. Begins with a space."""
    return [(text[:1], FORM), (text[1:2], max(known, FIRST) if known else known), (text[2:], known)]


def encode(tokenizer, parts):
    """Tokens and weights of parts. A token has the weight of the part in which its first letter is, its space aside."""
    tokens = np.array(tokenizer("".join(text for text, _ in parts)), dtype=np.int64)
    starts = np.cumsum(tokenizer.width[tokens]) - tokenizer.width[tokens] + tokenizer.spaced[tokens]
    ends = np.cumsum([len(text.encode()) for text, _ in parts])
    weights = np.array([weight for _, weight in parts])[np.searchsorted(ends, starts, side="right")]
    return tokens, weights


def grown(tokenizer, build, budget, least=0):
    """The tokens and weights of build(size), as large as fits into so many tokens, by a few corrected guesses; None if the
    smallest does not fit. Two tokens in a hundred may be left."""
    low, best = least, encode(tokenizer, build(least))
    if len(best[0]) > budget:
        return None
    high, step = None, 32
    for _ in range(6):
        size = low + step if high is None else (low + high) // 2
        if size in (low, high):
            break
        tokens, weights = encode(tokenizer, build(size))
        if len(tokens) > budget:
            high = size
        else:
            cost = max(0.5, (len(tokens) - len(best[0])) / (size - low))
            low, best = size, (tokens, weights)
            if budget - len(tokens) < 0.02 * budget:
                break
            step = max(1, int((budget - len(tokens)) / cost))
    return best
