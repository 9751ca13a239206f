#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts measured tables of docs/results into README.md.

    tools/readme_table.py            renews what stands between the marks
    tools/readme_table.py --check    exit status 1 if that is not what docs/results says

A mark names the document and the rows that are wanted: <!-- results tiny-512.md: none, yarn, mrrope-pro --> … <!-- end -->. The
table is the output of `mrrope eval ppl` in that document.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"(<!-- results ([\w.-]+): ([\w, -]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def rows_of(document):
    """{method: cells}, and the header under "method", of the first table of perplexities."""
    lines = iter((ROOT / "docs" / "results" / document).read_text(encoding="utf-8").splitlines())
    header = next(line for line in lines if re.match(r"  method +S +\d", line))
    rows = {"method": re.split(r"\s{2,}", header.strip())}
    for line in lines:
        if not line.startswith("  "):
            return rows
        cells = re.split(r"\s{2,}", line.strip())
        rows[cells[0]] = cells
    return rows


def table_of(match):
    rows = rows_of(match.group(2))
    names = [name.strip() for name in match.group(3).split(",")]
    header = ["perplexity", *rows["method"][1:]]
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(rows[name]) + " |" for name in names]
    return match.group(1) + "\n".join(lines) + "\n" + match.group(5)


def main():
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    renewed, count = MARK.subn(table_of, text)
    if "--check" in sys.argv:
        print(f"{count} tables, {'as' if renewed == text else 'not as'} in docs/results")
        return 0 if count and renewed == text else 1
    path.write_text(renewed, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
