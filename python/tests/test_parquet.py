# SPDX-License-Identifier: MIT
"""Runs as Parquet files, read back by pyarrow."""
import importlib
import json
import os
import pathlib

import pytest

pa = pytest.importorskip("pyarrow", reason="mrrope[parquet] is not installed")
pytest.importorskip("pyarrow.parquet")

parquet = importlib.import_module("mrrope.parquet")  # wants pyarrow
Error = importlib.import_module("mrrope").Error

INFO = {"schema": "mrrope.run/1", "task": "ruler", "model": "m"}


def answer(**changes):
    inside = {"length": 4096, "index": 3, "depth": 0.25, "prompt_tokens": 4000, "new_tokens": 9, "text": "é \"1\"\n", "finish": "stop",
              "references": ["1", "2"], "score": 0.5, "labels": {"domain": "Code"}, "others": {"rouge": 0.25},
              "right": {"nll": 1.5, "tokens": 2}, "rotation": "00aa"} | changes
    return {"schema": "mrrope.record/1", "key": "k", "task": "vt", "method": "yarn", "factor": 4, "document": "d",
            "document_hash": "h", "answer": inside, "seconds": 1.25}


def reading():
    return {"schema": "mrrope.record/1", "key": "r", "task": "ppl", "method": "none", "factor": 1, "document": "text",
            "document_hash": "t", "rung": "16k", "points": [{"length": 512, "predicted": 511, "nll": 1000.5}], "bucket": 256,
            "bucket_nll": [500.25, 500.25], "kl_tokens": 0, "kl": 0, "inv_freq": [1, 0.5], "attention_scale": 1, "seconds": 2}


def write(folder, records, tail=""):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(INFO))
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records) + tail)
    return folder


def test_every_field_of_a_record_is_in_its_row(tmp_path):
    run = write(tmp_path / "run", [answer(), reading(), answer(depth=-1, labels={})])
    assert parquet.export(run, tmp_path / "run.parquet") == 3
    table = pa.parquet.read_table(tmp_path / "run.parquet")
    first, second, third = table.to_pylist()
    assert first["text"] == "é \"1\"\n" and first["references"] == ["1", "2"] and first["score"] == 0.5
    assert dict(first["labels"]) == {"domain": "Code"} and dict(first["others"]) == {"rouge": 0.25}
    assert (first["right_nll"], first["right_tokens"], first["factor"]) == (1.5, 2, 4.0)
    assert first["points"] is None and first["rung"] is None
    assert second["points"] == [{"length": 512, "predicted": 511, "nll": 1000.5}] and second["inv_freq"] == [1.0, 0.5]
    assert second["score"] is None and second["rung"] == "16k"
    assert third["depth"] is None and third["labels"] is None
    assert json.loads(table.schema.metadata[b"mrrope.run"]) == INFO
    assert table.schema.metadata[b"mrrope.schema"] == b"mrrope.parquet/1"


def test_columns_are_those_of_the_document():
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/parquet.md").read_text(encoding="utf-8")
    described = [line.split("|")[1].strip().strip("`") for line in text.splitlines() if line.startswith("| `")]
    assert described == parquet._columns(pa).names


def test_more_records_than_a_batch_are_all_there(tmp_path):
    run = write(tmp_path / "run", [answer(index=i) for i in range(20_000)])
    assert parquet.export(run, tmp_path / "out.parquet") == 20_000
    assert pa.parquet.read_table(tmp_path / "out.parquet")["index"].to_pylist() == list(range(20_000))


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path):
    assert parquet.export(write(tmp_path / "run", [answer()], tail=json.dumps(answer())[:-9]), tmp_path / "o.parquet") == 1


@pytest.mark.parametrize(("line", "word"), [
    (json.dumps(answer(score=2)), "score"),
    (json.dumps(answer(score="1")), "score"),
    (json.dumps(answer(surprise=1)), "surprise"),
    (json.dumps(answer(references=[1])), "references"),
    (json.dumps(answer(length=4096.5)), "length"),
    (json.dumps(answer()).replace('"k"', '"k", "key": "l"'), "twice"),
    (json.dumps(answer()).replace("1.25", "NaN"), "NaN"),
    (json.dumps(answer()).replace("record/1", "record/2"), "schema"),
    (json.dumps({"schema": "mrrope.record/1"}), "key"),
    ("[" * 100_000, ""),
    ("[]", "schema"),
])
def test_a_damaged_line_is_named_and_nothing_is_left(tmp_path, line, word):
    run = write(tmp_path / "run", [answer()], tail=line + "\n" + json.dumps(answer()) + "\n")
    with pytest.raises(Error) as raised:
        parquet.export(run, tmp_path / "out.parquet")
    assert raised.value.where.endswith("records.jsonl:2") and word in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_what_is_there_already_stays(tmp_path):
    (tmp_path / "out.parquet").write_text("mine")
    with pytest.raises(Error, match="exists already"):
        parquet.export(write(tmp_path / "run", [answer()]), tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").read_text() == "mine"
    with pytest.raises(Error):
        parquet.export(tmp_path / "nowhere", tmp_path / "other.parquet")


# umask() is of the whole process: what another thread made meanwhile was open to everybody.
def test_the_file_has_the_rights_of_the_umask_which_stays(tmp_path, monkeypatch):
    run = write(tmp_path / "run", [answer()])
    umask = os.umask
    before = umask(0o027)
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("set for every thread"))
    try:
        parquet.export(run, tmp_path / "run.parquet")
    finally:
        umask(before)
    assert (tmp_path / "run.parquet").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["run", "run.parquet"]


def test_the_command_says_what_it_wrote(tmp_path, capsys):
    run = write(tmp_path / "run", [answer()])
    assert parquet.main([str(run), "--parquet", str(tmp_path / "a.parquet")]) == 0
    assert capsys.readouterr().out == f"wrote     {tmp_path / 'a.parquet'}, 1 records\n"
    assert parquet.main([str(run), "--parquet", str(tmp_path / "a.parquet")]) == 1
    assert "exists already" in capsys.readouterr().err
