# SPDX-License-Identifier: MIT
"""The one exception of the package."""


def printable(text: str) -> str:
    """For a terminal: what it would obey in the words of others is a space."""
    return "".join(c if c.isprintable() else " " for c in text)


class Error(Exception):
    """Something from outside is wrong: a file, a value, a model. Wrong Python types are TypeError, as everywhere.

    code     "invalid argument", "malformed", "inconsistent", "unsupported", "too long", "input/output" or
             "cancelled": enough to choose a next step
    message  one sentence: what was expected, what was found
    where    a field ("method.params.beta_fast"), an argument, a file; empty if the message says it all
    """

    code: str
    message: str
    where: str

    def __init__(self, message: str, code: str = "invalid argument", where: str = "") -> None:
        super().__init__(message, code, where)
        self.message = message
        self.code = code
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message
