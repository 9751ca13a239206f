# SPDX-License-Identifier: MIT
"""llama-server with a sidecar: a second shard of some kilobytes beside the file, which is not changed."""

from __future__ import annotations

import contextlib

from ... import files as _files
from ..file import as_folder
from ..programs import program
from .options import as_words, from_shell
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
    # A folder for each shard: they are written beside each other, and weigh nothing
    place = folder.path / "delivered" / model.name / as_folder(job.plan.name) / f"{job.shard}"
    place.mkdir(parents=True, exist_ok=True)
    written = _files.extend(
        model.path, plan=delivered.plan, trained=model.trained or None, sidecar=True, output=str(place), overwrite=True,
        any_factor=True,
    )  # fmt: skip
    command = from_shell(written.commands[-1])[1:]  # llama-server -m … -c … --override-kv …
    server = program(model.program or "llama-server")
    words = [server, *command, "--alias", model.name, "--host", "127.0.0.1", "--port", "{port}"]
    words += as_words(model.options)
    with started(words, job, delivered, folder, mrrope) as running:
        yield running
