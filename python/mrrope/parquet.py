# SPDX-License-Identifier: MIT
"""A run as a Parquet file, for DuckDB, pandas and Spark: `mrrope export RUN --parquet FILE`.

    mrrope.parquet.export("run", "run.parquet")
    duckdb.sql("SELECT method, length, avg(score) FROM 'run.parquet' GROUP BY ALL")

One row for each record, in their order; docs/parquet.md describes the columns. Needs pyarrow: pip install 'mrrope[parquet]'.
Memory: some thousand records at a time, whatever the run has.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys

from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["SCHEMA", "export"]

SCHEMA = "mrrope.parquet/1"
_ROWS = 8192  # of a batch
_MOST_BYTES = 16 << 20  # of a line, as kMaxRecordBytes of mrrope/records.h
_MOST_INFO = 1 << 20

# Members of a record, of its "answer", and of a record of a document: what must be there, and what may.
_RECORD = {"schema": str, "key": str, "task": str, "method": str, "factor": float, "document": str, "document_hash": str,
           "seconds": float}
_ANSWER = {"length": int, "index": int, "depth": float, "prompt_tokens": int, "new_tokens": int, "text": str, "finish": str,
           "references": list, "score": float}
_ANSWER_MORE = {"asked_depth": float, "labels": dict, "others": dict, "right": dict, "rotation": str}
_READING = {"points": list, "bucket": int, "bucket_nll": list, "kl_tokens": int, "kl": float, "inv_freq": list,
            "attention_scale": float}
_POINT = {"length": int, "predicted": int, "nll": float}
_RIGHT = {"nll": float, "tokens": int}


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as missing:
        raise Error("needs pyarrow: pip install 'mrrope[parquet]'", "unsupported") from missing
    return pyarrow


def _columns(pa: Any) -> Any:
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    point = pa.struct([("length", whole), ("predicted", whole), ("nll", real)])
    return pa.schema([
        ("key", text), ("task", text), ("method", text), ("factor", real), ("rung", text), ("document", text),
        ("document_hash", text), ("seconds", real),
        ("length", whole), ("index", whole), ("depth", real), ("asked_depth", real), ("prompt_tokens", whole),
        ("new_tokens", whole), ("text", text), ("finish", text), ("references", pa.list_(text)),
        ("labels", pa.map_(text, text)), ("score", real), ("others", pa.map_(text, real)), ("right_nll", real),
        ("right_tokens", whole), ("rotation", text),
        ("points", pa.list_(point)), ("bucket", whole), ("bucket_nll", pa.list_(real)), ("kl_tokens", whole), ("kl", real),
        ("inv_freq", pa.list_(real)), ("attention_scale", real)])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a field occurs twice in one object")
    return members


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return False
    if kind is int:
        return isinstance(value, int) and 0 <= value <= 1 << 53
    return isinstance(value, (int, float) if kind is float else kind)


def _check(members: Any, fields: dict[str, type], more: dict[str, type], place: str) -> None:
    if not isinstance(members, dict):
        raise ValueError(f"{place}expected an object")
    for name, kind in fields.items():
        if name not in members:
            raise ValueError(f"{place}{name}: missing")
        if not _is(members[name], kind):
            raise ValueError(f"{place}{name}: expected {kind.__name__}")
    for name in members.keys() - fields.keys():
        if name not in more or not _is(members[name], more[name]):
            raise ValueError(f"{place}{name[:80]}: unknown field, or not what it should be")


def _numbers(values: list[Any], place: str) -> list[float]:
    if not all(_is(value, float) for value in values):
        raise ValueError(f"{place}: expected numbers")
    return values


def _row(line: str) -> dict[str, Any]:
    """The row of a line. ValueError says what is wrong with it; mrrope's own reader says it better."""
    record = _DECODER.decode(line)
    if not isinstance(record, dict) or record.get("schema") != "mrrope.record/1":
        raise ValueError("schema: expected mrrope.record/1")
    answers = "answer" in record
    _check(record, _RECORD if answers else _RECORD | _READING, {"rung": str, "answer": dict} if answers else {"rung": str}, "")
    row = {name: record[name] for name in _RECORD if name != "schema"}
    row["rung"] = record.get("rung")
    if not answers:
        for point in record["points"]:
            _check(point, _POINT, {}, "points: ")
        _numbers(record["bucket_nll"], "bucket_nll")
        _numbers(record["inv_freq"], "inv_freq")
        return row | {name: record[name] for name in _READING}
    answer = record["answer"]
    _check(answer, _ANSWER, _ANSWER_MORE, "answer.")
    if not 0 <= answer["score"] <= 1:
        raise ValueError("answer.score: expected a number from 0 to 1")
    labels, others, right = answer.get("labels"), answer.get("others"), answer.get("right")
    if not all(isinstance(text, str) for text in [*answer["references"], *(labels or {}).values()]):
        raise ValueError("answer: expected texts as references and labels")
    _numbers(list((others or {}).values()), "answer.others")
    row |= {name: answer[name] for name in _ANSWER}
    row["depth"] = answer["depth"] if answer["depth"] >= 0 else None
    row["asked_depth"] = answer["asked_depth"] if answer.get("asked_depth", -1) >= 0 else None
    row["labels"] = list(labels.items()) if labels else None
    row["others"] = list(others.items()) if others else None
    row["rotation"] = answer.get("rotation")
    if right is not None:
        _check(right, _RIGHT, {}, "answer.right.")
        row["right_nll"], row["right_tokens"] = right["nll"], right["tokens"]
    return row


def _rows(path: str) -> Iterator[dict[str, Any]]:
    """Without a last line that was cut off: a killed process leaves one."""
    with open(path, "rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_MOST_BYTES + 1), b""), 1):
            if not line.endswith(b"\n") and len(line) <= _MOST_BYTES:
                return
            try:
                if len(line) > _MOST_BYTES:
                    raise ValueError("the line is longer than any record")
                yield _row(line.decode("utf-8").rstrip("\n"))
            except (ValueError, RecursionError, OverflowError) as problem:
                raise Error(str(problem)[:300], "malformed", f"{path}:{number}") from None


def export(run: str | os.PathLike[str], file: str | os.PathLike[str]) -> int:
    """Writes `file` from the run folder `run` and returns its rows. What is there already stays: an Error."""
    pa = _arrow()
    run, file = os.fspath(run), os.fspath(file)
    try:
        with open(os.path.join(run, "run.json"), encoding="utf-8") as source:
            info = source.read(_MOST_INFO)
        if os.path.lexists(file):
            raise Error("exists already; take another name, or remove it", where=file)
        schema = _columns(pa).with_metadata({"mrrope.schema": SCHEMA, "mrrope.run": info})
        part = f"{file}.{secrets.token_hex(8)}"
        # Rights as the umask says; asking for it would set it, for every thread
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        try:
            count = _write(pa, schema, os.path.join(run, "records.jsonl"), part)
            os.link(part, file)  # never over another's
        finally:
            os.unlink(part)
    except OSError as problem:
        raise Error(problem.strerror or str(problem), "input/output", str(problem.filename or file)) from None
    except UnicodeDecodeError:
        raise Error("not UTF-8", "malformed", os.path.join(run, "run.json")) from None
    return count


def _write(pa: Any, schema: Any, records: str, part: str) -> int:
    count = 0
    with pa.parquet.ParquetWriter(part, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for row in _rows(records):
            rows.append(row)
            count += 1
            if len(rows) == _ROWS:
                writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
                rows.clear()
        if rows:
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
    return count


def main(words: list[str] | None = None) -> int:
    """mrrope export RUN --parquet FILE"""
    parser = argparse.ArgumentParser(prog="mrrope export", description=main.__doc__)
    parser.add_argument("run")
    parser.add_argument("--parquet", metavar="FILE", required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    try:
        count = export(options.run, options.parquet)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({"schema": "mrrope.export/1", "files": [options.parquet]}, indent=2))
    else:
        print(f"wrote     {options.parquet}, {count} records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
