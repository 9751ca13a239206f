# SPDX-License-Identifier: MIT
"""Needles in prose and in noise, and lists of nothing but needles: the formats of src/tasks/needles.cpp and records.cpp, written
anew, with keys from the novels. (RULER, arXiv:2404.06654; InfiniteBench, arXiv:2402.13718.)

A family takes (draw, tokenizer, room) and gives tokens and weights that fit into the room, or None. What is asked after RULER's
one question is asked on the same text: more to learn from each text. Several answers come in the order of the text, whatever the
order of the question: one skill for several values and for several keys. RULER's rule takes any order.
"""
from lab.text import ANSWER, COPY, FORM, GUESS, HAY, answer, grown

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.".split()


def listed(names):
    """a; a and b; a, b, and c; each with its space."""
    if len(names) < 3:
        return [" " + name if i == 0 else " and " + name for i, name in enumerate(names)]
    return [" " + names[0], *(", " + name for name in names[1:-1]), ", and " + names[-1]]


def named(keys, guessed):
    """Keys in a question: which ones is chance, how they go on is not; in what is said after it nothing is."""
    parts = []
    for text in listed(keys):
        head = len(text) - len(text.rsplit(" ", 1)[1]) + 1
        parts += [(text[: head - 1], FORM), (text[head - 1 : head], GUESS if guessed else COPY), (text[head:], COPY)]
    return parts


def sentence(words, at):
    """The place of the nearest beginning of a sentence, where one is within a twentieth of the text."""
    reach = len(words) // 20
    for away in range(reach + 1):
        for place in (at - away, at + away):
            if 0 < place < len(words) and len(words[place - 1]) > 4 and words[place - 1][-1] in ".?!":
                return place
    return at


def in_prose(words, needles, depths):
    """Parts of words with needles (each parts) before the sentences nearest to their depths; and the order of the needles."""
    places = [sentence(words, int(depth * len(words))) for depth in depths]
    order = sorted(range(len(needles)), key=lambda i: places[i])
    parts, done = [], 0
    for i in order:
        if places[i] > done:
            parts.append((" ".join(words[done : places[i]]) + " ", HAY))
        done = places[i]
        parts += [*needles[i], (" ", FORM)]
    return [*parts, (" ".join(words[done:]), HAY)], order


def in_noise(size, needles, depths):
    """The same of lines of noise, the last of which may be cut."""
    lines = [" ".join(NOISE[: min(len(NOISE), size - at)]) for at in range(0, size, len(NOISE))]
    places = [round(depth * len(lines)) for depth in depths]
    order = sorted(range(len(needles)), key=lambda i: places[i])
    rows = []
    for at in range(len(lines) + 1):
        rows += [needles[i] for i in order if places[i] == at]
        rows += [[(line, FORM)] for line in lines[at : at + 1]]
    return [part for i, row in enumerate(rows) for part in ([("\n", FORM)] if i else []) + row], order


def needle(kind, key, value):
    return [(f"One of the special magic {kind}s for", FORM), (" " + key, GUESS), (" is:", FORM), (" " + value, GUESS),
            (".", FORM)]


def instruction(kind, many):
    if many:
        return f"Special magic {kind}s are hidden in the text below. Memorize them, you will be asked for them.\n"
    return f"A special magic {kind} is hidden in the text below. Memorize it, you will be asked for it.\n"


def question(kind, keys, values):
    """RULER's question and its answer."""
    ask, verb = ("What is the", "is") if len(values) == 1 else ("What are all the", "are")
    plural = "" if len(values) == 1 else "s"
    parts = [(f"{ask} special magic {kind}{plural} for", FORM), *named(keys, True), (" in the text above?\n", FORM)]
    parts += [(f"The special magic {kind}{plural} for", FORM), *named(keys, False), (f" in the text {verb}", FORM)]
    for i, value in enumerate(values):
        parts += ([(",", ANSWER)] if i else []) + answer(" " + value)
    return [*parts, (".\n", ANSWER)]


def reminder(draw, kind, key, value):
    """The value without a question, with fewer words between key and value than RULER has: the step between copying after a
    key, which is learnt first, and carrying the key over a sentence."""
    between = draw.random.choice(("", "", " here", " in it", " in the text"))
    parts = [(f"The special magic {kind} for", FORM), *named([key], True), (f"{between} is", FORM)]
    return [*parts, *answer(" " + value), (".\n", ANSWER)]


# Prose or noise, kind of value, keys, values of each, keys asked for together. After RULER's six, what lies between them.
SINGLES = ((False, "number", 1, 1, 1), (True, "number", 1, 1, 1), (True, "uuid", 1, 1, 1))
SEVERAL = ((True, "number", 4, 1, 1), (True, "number", 1, 4, 1), (True, "number", 4, 1, 4))


def magic(draw, tokenizer, room, setting, reminded=False):
    prose, kind, keys, values, asked = setting
    keys = draw.different(draw.pair, keys)
    book = [(key, draw.uuid() if kind == "uuid" else draw.digits(7)) for key in keys for _ in range(values)]
    needles = [needle(kind, key, value) for key, value in book]
    depths, words = [draw.random.random() for _ in book], draw.prose()
    together = draw.random.sample(keys, asked)
    later = draw.random.sample(keys, len(keys)) if asked == 1 and draw.random.random() < 0.7 else []

    def build(size):
        hay, order = in_prose(words[:size], needles, depths) if prose else in_noise(size, needles, depths)
        told = [book[i] for i in order]
        if reminded:
            tail = [part for i in draw_order for part in reminder(draw, kind, *book[i])]
        else:
            tail = []
            for group in [together, *([key] for key in later if key != together[0])]:
                tail += question(kind, group, [value for name, value in told if name in group])
        many = len(book) > 1 and (asked > 1 or values > 1)
        return [(instruction(kind, many), FORM), *hay, ("\n", FORM), *tail, ("", FORM)]

    draw_order = draw.random.sample(range(len(book)), len(book))
    return grown(tokenizer, build, room, 8)


def single(draw, tokenizer, room):
    return magic(draw, tokenizer, room, draw.random.choice(SINGLES))


def several(draw, tokenizer, room):
    return magic(draw, tokenizer, room, draw.random.choice(SEVERAL))


def roll(draw, tokenizer, room):
    """All values of a short text, of one key or of as many: which one comes next is the whole task."""
    count = draw.random.randint(2, min(8, max(2, (room - 90) // 45)))
    keys, values = draw.random.choice(((1, count), (count, 1)))
    return magic(draw, tokenizer, min(room, 130 + 60 * count), (draw.random.random() < 0.5, "number", keys, values, keys))


def between(draw, tokenizer, room):
    """Any number of keys and values, in prose or noise."""
    keys = draw.random.randint(1, 6)
    values = draw.random.randint(1, max(1, 6 // keys))
    kind = draw.random.choice(("number", "number", "uuid")) if keys * values < 3 else "number"
    asked = draw.random.randint(1, keys) if draw.random.random() < 0.5 else 1
    return magic(draw, tokenizer, room, (draw.random.random() < 0.7, kind, keys, values, asked))


def reminders(draw, tokenizer, room):
    """Every key of a text, said again."""
    kind = draw.random.choice(("number", "number", "number", "uuid"))
    setting = (draw.random.random() < 0.6, kind, draw.random.randint(1, 3 if kind == "uuid" else 6), 1, 1)
    return magic(draw, tokenizer, room, setting, reminded=True)


def lines(draw, tokenizer, room):
    """RULER's niah_multikey_2 and 3, and what lies between them: one of nothing but needles."""
    of_words, of_uuids = ("pair", "number"), ("uuid", "uuid")
    keys, kind = draw.random.choice((of_words, of_words, of_uuids, of_uuids, ("uuid", "number")))
    key = draw.pair if keys == "pair" else draw.uuid
    book = [(name, draw.uuid() if kind == "uuid" else draw.digits(7)) for name in draw.different(key, 40)]
    asked = [draw.random.random() for _ in range(draw.random.choice((1, 2, 4)))]
    noise = draw.random.choice((0, 0, draw.random.randint(1, 20)))
    short = draw.random.random() < 0.25

    def build(size):
        shown = book[: min(size, len(book))]
        rows = ([[(" ".join((NOISE * 2)[:noise]), FORM)]] if noise else []) + [needle(kind, *record) for record in shown]
        parts = [(instruction(kind, False), FORM)]
        for row in rows:
            parts += [*row, ("\n", FORM)]
        picked = dict.fromkeys(shown[int(depth * len(shown))] for depth in asked)
        for name, value in picked:
            parts += reminder(draw, kind, name, value) if short else question(kind, [name], [value])
        return parts

    return grown(tokenizer, build, room, 1)


def object_of_keys(draw, tokenizer, room):
    """InfiniteBench's key-value retrieval."""
    book = [(draw.uuid(), draw.uuid()) for _ in range(16)]
    depths = [draw.random.random() for _ in range(2)]

    def build(size):
        shown = book[: min(size, len(book))]
        parts = [("Find the value of one key in the JSON object below.\nJSON data:\n{", FORM)]
        for i, (name, value) in enumerate(shown):
            parts += [(", " if i else "", FORM), (f'"{name}": "{value}"', GUESS)]
        parts.append(("}\n", FORM))
        for name, value in dict.fromkeys(shown[int(depth * len(shown))] for depth in depths):
            parts += [('Key: "', FORM), (name[:1], GUESS), (name[1:], COPY), ('"\nThe value of this key is:', FORM)]
            parts += [*answer(f' "{value}'), ('"\n', ANSWER)]
        return parts

    return grown(tokenizer, build, room, 1)


def spoken(draw, tokenizer, room):
    """InfiniteBench's pass key and number string."""
    name = draw.random.choice(("pass key", "sequence of digits"))
    value = "".join(draw.random.choices("0123456789", k=5))
    while name != "pass key" and len(value) < 10:
        at = draw.random.randrange(len(value))
        value = value[:at] + value[at] + value[at:]
    said = [(f"The {name} is", FORM), (" " + value, GUESS), (". Remember it.", FORM), (" " + value, COPY)]
    said.append((f" is the {name}.", FORM))
    depth = [draw.random.random()]

    def build(size):
        hay, _ = in_noise(size, [said], depth)
        tail = [(f"\nWhat is the {name}?\nThe {name} is", FORM), *answer(" " + value), (".\n", ANSWER)]
        return [(f"A {name} is hidden in the text below. Find it and remember it.\n", FORM), *hay, *tail]

    return grown(tokenizer, build, room, 4)
