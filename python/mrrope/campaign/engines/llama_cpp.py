# SPDX-License-Identifier: MIT
"""llama.cpp in process: mrrope eval loads the model and puts the plan into its graph. Nothing is served."""

from __future__ import annotations

import contextlib

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
    del folder
    assert delivered is not None
    model = job.model
    words = ["-m", model.path, "--methods", str(delivered.plan.method), "--factor", repr(delivered.plan.factor)]
    words += ["--trained", str(model.trained)] if model.trained else []
    words += as_words({**model.options, **model.evaluate})
    yield Running(lambda kind: [mrrope, "eval", kind, *words])
