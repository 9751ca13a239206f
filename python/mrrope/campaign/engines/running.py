# SPDX-License-Identifier: MIT
"""A model that runs under a plan, for as long as its engine's context lasts."""

from __future__ import annotations

import dataclasses

TYPE_CHECKING = False
if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job
    from ..programs import Server

    Ready = Callable[[Job, Delivered | None, Folder, str], contextlib.AbstractContextManager["Running"]]


@dataclasses.dataclass(frozen=True)
class Running:
    words: Callable[[str], list[str]]  # of a kind ("ppl"): the command that measures it
    server: Server | None = None  # which that command asks, where it was started here
