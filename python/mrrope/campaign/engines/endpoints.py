# SPDX-License-Identifier: MIT
"""Servers that are there already, under a plan each: they are asked, neither started nor stopped."""

from __future__ import annotations

import contextlib

from .served import asking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job
    from .running import Running


@contextlib.contextmanager
def ready(job: Job, delivered: Delivered | None, folder: Folder, mrrope: str) -> Iterator[Running]:
    del delivered, folder
    yield asking(list(job.model.endpoints[job.plan.name]), job, mrrope)
