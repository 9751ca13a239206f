# SPDX-License-Identifier: MIT
"""How a model is run under a plan: one file for each way, one function in it, and this table.

Each is a context, inside which the model runs:

    with ready(job, delivered, folder, mrrope) as model:
        run([*model.words(kind), *step.words, "-o", run folder])
"""

from __future__ import annotations

from . import endpoints, llama_cpp, llama_server, served, sglang, transformers, vllm

TYPE_CHECKING = False
if TYPE_CHECKING:
    import contextlib

    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job
    from .running import Ready, Running

_READY: dict[str, Ready] = {
    "llama.cpp": llama_cpp.ready,
    "llama-server": served.by(llama_server.command),
    "vllm": served.by(vllm.command),
    "sglang": served.by(sglang.command),
    "transformers": transformers.ready,
    "endpoints": endpoints.ready,
}


def ready(
    job: Job, delivered: Delivered | None, folder: Folder, mrrope: str
) -> contextlib.AbstractContextManager[Running]:
    """`delivered`: None for servers that are there already."""
    return _READY[job.model.engine](job, delivered, folder, mrrope)
