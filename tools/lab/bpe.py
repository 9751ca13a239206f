# SPDX-License-Identifier: MIT
"""Byte pairs as llama.cpp reads them: tokenizer.ggml.model "gpt2", pre-tokenizer "smollm" (each digit by itself, then GPT-2's
words), so that a file with these merges is tokenised by llama.cpp as here.

Why not bytes, as in tiny-512: of 1024 tokens RULER's smallest prompts leave bytes a few lines of haystack, and no room at all
for two documents and a question. Why digits by themselves: a number is copied digit by digit, whatever stands around it.
"""
import collections
import heapq
import json
import re

import numpy as np

# One expression for both steps of "smollm". White space before a digit is whole, because the digit is cut out first. Letters
# are \w without digits and "_"; that takes fractions and Roman numeral signs for letters, which no text here has.
PIECES = re.compile(r"\d|'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?=\d)|\s+(?!\S)|\s+")

SPECIAL = ("<s>", "</s>")
BOS, EOS = 0, 1


def byte_letters():
    """GPT-2's letter for each byte: itself where it is printable, else one from 256 on."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {byte: chr(256 + i) for i, byte in enumerate(moved)}


LETTERS = byte_letters()


def spelt(piece):
    return tuple(LETTERS[byte] for byte in piece.encode())


def joined(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == pair:
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return tuple(out)


def learn(texts, vocabulary):
    """The merges, most frequent pair first, of a vocabulary of so many tokens. `texts`: (text, how often it counts) each.
    Of equally frequent pairs the first by letter is taken, so that the same texts give the same merges."""
    pieces = collections.Counter()
    for text, weight in texts:
        for piece, count in collections.Counter(PIECES.findall(text)).items():
            pieces[piece] += count * weight
    words = [(spelt(piece), count) for piece, count in pieces.items() if len(piece.encode()) > 1]
    pairs, homes = collections.Counter(), collections.defaultdict(set)  # homes: the words that have or had the pair
    for at, (symbols, count) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += count
            homes[pair].add(at)
    queue = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(queue)
    merges = []
    while len(merges) < vocabulary - len(LETTERS) - len(SPECIAL):
        count, best = heapq.heappop(queue)
        if -count != pairs[best]:
            continue  # counted before another merge changed it; the right count is in the queue too
        merges.append(best)
        changed = set()
        for at in homes.pop(best):
            old, count = words[at]
            new = joined(old, best)
            words[at] = (new, count)
            for pair in zip(old, old[1:]):
                pairs[pair] -= count
                changed.add(pair)
            for pair in zip(new, new[1:]):
                pairs[pair] += count
                homes[pair].add(at)
                changed.add(pair)
        for pair in changed:
            if pairs[pair] > 0:
                heapq.heappush(queue, (-pairs[pair], pair))
    return merges


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(pair) for pair in merges]
        self.rank = {pair: i for i, pair in enumerate(self.merges)}
        self.tokens = [*SPECIAL, *sorted(LETTERS.values()), *(a + b for a, b in self.merges)]
        self.number = {token: i for i, token in enumerate(self.tokens)}
        self.width = np.array([0] * len(SPECIAL) + [len(token) for token in self.tokens[len(SPECIAL) :]])  # bytes
        self.spaced = np.array([token.startswith("Ġ") and len(token) > 1 for token in self.tokens])
        self.known = {}

    def piece(self, piece):
        symbols = spelt(piece)
        while len(symbols) > 1:
            pair = min(zip(symbols, symbols[1:]), key=lambda pair: self.rank.get(pair, len(self.rank)))
            if pair not in self.rank:
                break
            symbols = joined(symbols, pair)
        return [self.number[symbol] for symbol in symbols]

    def __call__(self, text):
        """The tokens of a text, without BOS."""
        out = []
        for piece in PIECES.findall(text):
            if piece not in self.known:
                self.known[piece] = self.piece(piece)
            out += self.known[piece]
        return out

    def save(self, path):
        path.write_text(json.dumps(self.merges, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path):
        return cls(json.loads(path.read_text(encoding="utf-8")))
