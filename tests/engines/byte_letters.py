# SPDX-License-Identifier: MIT
"""How tokenizers of byte pairs write bytes; with nothing imported, for any environment."""


def byte_letters():
    """The letters by which byte-level tokenizers write the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(other)}
