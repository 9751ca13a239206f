# SPDX-License-Identifier: MIT
"""Long documents out of the files that corpora are published in, as the texts that `mrrope eval ppl` reads.

    python -m mrrope.corpus proof-pile/test/*.jsonl.gz --tokenizer meta-llama/Meta-Llama-3-8B-Instruct \\
        --at-least 128k --count 10 -o data/proof-pile

    for number, text in documents(["train-00000-of-00001.parquet"]): …
    chosen = choose(documents(paths), counters, at_least=131072, count=10, seed=1)

.jsonl, also .gz and .zst (package zstandard), and .parquet (package pyarrow) are read entry by entry: a corpus may be
larger than memory. An entry is an object with a text in `field`. Without a seed the first documents that are long enough
are taken and reading stops there, as in the perplexity script of YaRN; with one they are drawn from all, so that every
long document is as likely, whatever the order of the files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import heapq
import io
import json
import pathlib
import random
import re
import sys

from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

MOST_BYTES = 256 << 20  # of one entry: more is no document, and would fill the memory


def documents(paths: Sequence[str], field: str = "text") -> Iterator[tuple[str, str]]:
    """(file:entry, text) in the order of the files. Errors name the file and the entry, from 1."""
    for path in paths:
        for number, text in enumerate(_entries(path, field), 1):
            yield f"{path}:{number}", text


def _entries(path: str, field: str) -> Iterator[str]:
    if path.endswith(".parquet"):
        yield from _parquet(path, field)
        return
    if not re.search(r"\.jsonl(\.gz|\.zst)?$", path):
        raise Error("expected .jsonl, .jsonl.gz, .jsonl.zst or .parquet", "unsupported", path)
    with _opened(path) as stream:
        number = 1
        while True:
            place = f"{path}:{number}"
            try:
                line = stream.readline(MOST_BYTES + 1)
            except (OSError, EOFError, ValueError) as error:
                raise Error(f"the packed data is damaged or cut: {error}", "malformed", place) from error
            if not line:
                return
            if len(line) > MOST_BYTES:
                raise Error(f"an entry of more than {MOST_BYTES >> 20} MiB", "malformed", place)
            if line.strip():
                yield _text(line, field, place)
                number += 1


def _text(line: bytes, field: str, place: str) -> str:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Error(f"not valid JSON: {error}", "malformed", place) from error
    text = entry.get(field) if isinstance(entry, dict) else None
    if not isinstance(text, str):
        raise Error(f'expected an object with a text "{field}"', "malformed", place)
    return text


def _opened(path: str) -> io.BufferedIOBase:
    try:
        if path.endswith(".gz"):
            return io.BufferedReader(gzip.open(path))
        if path.endswith(".zst"):
            zstandard = _package("zstandard", path)
            # A window of 2 GiB is what zstd --ultra --long=31 makes; it is taken from memory only if a file asks for it
            unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
            return io.BufferedReader(unpacker.stream_reader(open(path, "rb"), closefd=True, read_across_frames=True))
        return open(path, "rb")
    except OSError as error:
        raise Error(error.strerror or str(error), "input/output", path) from error


def _parquet(path: str, field: str) -> Iterator[str]:
    parquet = _package("pyarrow.parquet", path)
    try:
        file = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise Error(f"not a Parquet file: {error}", "malformed", path) from error
    with file:
        if field not in file.schema_arrow.names:
            raise Error(f'expected a column "{field}"; there are {", ".join(file.schema_arrow.names)}', "malformed", path)
        number = 0
        for batch in file.iter_batches(batch_size=16, columns=[field]):
            for text in batch.column(0).to_pylist():
                number += 1
                if not isinstance(text, str):
                    raise Error(f'expected a text in "{field}"', "malformed", f"{path}:{number}")
                yield text


def _package(name: str, path: str) -> Any:
    import importlib  # pylint: disable=import-outside-toplevel

    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".", maxsplit=1)[0]
        raise Error(f"reading it needs the package {package}: pip install {package}", "unsupported", path) from error


def choose(
    found: Iterable[tuple[str, str]],
    counters: Sequence[Callable[[str], int]],
    at_least: int,
    count: int,
    seed: int | None = None,
) -> list[tuple[str, str]]:
    """`count` documents of at least that many tokens by every counter: the first, or with a seed any.

    A text has no more tokens than bytes, so most short ones are passed over without being counted. Memory: what is kept.
    """
    drawn = random.Random(seed)
    kept: list[tuple[float, int, str, str]] = []  # the largest draws
    for order, (name, text) in enumerate(found):
        if len(text.encode("utf-8", "surrogatepass")) < at_least or any(counts(text) < at_least for counts in counters):
            continue
        place = -float(order) if seed is None else drawn.random()
        heapq.heappush(kept, (place, -order, name, text))
        if len(kept) > count:
            heapq.heappop(kept)
        if seed is None and len(kept) == count:
            break
    return [(name, text) for _, _, name, text in sorted(kept, key=lambda one: -one[1])]


def counter(tokenizer: str) -> Callable[[str], int]:
    """Tokens without BOS, by a folder with tokenizer.json, that file, or a name on the Hugging Face Hub."""
    library = _package("tokenizers", tokenizer)
    file = pathlib.Path(tokenizer)
    if file.is_dir():
        file = file / "tokenizer.json"
    try:
        loaded = library.Tokenizer.from_file(str(file)) if file.is_file() else library.Tokenizer.from_pretrained(tokenizer)
    except Exception as error:  # tokenizers raises plain Exception  # pylint: disable=broad-exception-caught
        raise Error(f"expected a tokenizer: {error}", "malformed", tokenizer) from error
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids)


def write(chosen: Sequence[tuple[str, str]], folder: str) -> list[dict[str, object]]:
    """One file per document, 000.txt …, and sources.json, which says where each came from. A folder that is there is refused."""
    out = pathlib.Path(folder)
    try:
        out.mkdir(parents=True)
    except FileExistsError as error:
        raise Error("is there already; documents of another choice must not mix with these", "input/output", folder) from error
    sources = []
    for number, (name, text) in enumerate(chosen):
        data = text.encode("utf-8", "replace")
        (out / f"{number:03}.txt").write_bytes(data)
        sources.append({"file": f"{number:03}.txt", "source": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    (out / "sources.json").write_text(json.dumps(sources, indent=2) + "\n", encoding="utf-8")
    return sources


def _tokens(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})([kKmM]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f'expected a number of tokens such as 131072 or 128k, found "{text}"')
    return int(match[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[match[2].lower()]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mrrope.corpus", description="Long documents of a corpus, as texts for mrrope eval ppl.")
    parser.add_argument("files", nargs="+", metavar="FILE", help=".jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    parser.add_argument("--tokenizer", action="append", default=[], metavar="NAME",
                        help="a folder, a tokenizer.json or a name on the Hub; of several, long enough by all (default: bytes)")  # fmt: skip
    parser.add_argument("--at-least", type=_tokens, default=131072, metavar="N", help="tokens of a document (128k)")
    parser.add_argument("--count", type=int, default=10, metavar="N", help="how many (10)")
    parser.add_argument("--seed", type=int, metavar="N", help="draw them from all (default: the first)")
    parser.add_argument("--field", default="text", help="where an entry has its text (text)")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER")
    arguments = parser.parse_args(words)
    try:
        counters = [counter(name) for name in arguments.tokenizer]
        chosen = choose(documents(arguments.files, arguments.field), counters, arguments.at_least, arguments.count, arguments.seed)
        if len(chosen) < arguments.count:
            raise Error(f"expected {arguments.count} documents of at least {arguments.at_least} tokens, found {len(chosen)}",
                        "invalid argument", arguments.files[0])  # fmt: skip
        for source in write(chosen, arguments.output):
            print(f"{source['file']}  {source['bytes']:>10} bytes  {source['source']}")
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
