# SPDX-License-Identifier: MIT
"""Options of a campaign as words."""

from __future__ import annotations


def as_words(options: dict[str, str | None]) -> list[str]:
    """{"dtype": "float32", "chat": None} is --dtype float32 --chat."""
    words = []
    for name, value in options.items():
        words += [f"--{name}"] if value is None else [f"--{name}", value]
    return words
