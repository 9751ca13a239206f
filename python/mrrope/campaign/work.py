# SPDX-License-Identifier: MIT
"""What a worker does with a job, on whatever machine: delivers the plan, starts the engine, measures, stops."""

from __future__ import annotations

import pathlib
import time

from ..errors import Error
from . import delivery, engines
from .folder import Folder
from .programs import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .jobs import Job


def is_done(job: Job, folder: Folder) -> bool:
    if not job.steps and job.plan.minutes:
        return delivery.is_searched(job, folder)
    return all(folder.is_done(step) for step in job.steps)


def is_worth_another(error: Exception) -> bool:
    """Whether the same job may do better when it is tried again: not if it was asked for something that cannot be."""
    return not isinstance(error, Error) or error.code in ("input/output", "cancelled")


def perform(job: Job, path: str, mrrope: str) -> float:
    """Does what is missing of a job, and returns the seconds it took. What is complete costs nothing, not even a server."""
    folder = Folder(path)
    began = time.monotonic()
    if is_done(job, folder):
        return 0
    with folder.at_work(job):
        if not job.steps:
            delivery.search(job, folder, mrrope)
            return time.monotonic() - began
        delivered = None if job.model.engine == "endpoints" else delivery.deliver(job, folder)
        missing = [step for step in job.steps if not folder.is_done(step)]
        with engines.ready(job, delivered, folder, mrrope) as running:
            for step in missing:
                since = time.monotonic()
                output = pathlib.Path(path) / step.folder
                output.parent.mkdir(parents=True, exist_ok=True)
                log = folder.path / "logs" / job.name / f"{step.measurement.name}.txt"
                run([*running.words(step.measurement.kind), *step.words, "-o", str(output)], log, job.model.environment, running.server)
                folder.set_done(step, time.monotonic() - since)
    return time.monotonic() - began
