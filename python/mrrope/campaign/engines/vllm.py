# SPDX-License-Identifier: MIT
"""vllm serve with --hf-overrides: the plan travels in the command, the folder stays as it is."""

from __future__ import annotations

import contextlib
import json

from ... import files as _files
from ..programs import program
from .options import as_words
from .served import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job
    from .running import Running


@contextlib.contextmanager
def ready(job: Job, delivered: Delivered | None, folder: Folder, mrrope: str) -> Iterator[Running]:
    assert delivered is not None
    model = job.model
    overrides = _files.hf_overrides(delivered.plan, delivered.config)
    words = [program(model.program or "vllm"), "serve", model.path, "--served-model-name", model.name]
    words += ["--hf-overrides", json.dumps(overrides), "--max-model-len", str(job.target)]
    words += ["--host", "127.0.0.1", "--port", "{port}"]
    words += ["--tensor-parallel-size", str(int(model.gpus))] if model.gpus > 1 else []
    with started([*words, *as_words(model.options)], job, delivered, folder, mrrope) as running:
        yield running
