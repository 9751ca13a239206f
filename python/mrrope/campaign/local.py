# SPDX-License-Identifier: MIT
"""Jobs one after the other, here: `--local`."""

from __future__ import annotations

from ..errors import Error
from .work import is_done, is_worth_another, perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .folder import Folder
    from .jobs import Job
    from .progress import Progress


def run_here(jobs: Iterable[Job], retries: int, folder: Folder, mrrope: str, progress: Progress) -> None:
    for job in jobs:
        if is_done(job, folder):
            progress.was_done(job)
            continue
        for left in reversed(range(retries + 1)):
            progress.tick()
            try:
                seconds = perform(job, str(folder.path), mrrope)
            except (Error, OSError) as error:
                left = left if is_worth_another(error) else 0
                progress.failed(job, str(error), left)
                if not left:
                    break
            else:
                progress.done(job, seconds)
                break
