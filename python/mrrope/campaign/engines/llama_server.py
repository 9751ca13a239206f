# SPDX-License-Identifier: MIT
"""llama-server with a sidecar: a second shard of some kilobytes beside the file, which is not changed."""

from __future__ import annotations

from ... import files as _files
from ..file import as_folder
from ..programs import program
from .options import from_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job


def command(job: Job, delivered: Delivered, folder: Folder) -> list[str]:
    model = job.model
    # A folder for each shard: they are written beside each other, and weigh nothing
    place = folder.path / "delivered" / model.name / as_folder(job.plan.name) / f"{job.shard}"
    place.mkdir(parents=True, exist_ok=True)
    written = _files.extend(
        model.path, plan=delivered.plan, trained=model.trained or None, sidecar=True, output=str(place), overwrite=True,
        any_factor=True,
    )  # fmt: skip
    words = from_shell(written.commands[-1])[1:]  # llama-server -m … -c … --override-kv …
    return [program(model.program or "llama-server"), *words, "--alias", model.name]
