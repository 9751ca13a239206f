# SPDX-License-Identifier: MIT
"""Options of a campaign as words, and commands that mrrope wrote for a shell as such."""

from __future__ import annotations

import os
import re
import shlex


def as_words(options: dict[str, str | None]) -> list[str]:
    """{"dtype": "float32", "chat": None} is --dtype float32 --chat."""
    words = []
    for name, value in options.items():
        words += [f"--{name}"] if value is None else [f"--{name}", value]
    return words


def from_shell(command: str) -> list[str]:
    """Its words. Bytes that a terminal would obey are written for bash, $'a\\x0ab', which shlex does not know."""

    def byte(found: re.Match[bytes]) -> bytes:
        return bytes([int(found[1][1:], 16)]) if found[1][:1] == b"x" else found[1]

    def plain(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return shlex.quote(os.fsdecode(re.sub(rb"\\(x[0-9a-f]{2}|.)", byte, os.fsencode(found[1]))))

    quoted = r"'[^']*'|\\.|\$'((?:[^'\\]|\\.)*)'"  # what is in other quotes is passed over
    return shlex.split(re.sub(quoted, plain, command))
