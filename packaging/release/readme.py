#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an archive says of itself: the beginning of README.md and its first example, without links into the sources.

    packaging/release/readme.py README.md > FOLDER/share/doc/mrrope/README.md
"""
import pathlib
import re
import sys


def excerpt(text):
    title_and_summary = text.split("\n```console", 1)[0]
    section = re.search(r"^## A GGUF file\n.*?^```console\n.*?^```\n", text, re.MULTILINE | re.DOTALL)[0]
    both = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", f"{title_and_summary}\n{section}")
    return f"{both}\nman mrrope, or mrrope COMMAND --help, has the rest. Licences of what is inside: licenses/; versions: mrrope.cdx.json.\n"


sys.stdout.write(excerpt(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
