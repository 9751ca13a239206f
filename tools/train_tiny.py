# SPDX-License-Identifier: MIT
"""Trains tests/models/tiny-512.gguf: a byte-level llama of 512 tokens that speaks English and finds what was planted.

    python=$(tools/engine_env train)
    "$python" tools/train_tiny.py train RUN_DIR [--steps N] [--resume]         checkpoint in RUN_DIR, log on stdout
    "$python" tools/train_tiny.py export RUN_DIR OUT.gguf                      F16; make it Q8_0 with llama-quantize
    "$python" tools/train_tiny.py evaluate RUN_DIR [--plan PLAN.json ...]      perplexity and retrieval by length

The budget is a number of steps, and the batch of a step depends on the seed and the step alone, so a run on a slow or a
busy machine, or one that was stopped and resumed, sees the same data as any other. (Sums in bfloat16 differ between
processors: the recipe is the same everywhere, the bits of the weights are not.)

Text is read from $MRROPE_DATA/novels (default ../shared/data); the-moonstone.md is never trained on.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import time

import torch

from lab import training
from lab.model import Model, Rotation, Shape

# ---- the model and the recipe ---------------------------------------------------------------------------------------

CONTEXT = 512
BOS, EOS, UNKNOWN, VOCABULARY = 256, 257, 258, 259  # after the 256 bytes
SHAPE = Shape(VOCABULARY, embedding=192, layers=4, heads=3, kv_heads=3, feed_forward=640)

SEED = 1
STEPS, TOKENS_PER_STEP = 2150, 8192
LEARNING_RATE, WARMUP_STEPS, DECAY_SHARE = 3e-3, 100, 0.45

# Retrieval needs copying, and copying is learnt from short strings that repeat: here after some 350 steps, whereas an
# earlier trial with the mixture alone had not learnt it after 1,100. (First step, length, share of each family.)
STAGES = (
    (0, 128, {"repeats": 0.70, "records": 0.15, "novel": 0.15}),
    (500, 256, {"novel": 0.35, "repeats": 0.15, "records": 0.12, "numbers": 0.10, "pass_key": 0.10, "magic": 0.18}),
    (800, CONTEXT, {"novel": 0.40, "repeats": 0.03, "records": 0.05, "numbers": 0.05,
                    "pass_key": 0.12, "magic": 0.12, "magic_all": 0.23}),
)

# Weight of a byte in the loss. Answers are some 1 % of the bytes, so they would be learnt last, and the first digit is
# the one for which the right needle must be found; digits that nothing before them determines teach nothing but noise.
TEXT, GUESS, ANSWER, FIRST_DIGIT = 1.0, 0.1, 4.0, 20.0


# ---- text: every family returns parts, a list of (bytes, weight), of `length` bytes together ------------------------


class Corpus:
    """Novels to read from, and the words that name planted things."""

    def __init__(self, folder, held_out=False):
        files = sorted(pathlib.Path(folder, "novels").glob("*.md"))
        if not files:
            raise SystemExit(f"train_tiny: no *.md in {folder}/novels; MRROPE_DATA names the folder with novels/ in it")
        self.novels = [f.read_bytes() for f in files if (f.stem == "the-moonstone") == held_out]
        counts = collections.Counter(re.findall(rb"\b[a-z]{4,7}\b", b" ".join(self.novels)))
        self.words = sorted(word for word, count in counts.items() if count >= 10)

    def excerpt(self, rng, length):
        novel = rng.choices(self.novels, [len(n) for n in self.novels])[0]
        start = rng.randrange(len(novel) - length)
        return novel[start : start + length]

    def name(self, rng):
        return rng.choice(self.words) + b"-" + rng.choice(self.words)


def digits(rng, least, most):
    return bytes(rng.choice(b"0123456789") for _ in range(rng.randint(least, most)))


def size(parts):
    return sum(len(text) for text, _ in parts)


def novel(corpus, rng, length):
    return [(corpus.excerpt(rng, length), TEXT)]


def repeats(corpus, rng, length):
    """A random string again and again: the purest lesson in copying."""
    alphabet = rng.choice((b"abcdefghijklmnopqrstuvwxyz", b"0123456789", b"abcdefgh", bytes(range(32, 127))))
    period = rng.randint(8, length // 3)
    word = corpus.excerpt(rng, period) if rng.random() < 0.2 else bytes(rng.choices(alphabet, k=period))
    return [(word, GUESS), ((word * (length // period))[: length - period], TEXT)]


def records(corpus, rng, length):
    """Lines `name: number`, a few names that come back with the same number."""
    book = {corpus.name(rng): digits(rng, 4, 6) for _ in range(rng.randint(2, max(3, length // 40)))}
    names, seen, parts = list(book), set(), []
    while size(parts) < length:
        name = rng.choice(names)
        parts += [(name + b": ", GUESS), (book[name], ANSWER if name in seen else GUESS), (b"\n", TEXT)]
        seen.add(name)
    return parts  # a little too long; the caller cuts


# RULER's haystack of noise (arXiv:2404.06654), which is also InfiniteBench's: text without any information.
NOISE = b"The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again. "


def plant(corpus, rng, length, needles, tail, depth=None):
    """Needles in a haystack, then the tail. The first needle lies at `depth` (0 = start, 1 = end; None = anywhere)."""
    room = max(0, length - size(tail) - sum(size(needle) for needle in needles))
    hay = (NOISE * (room // len(NOISE) + 1))[:room] if rng.random() < 0.15 else corpus.excerpt(rng, room)
    places = [rng.random() for _ in needles]
    if depth is not None:
        places[0] = depth
    parts, done = [], 0
    for place, needle in sorted(zip(places, needles), key=lambda item: item[0]):
        cut = max(done, round(place * room))
        if depth is None and (space := hay.find(b" ", cut)) >= 0:
            cut = space  # between words, as evaluations do; an asked depth is kept exactly
        parts += [(hay[done:cut], TEXT), *needle]
        done = cut
    return [*parts, (hay[done:], TEXT), *tail]


def numbers(corpus, rng, length):
    """`The number of NAME is V.` planted, and asked for in the same words: copying after a name."""
    book = [(corpus.name(rng), digits(rng, 4, 6)) for _ in range(rng.randint(1, max(1, min(5, length // 90))))]
    needles = [[(b" The number of " + name + b" is ", TEXT), (value, GUESS), (b". ", TEXT)] for name, value in book]
    tail = []
    for name, value in rng.sample(book, len(book)):
        tail += [(b"\nThe number of " + name + b" is ", TEXT), (value, ANSWER), (b".", TEXT)]
    return plant(corpus, rng, length, needles, tail)


def pass_key(corpus, rng, length, depth=None):
    """The pass key of InfiniteBench (arXiv:2402.13718) and of Landmark Attention (arXiv:2305.16300)."""
    value = digits(rng, 5, 7)
    needle = [(b" The pass key is ", TEXT), (value, GUESS), (b". Remember it. ", TEXT)]
    if rng.random() < 0.3:
        needle += [(value + b" is the pass key. ", TEXT)]  # not an answer: whether it follows is chance
    tail = [(b"\nWhat is the pass key? The pass key is ", TEXT), (value, ANSWER), (b".\n", TEXT)]
    return plant(corpus, rng, length, [needle], tail, depth)


def magic_book(corpus, rng, count):
    """Names with their numbers, and the needles that say so."""
    book = [(corpus.name(rng), digits(rng, 5, 7)) for _ in range(count)]
    return book, [
        [(b" One of the special magic numbers for " + name + b" is: ", TEXT), (value, GUESS), (b". ", TEXT)]
        for name, value in book
    ]


WORDS_BETWEEN = (b"", b" here", b" in the text", b" mentioned in the text", b" mentioned in the provided text")


def magic_answer(name, value, words=WORDS_BETWEEN[-1]):
    text = b"The special magic number for " + name + words + b" is "
    return [(text, TEXT), (value[:1], FIRST_DIGIT), (value[1:], ANSWER), (b".\n", TEXT)]


def magic(corpus, rng, length, depth=None, count=None):
    """RULER's needle: the number is asked for by its name, among up to three other names."""
    count = count or rng.choice((1, 2, 2, 3, 4))
    book, needles = magic_book(corpus, rng, count)
    name, value = book[0]
    text = rng.choice((b"the text? ", b"the provided text? "))
    question = b"\nWhat is the special magic number for " + name + b" mentioned in " + text
    tail = [(question, TEXT), *magic_answer(name, value)]
    if count > 1 and size(tail) + sum(map(size, needles)) > length:
        return magic(corpus, rng, length, depth, count - 1)
    return plant(corpus, rng, length, needles, tail, depth)


def magic_all(corpus, rng, length, count=None):
    """Every name asked for, with fewer or more words between name and number. `number for NAME is` is near to
    copying; RULER's words make the model carry the name further, and with them alone it stayed at chance."""
    count = count or rng.choice((2, 3, 4))
    book, needles = magic_book(corpus, rng, count)
    tail = [(b"\n", TEXT)]
    for name, value in rng.sample(book, count):
        tail += magic_answer(name, value, rng.choice(WORDS_BETWEEN))
    if count > 1 and size(tail) + sum(map(size, needles)) > length:
        return magic_all(corpus, rng, length, count - 1)
    return plant(corpus, rng, length, needles, tail)


FAMILIES = {f.__name__: f for f in (novel, repeats, records, numbers, pass_key, magic, magic_all)}


def encode(parts, length):
    """Tokens (length + 1, the first is BOS) and the weight of each of the `length` bytes."""
    text = b"".join(text for text, _ in parts)[:length]
    weights = [weight for text, weight in parts for _ in text][:length]
    fill = length - len(text)  # a retrieval text too short by a few bytes
    return [BOS, *text, *b"\n" * fill], weights + [TEXT] * fill


def batch(corpus, step):
    """Tokens (samples, length + 1) and weights (samples, length) of a step: the same for every run of one seed."""
    _, length, shares = next(stage for stage in reversed(STAGES) if step >= stage[0])
    rng = random.Random(f"{SEED}/{step}")
    families = rng.choices(list(shares), list(shares.values()), k=TOKENS_PER_STEP // length)
    samples = [encode(FAMILIES[family](corpus, rng, length), length) for family in families]
    return torch.tensor([tokens for tokens, _ in samples]), torch.tensor([weights for _, weights in samples])


# ---- measuring ------------------------------------------------------------------------------------------------------


def held_out_losses(model, corpus, windows, length, rotate):
    """Loss (windows, length - 1) of windows spread evenly over the held-out novel, each BOS and length - 1 bytes."""
    text, rows = corpus.novels[0], []
    for i in range(windows):
        start = (2 * i + 1) * (len(text) - length) // (2 * windows)
        tokens = torch.tensor([[BOS, *text[start : start + length - 1]]])
        rows.append(model.losses(tokens, rotate)[0])
    return torch.cat(rows)


def retrieved(model, corpus, family, samples, length, rotate, **options):
    """Share of samples whose answer is right in every digit. Greedy decoding is right exactly if each digit is the
    likeliest after the right ones before it, so one pass without generation decides."""
    right = 0
    for i in range(samples):
        tokens, weights = encode(family(corpus, random.Random(f"test/{i}"), length - 1, **options), length - 1)
        tokens, answer = torch.tensor([tokens]), torch.tensor(weights) >= ANSWER
        _, guess = model.losses(tokens, rotate)
        right += bool((guess[0] == tokens[0, 1:])[answer].all())
    return right / samples


TABLES = ("perplexity", "depths", "lengths")
RETRIEVAL = {
    "pass key": (pass_key, {}),
    "magic number, 1 name": (magic, {"count": 1}),
    "magic number, 4 names": (magic, {"count": 4}),
}


def progress(model, corpus):
    """The figures of the log: held-out loss, and the share retrieved at random depths for each of RETRIEVAL."""
    loss = held_out_losses(model, corpus, 16, CONTEXT, Rotation(CONTEXT - 1)).mean()
    rates = [retrieved(model, corpus, f, 25, CONTEXT, Rotation(CONTEXT - 1), **o) for f, o in RETRIEVAL.values()]
    return f"held-out {loss:.3f}  retrieved " + " ".join(f"{rate:.2f}" for rate in rates)


# ---- training -------------------------------------------------------------------------------------------------------


def train(run, data, steps, resume):
    torch.manual_seed(SEED)
    run.mkdir(parents=True, exist_ok=True)
    path, first, cpu_before = run / "checkpoint.pt", 0, 0.0
    model = Model(SHAPE)
    optimizers = training.make_optimizers(model)
    if resume:
        state = training.restore(path, model, optimizers)
        first, cpu_before = state["step"], state["cpu_seconds"]
    elif path.exists():
        raise SystemExit(f"train_tiny: {path} exists; continue it with --resume, or choose another folder")
    corpus, held_out = Corpus(data), Corpus(data, held_out=True)
    print(f"{sum(w.numel() for w in model.parameters())} parameters, steps {first} to {steps}", flush=True)

    recent, cpu_start = [], time.process_time() - cpu_before
    for step in range(first + 1, steps + 1):
        tokens, weights = batch(corpus, step - 1)
        rate = training.learning_rate(step - 1, steps, LEARNING_RATE, WARMUP_STEPS, DECAY_SHARE)
        losses, weighed = training.optimize(model, optimizers, rate, (tokens, weights), Rotation(weights.shape[1]))
        recent.append(sum(losses) / sum(weighed))
        if step % 100 == 0 or step == steps:
            cpu_seconds = time.process_time() - cpu_start
            training.save(path, model, optimizers, step=step, cpu_seconds=cpu_seconds)
            model.eval()
            with torch.no_grad():
                figures = progress(model, held_out)
            model.train()
            loss, recent = sum(recent) / len(recent), []
            print(f"step {step}  cpu {cpu_seconds / 60:.1f} min  loss {loss:.3f}  {figures}", flush=True)


# ---- commands -------------------------------------------------------------------------------------------------------


def load(run):
    model = Model(SHAPE)
    model.load_state_dict(torch.load(run / "checkpoint.pt")["model"])
    return model.eval()


def print_row(title, cells):
    print("|", " | ".join([title, *(c if isinstance(c, str) else f"{c:.2f}" for c in cells)]), "|", flush=True)


def print_header(title, cells):
    print()
    print_row(title, map(str, cells))
    print("|---" * (len(cells) + 1) + "|")


def print_perplexity(model, corpus, settings, windows):
    lengths = (256, 512, 1024, 2048, 4096, 8192)
    print_header(f"perplexity per byte of the first N tokens, {windows} windows", lengths)
    for name, table in settings.items():
        losses = held_out_losses(model, corpus, windows, lengths[-1], Rotation(lengths[-1] - 1, **table))
        print_row(name, [losses[:, : n - 1].mean().exp() for n in lengths])


def print_depths(model, corpus, samples):
    depths, rotate = [i / 10 for i in range(11)], Rotation(CONTEXT - 1)
    print_header(f"retrieved at {CONTEXT} by depth, none, {samples} samples", depths)
    for name, (family, options) in RETRIEVAL.items():
        rates = [retrieved(model, corpus, family, samples, CONTEXT, rotate, depth=d, **options) for d in depths]
        print_row(name, rates)


def print_lengths(model, corpus, settings, samples):
    lengths = (512, 1024, 2048)
    print_header(f"retrieved by length, any depth, {samples} samples", lengths)
    for name, (family, options) in RETRIEVAL.items():
        for setting, table in settings.items():
            rotations = [Rotation(n - 1, **table) for n in lengths]
            rates = [retrieved(model, corpus, family, samples, n, r, **options) for n, r in zip(lengths, rotations)]
            print_row(f"{name}, {setting}", rates)


def evaluate(run, data, plans, tables, windows, samples):
    """Tables in Markdown, measured on the held-out novel without any plan and with each of the plans."""
    model, corpus = load(run), Corpus(data, held_out=True)
    settings = {"none": {}}
    for plan in (json.loads(path.read_text()) for path in plans):
        name = f"{plan['method']['name']} to {plan['context_target']}"
        settings[name] = {key: plan[key] for key in ("pair_factors", "attention_scale")}
    if "perplexity" in tables:
        print_perplexity(model, corpus, settings, windows)
    if "depths" in tables:
        print_depths(model, corpus, samples)
    if "lengths" in tables:
        print_lengths(model, corpus, settings, samples)


def export(run, out):
    """Writes F16. The tokenizer is SentencePiece's byte fallback: every byte a token, space as its escaped form."""
    import gguf  # here, so that training needs torch alone

    from lab import gguf_file

    byte = [gguf.TokenType.NORMAL if i == 32 else gguf.TokenType.BYTE for i in range(256)]
    gguf_file.write(out, load(run), "mrrope-tiny-512", CONTEXT, {
        "tokenizer_model": "llama",
        "token_list": ["\u2581" if i == 32 else f"<0x{i:02X}>" for i in range(256)] + ["<s>", "</s>", "<unk>"],
        "token_types": byte + [gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, gguf.TokenType.UNKNOWN],
        "token_scores": [0.0] * VOCABULARY,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "unk_token_id": UNKNOWN,
        "add_bos_token": True,
        "add_space_prefix": False,
    })


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "export", "evaluate"):
        command = commands.add_parser(name)
        command.add_argument("run", type=pathlib.Path, metavar="RUN_DIR")
        if name == "train":
            command.add_argument("--steps", type=int, default=STEPS)
            command.add_argument("--resume", action="store_true", help="continue RUN_DIR")
        elif name == "export":
            command.add_argument("out", type=pathlib.Path, metavar="OUT.gguf")
        else:
            command.add_argument("--plan", type=pathlib.Path, nargs="*", default=[], help="of `mrrope plan --json`")
            command.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
            command.add_argument("--windows", type=int, default=8, help="of 8192 bytes for the perplexity")
            command.add_argument("--samples", type=int, default=20, help="of each retrieval figure")
    args = parser.parse_args()

    root = pathlib.Path(__file__).resolve().parent.parent
    data = os.environ.get("MRROPE_DATA", root.parent / "shared" / "data")
    torch.set_num_threads(2)
    if args.command == "train":
        train(args.run, data, args.steps, args.resume)
    elif args.command == "export":
        export(args.run, args.out)
    else:
        with torch.no_grad():
            evaluate(args.run, data, args.plan, args.tables, args.windows, args.samples)


if __name__ == "__main__":
    main()
