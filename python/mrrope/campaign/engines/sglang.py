# SPDX-License-Identifier: MIT
"""SGLang with --json-model-override-args: as with vLLM the plan is in the command. `program`: a python with SGLang."""

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
    words = [program(model.program or "python3"), "-m", "sglang.launch_server", "--model-path", model.path]
    words += ["--served-model-name", model.name, "--json-model-override-args", json.dumps(overrides)]
    words += ["--context-length", str(job.target)]
    return [*words, "--tp-size", str(int(model.gpus))] if model.gpus > 1 else words
