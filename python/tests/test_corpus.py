# SPDX-License-Identifier: MIT
"""Documents of a corpus: the same texts out of every form, the first or a fair draw, and damaged files refused."""
import collections
import gzip
import json

import pytest

from mrrope import Error, corpus

TEXTS = ["short", "a" * 40, "ü" * 30, "b" * 50, "line\nbreak " * 5, "c" * 41]


def lines(texts):
    return "".join(json.dumps({"text": text, "meta": {"n": 1}}) + "\n" for text in texts).encode()


def written(folder, form):
    path = folder / f"corpus{form}"
    if form == ".jsonl":
        path.write_bytes(lines(TEXTS[:3]) + b"\n" + lines(TEXTS[3:]))
    elif form == ".jsonl.gz":
        path.write_bytes(gzip.compress(lines(TEXTS[:3])) + gzip.compress(lines(TEXTS[3:])))
    elif form == ".jsonl.zst":
        zstandard = pytest.importorskip("zstandard", reason="no package zstandard: .zst is not tried")
        pack = zstandard.ZstdCompressor().compress
        path.write_bytes(pack(lines(TEXTS[:3])) + pack(lines(TEXTS[3:])))
    else:
        parquet = pytest.importorskip("pyarrow.parquet", reason="no package pyarrow: .parquet is not tried")
        arrow = pytest.importorskip("pyarrow")
        parquet.write_table(arrow.table({"other": list(range(6)), "text": TEXTS}), path, row_group_size=2)
    return str(path)


@pytest.mark.parametrize("form", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"])
def test_every_form_gives_the_same_texts(tmp_path, form):
    assert [text for _, text in corpus.documents([written(tmp_path, form)])] == TEXTS


def test_the_first_that_are_long_enough_by_every_counter_are_taken_and_no_more_is_read(tmp_path):
    path = written(tmp_path, ".jsonl")
    with open(path, "ab") as file:
        file.write(b"{broken\n")
    chosen = corpus.choose(corpus.documents([path]), [len, lambda text: len(text) - 5], at_least=41, count=1)
    assert [text for _, text in chosen] == ["b" * 50]
    assert chosen[0][0].endswith(":4")  # an empty line is no entry
    with pytest.raises(Error, match="not valid JSON"):
        corpus.choose(corpus.documents([path]), [len], at_least=41, count=9)


def test_a_draw_is_fair_and_the_same_for_the_same_seed():
    texts = [(str(i), "x" * 10) for i in range(20)]
    counts = collections.Counter()
    for seed in range(2000):
        names = [name for name, _ in corpus.choose(texts, [len], at_least=10, count=5, seed=seed)]
        assert names == sorted(names, key=int)
        counts.update(names)
    assert all(400 < counts[str(i)] < 600 for i in range(20)), counts  # 500, five standard deviations are 97
    assert corpus.choose(texts, [len], 10, 5, seed=3) == corpus.choose(texts, [len], 10, 5, seed=3)


def test_documents_are_written_once_with_their_sources(tmp_path, capsys):
    path = written(tmp_path, ".jsonl")
    out = tmp_path / "out"
    assert corpus.main([path, "--at-least", "41", "--count", "2", "-o", str(out)]) == 0
    assert (out / "000.txt").read_text(encoding="utf-8") == "ü" * 30  # 60 bytes; without a tokenizer bytes are counted
    sources = json.loads((out / "sources.json").read_text())
    assert [source["source"] for source in sources] == [f"{path}:3", f"{path}:4"]
    assert corpus.main([path, "--at-least", "41", "--count", "2", "-o", str(out)]) == 1
    assert "is there already" in capsys.readouterr().err
    assert corpus.main([path, "--at-least", "1k", "-o", str(tmp_path / "none")]) == 1
    assert "found 0" in capsys.readouterr().err and not (tmp_path / "none").exists()


@pytest.mark.parametrize("content", [b"[]\n", b'{"text": 7}\n', b"{}\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_what_is_no_document_is_named_by_file_and_entry(tmp_path, content):
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(["fine"]) + content)
    with pytest.raises(Error, match="a.jsonl:2"):
        list(corpus.documents([str(path)]))


def test_files_that_are_cut_damaged_or_of_another_kind_are_errors(tmp_path):
    packed = gzip.compress(lines(TEXTS))
    for name, content in {"cut.jsonl.gz": packed[:-9], "other.jsonl.gz": b"plain", "a.txt": b"text", "b.parquet": b"PAR1"}.items():
        (tmp_path / name).write_bytes(content)
        if name.endswith(".parquet"):
            pytest.importorskip("pyarrow", reason="no package pyarrow: .parquet is not tried")
        with pytest.raises(Error):
            list(corpus.documents([str(tmp_path / name)]))
    with pytest.raises(Error):
        list(corpus.documents([str(tmp_path / "absent.jsonl")]))
