# SPDX-License-Identifier: MIT
"""transformers in a process of its own: in_transformers.py patches the model, reads and answers, and keeps the same records."""

from __future__ import annotations

import contextlib
import sys

from .options import as_words
from .running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job


@contextlib.contextmanager
def ready(job: Job, delivered: Delivered | None, folder: Folder, mrrope: str) -> Iterator[Running]:
    del folder, mrrope
    assert delivered is not None
    python = job.model.program or sys.executable
    words = ["-m", job.model.path, "--plan", str(delivered.file), "--label", job.plan.name]
    words += as_words({**job.model.options, **job.model.evaluate})
    yield Running(lambda kind: [python, "-m", "mrrope.campaign.in_transformers", kind, *words])
