# SPDX-License-Identifier: MIT
"""The scoring rules against the same rules in Python, on random answers.

    python3 tests/tasks/scoring_test.py build/release/score_driver

The official rules are Python programs, so what str.split, str.lower, str.strip and re do is part of them. The rules are
written here from their definitions, in terms of those. Answers are put together from pieces that matter to the rule
(labels, near misses, punctuation, white space of all kinds) and from characters that do not. Only what C++ documents to
be different is left out: capital sigma, digits and articles beside characters beyond the usual ones. ROUGE-Lsum is
compared with rouge_score in rouge_test.py.
"""
import collections
import json
import random
import re
import string
import subprocess
import sys
import unicodedata

ANSWERS = 1500  # for each rule
SPACES = [" ", "  ", "\n", "\t", "\r\n", "\x0b", "\x1c", "\x85", "\xa0", "\u2009", "\u3000", "\u200b"]
MARKS = list(string.punctuation) + ["“", "”", "’", "—", "…", "¿", "。"]
WORDS = ["a", "an", "the", "The", "AN", "cat", "Dolores", "école", "ÉCOLE", "Straße", "İstanbul", "ЖАН", "жан", "Łódź", "ﬁn",
         "日本", "K", "0", "42", "x", "y", "is", "answer", "option", "Option", "\U0001F600", "\x00", "\x1f", "\x7f"]


def contained(references, answer):
    return [reference.lower() in answer.lower() for reference in references]


def first(pattern, text):
    match = re.search(pattern, text)
    return match.group(0) if match else ""


def cut(answer):
    return re.sub("[\n:\"'.,?!{}]", " ", answer).split()


def math_find(references, answer):
    number = first(r"[0-9]+\.[0-9]+|[0-9]+", answer)
    if not number:
        return False
    if "." in references[0]:
        return float(number) == float(references[0])
    return "." not in number and int(number) == int(references[0])


def code_debug(references, answer):
    letter, function = references
    answer = answer.strip()
    if answer[:2] in (letter + ".", letter + ":"):
        return True
    answer = re.sub(" +", " ", re.sub("[\n`'\"*-]|Option|option", " ", answer))
    for phrase in ("answer is:", "is:", "answer:", "correct option is:"):
        _, found, rest = answer.partition(phrase)
        if found:
            return len(rest) > 0 and rest[1:].startswith((letter, function))
    return False


def squad(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def longbook_qa(references, answer):
    best, given = 0, squad(answer)
    for wanted in map(squad, references):
        shared = sum((collections.Counter(given) & collections.Counter(wanted)).values())
        if shared:
            precision, recall = shared / len(given), shared / len(wanted)
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


# The published list; the point is among ASCII's.
CHINESE_MARKS = set(string.punctuation + "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏")


def longbook_qa_chinese(references, answer):
    def kept(text):
        return [c for c in "".join(text.lower().split()) if c not in CHINESE_MARKS]

    best, given = 0, kept(answer)
    for wanted in map(kept, references):
        shared = sum((collections.Counter(given) & collections.Counter(wanted)).values())
        if shared:
            precision, recall = shared / len(given), shared / len(wanted)
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def longbook_choice(references, answer):
    answer = answer.strip()
    if not answer or answer[0] in "ABCD":
        return answer[:1] in references and answer != ""
    if answer in references:
        return True
    answer = re.sub(" +", " ", re.sub("[\n\"'.,?!{}]", " ", answer))
    for phrase in ("answer is:", "answer:", "answer is", "option is"):
        _, found, rest = answer.partition(phrase)
        if found:
            return len(rest) > 0 and rest[1:].startswith(tuple(references))
    letters = [word for word in answer.split() if word in "ABCD"]
    return bool(letters) and letters[0] in references


def code_run(references, answer):
    words = re.sub("[\n.`'\":]", " ", answer).split()
    return bool(words) and bool(re.fullmatch("[+-]?[0-9]+", words[-1])) and int(words[-1]) == int(references[0])


def math_calc(references, answer):
    given = [int(number) for number in re.findall("[0-9]+", answer)]
    right = 0
    while right < min(len(given), len(references)) and given[right] == int(references[right]):
        right += 1
    return right / len(references)


def longbench2(_, answer):
    answer = answer.replace("*", "")
    match = re.search(r"The correct answer is \(([A-D])\)", answer) or re.search(r"The correct answer is ([A-D])", answer)
    return match.group(1) if match else None


# Rule, its definition, references, pieces that matter.
UUID = "a54e2eed-e625-4570-9f74-3624e77d6684"
RULES = [
    ("clean_prediction", lambda _, a: re.sub("[\x00-\x1f]", "\n", a.strip()).strip(), [""], ["\x00", "\x1e", "\x08"]),
    ("string_match_all", lambda r, a: sum(contained(r, a)) / len(r), ["Dolores", "école", "12", "жан", "İ"], ["3123", "DOLORES"]),
    ("string_match_part", lambda r, a: float(any(contained(r, a))), ["Dolores", "Łódź"], ["dolor", "ŁÓDŹ"]),
    ("passkey", lambda r, a: r[0] == first("[0-9]+", a), ["71432"], ["71432", "7143", "2", "９"]),
    ("kv_retrieval", lambda r, a: r[0] in cut(a), [UUID], [UUID, UUID.upper(), UUID[:20]]),
    ("math_find", math_find, ["42"], ["42", "4", ".", "0", "42.0", "٤"]),
    ("math_find", math_find, ["42.5"], ["42", ".5", ".", "0", "42.50"]),
    ("code_debug", code_debug, ["B", "load_model"],
     ["B", "B.", "B:", "load_model", "answer is:", "is:", "answer:", "correct option is:", " ", "C", "`", "-"]),
    ("longdialogue_qa", lambda r, a: r[0] in [w.upper() for w in cut(a)], ["ACE"], ["ace", "Ace", "ACE", "'s"]),
    ("longdialogue_qa", lambda r, a: r[0] in [w.upper() for w in cut(a)], ["ÉCOLE"], ["école", "É"]),
    ("longbook_qa", longbook_qa, ["The cat's école, a Dolores", "an x-y “the” 42"], ["cat's", "cats", "xy"]),
    ("longbook_qa_chinese", longbook_qa_chinese, ["田归农, 商老太。ABC", "《王剑英》 x"], ["田归农", "商", "老太", "，", "《", "》", "王剑英", "abc"]),
    ("longbook_choice", longbook_choice, ["B", "Hall Farm"],
     ["A", "B", "B.", "D", "AB", "Hall Farm", "answer is:", "answer:", "answer is", "option is", " ", "I", "\n"]),
    ("code_run", code_run, ["-5"], ["-5", "5", "-", "05", "-05", ".", "`", ":", " ", "x"]),
    ("code_run", code_run, ["4"], ["4", "+4", "-4", "04", " ", ".", "="]),
    ("math_calc", math_calc, ["79", "0", "59", "7"], ["79", "0", "59", "7", ", ", "[", "79, 0, ", "00", "-7"]),
    ("longbench2_letter", longbench2, [""], ["The correct answer is ", "(", ")", "A", "B", "(C)", "*", "(D", "E"]),
]


def random_answer(random_, pieces):
    parts = []
    for _ in range(random_.choice([0, 1, 2, 3, 5, 8, 13])):
        kind = random_.random()
        pool = pieces if kind < 0.45 else WORDS if kind < 0.65 else SPACES if kind < 0.85 else MARKS
        parts.append(random_.choice(pool))
    return "".join(parts)


def ask(driver, questions):
    lines = "".join(json.dumps({"rule": r, "references": refs, "answer": a}) + "\n" for r, refs, a in questions)
    run = subprocess.run([driver], input=lines, capture_output=True, text=True, encoding="utf-8", check=True)
    answers = [json.loads(line) for line in run.stdout.split("\n") if line]
    assert len(answers) == len(questions), f"{len(questions)} questions, {len(answers)} answers"
    return answers


def main():
    random_ = random.Random(1)
    questions, expected = [], []
    for rule, define, references, pieces in RULES:
        for _ in range(ANSWERS):
            answer = random_answer(random_, pieces)
            questions.append((rule, references, answer))
            expected.append(define(references, answer))
    # Every character that this Python and Unicode 14 know alike; sigma is documented.
    known = [c for c in map(chr, range(0x110000)) if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs", "Co") and c != "Σ"]
    for start in range(0, len(known), 64):
        text = "".join(known[start:start + 64])
        questions.append(("lower_case", [], text))
        expected.append(text.lower())
    wrong, right = 0, collections.Counter()
    for question, want, got in zip(questions, expected, ask(sys.argv[1], questions)):
        same = abs(want - got) < 1e-12 if isinstance(want, float) else want == got
        right[question[0]] += bool(want)
        if not same:
            wrong += 1
            if wrong < 20:
                print(f"{question}: expected {want!r}, found {got!r}")
    print(f"{len(questions)} answers, {wrong} scored otherwise; not 0: {dict(right)}")
    # A rule that is never fulfilled is not tested.
    return 1 if wrong or min(right.values()) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
