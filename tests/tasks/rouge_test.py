# SPDX-License-Identifier: MIT
"""ROUGE and Porter's stems against google-research's rouge_score and NLTK.

    $(tools/engine_env rouge) tests/tasks/rouge_test.py build/release/score_driver [--write]

1,000 random pairs of texts, to 1e-12, by ROUGE-1 and by ROUGE-Lsum; then every word of the novels in $MRROPE_DATA/novels (default ../shared/data) and
300,000 words made of English beginnings and endings, or of letters. --write renews tests/vectors/rouge.json, the
first 300 of the pairs, with which scoring_test.cpp needs no Python.
"""
import itertools
import json
import os
import pathlib
import random
import re
import sys

from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

from scoring_test import MARKS, SPACES, WORDS, ask

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests/vectors/rouge.json"
NEEDLE = "eat a sandwich and sit in Dolores Park on a sunny day"
COMMENT = ("rouge_score 0.1.2, rouge1 with use_stemmer=True, on random pairs; made by tests/tasks/rouge_test.py --write")

VOCABULARY = ("eat a an and the sandwich sandwiches sit sitting sits in Dolores Park parks parked parking on sunny sunnier day days "
              "dying lies tied flies skies news proceed relational conditionally rationally digitizer operator feudalism "
              "hopefulness callousness formality sensitivity electricity electrical goodness revival allowance inference "
              "airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologous "
              "communism activate angularities effective bowdlerize probate rate cease controlled rolling geology archaeology "
              "happily enjoyed yyyy syzygy oed ied eed 1901 42nd mp3s naïve café coöperate ÉCOLES İstanbul K ſ ß ﬁne").split()
BEGINNINGS = "re un hope form relat condit val digit oper feud decis call sens electr good rev all air gyr adj def irr repl dep hom comm act ang eff bowd prob ceas contr roll geo archaeo happ enjo y sy tr b ee oa iv orr tro priv x a i o ly".split()
ENDINGS = "s es sses ies ss ed ied eed ing at bl iz y ational tional enci anci izer abli bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi ology icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent sion tion ion ou ism ate iti ous ive ize e ll lle ally fully bly ency ancy ently ously ality ivity bility".split()


def random_text(random_):
    kind = random_.random()
    if kind < 0.03:
        return ""
    if kind < 0.1:
        return "".join(chr(random_.choice([random_.randrange(0x20, 0x250), random_.randrange(0x20, 0xD800)])) for _ in range(40))
    words = [random_.choice(VOCABULARY if random_.random() < 0.8 else WORDS) for _ in range(random_.choice([1, 3, 8, 20, 60]))]
    return "".join(w + random_.choice(SPACES if random_.random() < 0.8 else MARKS) for w in words)


def pairs(count):
    random_ = random.Random(7)
    for i in range(count):
        reference = NEEDLE if i % 5 == 0 else random_text(random_)
        answer = random_text(random_)
        if i % 7 == 0:  # something in common
            answer = " ".join(random_.sample(reference.split(), len(reference.split()) // 2)) + answer
        yield reference, answer


def words():
    found = set("".join(parts) for parts in itertools.product(BEGINNINGS, ENDINGS))
    found |= set("".join(parts) for parts in itertools.product(BEGINNINGS, ENDINGS, ENDINGS))
    random_ = random.Random(11)
    found |= set("".join(random_.choices("abcdeiilnosty", k=random_.randrange(1, 14))) for _ in range(20_000))
    data = pathlib.Path(os.environ.get("MRROPE_DATA", ROOT.parent / "shared" / "data")) / "novels"
    novels = sorted(data.glob("*.md"))
    if not novels:
        print(f"no novels in {data}: their words are left out (MRROPE_DATA)")
    read = set()
    for novel in novels:
        read |= set(re.findall("[a-z0-9]+", novel.read_text(encoding="utf-8").lower()))
    print(f"{len(read)} words of {len(novels)} novels, {len(found)} made ones")
    return sorted(found | read)


def main():
    scorer = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=True)
    texts = list(pairs(1000))
    scores = [scorer.score(reference, answer)["rouge1"] for reference, answer in texts]
    cases = [{"reference": r, "answer": a, "precision": s.precision, "recall": s.recall, "f1": s.fmeasure}
             for (r, a), s in zip(texts[:300], scores)]
    content = json.dumps({"_comment": COMMENT, "cases": cases}, indent=0, ensure_ascii=True) + "\n"
    if "--write" in sys.argv:
        VECTORS.write_text(content, encoding="utf-8")
    stale = VECTORS.read_text(encoding="utf-8") != content
    if stale:
        print(f"{VECTORS} is not what this script makes; --write renews it")

    worst = 0.0
    for score, got in zip(scores, ask(sys.argv[1], [("rouge1", [r], a) for r, a in texts])):
        worst = max([worst] + [abs(x - y) for x, y in zip(score, got)])
    print(f"{len(texts)} pairs, {sum(s.recall > 0 for s in scores)} with something in common: largest difference {worst:g}")

    summaries = rouge_scorer.RougeScorer(["rougeLsum"], use_stemmer=False)
    off = 0.0
    lines = [(r.replace(" ", "\n", 2), a.replace(" ", "\n", 3)) for r, a in texts]
    for (r, a), got in zip(lines, ask(sys.argv[1], [("longbook_sum", [r], a) for r, a in lines])):
        off = max(off, abs(summaries.score(r, a)["rougeLsum"].fmeasure - got))
    print(f"{len(lines)} summaries: largest difference {off:g}")
    worst = max(worst, off)

    stem, vocabulary = PorterStemmer().stem, words()
    wrong = [(w, stem(w), got) for w, got in zip(vocabulary, ask(sys.argv[1], [("stem", [], w) for w in vocabulary])) if stem(w) != got]
    print(f"{len(vocabulary)} words, {len(wrong)} stemmed otherwise {wrong[:10]}")
    return 1 if stale or worst > 1e-12 or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
