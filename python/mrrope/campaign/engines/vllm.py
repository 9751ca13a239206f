# SPDX-License-Identifier: MIT
"""vllm serve with --hf-overrides: the plan travels in the command, the folder stays as it is."""

from __future__ import annotations

import json

from ... import files as _files
from ..programs import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job


def command(job: Job, delivered: Delivered, folder: Folder) -> list[str]:
    del folder
    model = job.model
    overrides = _files.hf_overrides(delivered.plan, delivered.config)
    words = [program(model.program or "vllm"), "serve", model.path, "--served-model-name", model.name]
    words += ["--hf-overrides", json.dumps(overrides), "--max-model-len", str(job.target)]
    return [*words, "--tensor-parallel-size", str(int(model.gpus))] if model.gpus > 1 else words
