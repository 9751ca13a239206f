#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an archive says of itself: the beginning of README.md, and of docs/start-gguf.md what stands between its marks, without links
into the sources.

    packaging/release/readme.py ROOT > FOLDER/share/doc/mrrope/README.md
"""
import pathlib
import re
import sys

END = "\nman mrrope, or mrrope COMMAND --help, has the rest. Licences of what is inside: licenses/; versions: mrrope.cdx.json.\n"


def excerpt(readme, tutorial):
    title_and_summary = readme.split("\n```console", 1)[0]
    steps = re.search(r"^<!-- archive -->\n(.*?)^<!-- end of archive -->$", tutorial, re.MULTILINE | re.DOTALL)[1]
    steps = re.sub(r"^## \d+\. ", "## ", steps, flags=re.MULTILINE)  # the first is how to install it
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", f"{title_and_summary}\n{steps}").rstrip() + "\n" + END


ROOT = pathlib.Path(sys.argv[1])
sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.write(excerpt(*((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/start-gguf.md"))))
