# SPDX-License-Identifier: MIT
"""SGLang with --json-model-override-args: as vLLM, the plan travels in the command. `program` is a python that has SGLang."""

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
    words = [program(model.program or "python3"), "-m", "sglang.launch_server", "--model-path", model.path]
    words += ["--served-model-name", model.name, "--json-model-override-args", json.dumps(overrides)]
    words += ["--context-length", str(job.target), "--host", "127.0.0.1", "--port", "{port}"]
    words += ["--tp-size", str(int(model.gpus))] if model.gpus > 1 else []
    with started([*words, *as_words(model.options)], job, delivered, folder, mrrope) as running:
        yield running
