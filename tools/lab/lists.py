# SPDX-License-Identifier: MIT
"""Chains and counts: RULER's variable tracking, common words and frequent words, in the formats of src/tasks/tracking.cpp,
common_words.cpp and lists.cpp, written anew, with words from the novels."""
from lab.hidden import in_noise
from lab.text import ANSWER, COPY, FORM, GUESS, answer, encode, grown


def chain(draw, letters, count, depths):
    """Names, value, and the lines that say so with where they go."""
    names = draw.different(lambda: draw.letters(letters).upper(), count)
    value = str(draw.random.randint(10000, 99998))
    rows = [[("VAR", FORM), (" " + names[0], GUESS), (" =", FORM), (" " + value, GUESS)]]
    for before, name in zip(names, names[1:]):
        rows.append([("VAR", FORM), (" " + name, GUESS), (" = VAR", FORM), (" " + before, COPY)])
    return names, value, rows, sorted(depths)


def tracked(made, others, words, known):
    """A text with its question and answer; `others` are the rows and depths of chains that are not asked for."""
    names, value, rows, depths = made
    rows = rows + [row for other in others for row in other[2]]
    depths = depths + [depth for other in others for depth in other[3]]
    parts = [("Track the chain of variable assignments hidden in the text below, and memorize which variables get its "
              "value.\n\n", FORM), *in_noise(words, rows, depths)[0]]
    parts += [("\nQuestion: Which variables are assigned the value", FORM), (" " + value, COPY), (" in the text above?\n", FORM)]
    parts += [(f"Answer: By the chain of assignments in the text above, {len(names)} variables are assigned the value", FORM)]
    parts += [(" " + value, COPY), (", they are:", FORM)]
    return parts + [part for name in names for part in answer(" " + name, known)]


def tracking(draw, tokenizer, room):
    """RULER's one chain of five most often, with its solved example where there is room; else up to two chains of 2 to 6."""
    as_ruler = draw.random.random() < 0.7
    count = 5 if as_ruler else draw.random.randint(2, 6)
    made = chain(draw, 5, count, [draw.random.random() for _ in range(count)])
    others = []
    if draw.random.random() < 0.2:
        more = draw.random.randint(2, 4)
        others = [chain(draw, 5, more, [draw.random.random() for _ in range(more)])]
    solved = chain(draw, 3, 5, [0.1, 0.3, 0.5, 0.7, 0.9])
    example = [*tracked(solved, [], 228, COPY), ("\n\n", FORM)]

    def plain(size):
        return [*tracked(made, others, size, ANSWER), ("\n", FORM)]

    needed = len(encode(tokenizer, example + plain(0))[0])
    if needed < 0.75 * room:
        return grown(tokenizer, lambda size: example + plain(size), room)
    return grown(tokenizer, plain, room)


def numbered(words, known_order, known):
    """RULER's list and its question; the common ones in the order in which they are known."""
    parts = [("Below is a numbered list of words. Some come more often than others; memorize those.\n", FORM)]
    seen = set()
    for i, word in enumerate(words):
        parts += [(f"{' ' if i else ''}{i + 1}.", FORM), (" " + word, COPY if word in seen else GUESS)]
        if word in known_order:
            seen.add(word)
    parts.append(("\nQuestion: What are the 10 most common words in the list above?\n", FORM))
    parts.append(("Answer: The 10 most common words in the list are:", FORM))
    for i, word in enumerate(known_order):
        parts += [(f" {i + 1}.", FORM), *answer(" " + word, known)]
    return parts


def common(draw, tokenizer, room):
    """Common words in the order in which they come for the second time: from then on each is known to be common."""
    pool = draw.different(draw.word, 260)
    seed = draw.random.random()

    def shuffled(top, often, rest):
        draw.random.seed(seed)
        words = top * often + rest
        draw.random.shuffle(words)
        seen, order = set(), []
        for word in words:
            if word in seen and word not in order:
                order.append(word)
            seen.add(word)
        return words, order

    def form(often, example):
        before = [*numbered(*shuffled(pool[10:20], 3, pool[20:30]), COPY), ("\n\n", FORM)] if example else []
        return lambda size: [*before, *numbered(*shuffled(pool[:10], often, pool[40 : 50 + size]), ANSWER), ("\n", FORM)]

    for often, example in (draw.random.choice(((6, False), (6, False), (3, False), (6, True))), (3, False)):
        made = grown(tokenizer, form(often, example), room)
        if made is not None:
            return made
    return None


def frequent(draw, tokenizer, room):
    """Coded words of which rank k comes 1 / k^2 of the time; rank 1 is dots, ranks 2 to 4 are asked for."""
    codes = ["...", *draw.different(lambda: draw.letters(6), max(7, (room - 50) // 50 - 1))]
    seed = draw.random.random()

    def build(size):
        words = [code for rank, code in enumerate(codes, 1) for _ in range(int((64 + size) * 0.607927102 / rank**2))]
        draw.random.seed(seed)
        draw.random.shuffle(words)
        parts, seen = [("Read the coded text below and find the three words that come most often.\n", FORM)], set()
        for i, word in enumerate(words):
            parts.append((" " + word if i else word, FORM if word == "..." else COPY if word in seen else GUESS))
            seen.add(word)
        parts.append(("\nQuestion: Which three words come most often in the coded text above? Ignore the dots, explain "
                      "nothing.\nAnswer: In the coded text above the three most frequent words are:", FORM))
        for i, code in enumerate(codes[1:4]):
            parts += ([(",", ANSWER)] if i else []) + answer(" " + code)
        return [*parts, (".\n", ANSWER)]

    return grown(tokenizer, build, room)
