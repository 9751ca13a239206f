# SPDX-License-Identifier: MIT
"""Novels as they are; drills of copying, from which retrieval is learnt; questions on facts in passages of novels, in the format
of src/tasks/questions.cpp."""
from lab.text import ANSWER, COPY, FORM, GUESS, HAY, PROSE, answer, encode, grown


def novel(draw, tokenizer, room):
    """Four letters a token are enough; the caller cuts."""
    return encode(tokenizer, [(draw.excerpt(4 * room + 16), PROSE)])


def repeats(draw, tokenizer, room):
    """Random words or letters again and again: the purest lesson in copying."""
    period = draw.random.randint(4, max(5, room // 6))
    kind = draw.random.choice(("words", "words", "digits", "uuids"))
    make = {"words": lambda: " " + draw.word(), "digits": lambda: draw.digits(3), "uuids": lambda: " " + draw.uuid()[:8]}[kind]
    once = "".join(make() for _ in range(max(2, period // (1 if kind == "words" else 4))))
    return encode(tokenizer, [(once, GUESS), (once * (1 + 3 * room // len(once)), COPY)])


def records(draw, tokenizer, room):
    """Lines `key: value`; a few keys come again and again, with the same value."""
    value = draw.random.choice((lambda: draw.digits(5), lambda: draw.digits(7), draw.word, draw.uuid))
    key = draw.random.choice((draw.pair, draw.pair, draw.word, draw.uuid))
    book = {name: value() for name in draw.different(key, draw.random.randint(2, max(3, room // 40)))}
    names, seen, parts, total = list(book), set(), [], 0
    while total < 2.5 * room:
        name = draw.random.choice(names)
        if name in seen:
            parts += [(name[:1], GUESS), (name[1:], COPY), (":", FORM), *answer(" " + book[name]), ("\n", FORM)]
        else:
            parts += [(name, GUESS), (":", FORM), (" " + book[name], GUESS), ("\n", FORM)]
        seen.add(name)
        total += len(name) + len(book[name]) + 3
    return encode(tokenizer, parts)


FACTS = (
    ("{0} was born in {1}.", "Where was {0} born?"),
    ("{0} lives in {1}.", "Where does {0} live?"),
    ("{0} died in {1}.", "Where did {0} die?"),
    ("{0} was married to {1}.", "Who was {0} married to?"),
    ("{0} worked for {1}.", "Who did {0} work for?"),
    ("{0} wrote a book about {1}.", "What did {0} write a book about?"),
    ("The captain of the {0} was {1}.", "Who was the captain of the {0}?"),
    ("The {0} was built in {1}.", "In what year was the {0} built?"),
)


def questions(draw, tokenizer, room):
    """Documents, each a passage with a fact; some are asked for."""
    def name():
        return f"{draw.word().capitalize()} {draw.word().capitalize()}"

    count = draw.random.randint(2, 6)
    words, facts = draw.prose(), []
    for subject in draw.different(name, count):
        said, asked = draw.random.choice(FACTS)
        thing = str(draw.random.randint(1500, 1999)) if "year" in asked else name()
        facts.append((said, subject, thing, asked))
    places = [draw.random.random() for _ in facts]
    shown = draw.random.sample(facts, min(count, draw.random.choice((1, 2, 3))))

    def build(size):
        rule = "Answer the question from the documents {}. Give only the answer, no other words.\n"
        parts = [(rule.format("below") + "\n", FORM)]
        for i, ((said, subject, thing, _), place) in enumerate(zip(facts, places)):
            passage = words[i * 400 : i * 400 + size // count + 1]
            at = int(place * len(passage))
            parts += [(f"Document {i + 1}:\n", FORM), ("".join(word + " " for word in passage[:at]), HAY)]
            parts += [(said.format(subject, thing), GUESS), ("".join(" " + word for word in passage[at:]), HAY), ("\n\n", FORM)]
        for _, subject, thing, asked in shown:
            parts += [(rule.format("above"), FORM), ("Question: " + asked.format(subject), FORM), ("\nAnswer:", FORM)]
            parts += [*answer(" " + thing), ("\n", ANSWER)]
        return parts

    return grown(tokenizer, build, room)
