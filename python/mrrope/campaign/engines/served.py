# SPDX-License-Identifier: MIT
"""What all servers share: started, asked whether they do what they were told, measured by mrrope eval --endpoint."""

from __future__ import annotations

import contextlib

from ..programs import run, serving
from .options import as_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import Words
    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job


@contextlib.contextmanager
def started(
    command: list[str], job: Job, delivered: Delivered, folder: Folder, mrrope: str, health: str = "/health"
) -> Iterator[Words]:
    """`command` has `{port}` where the port goes, and serves the model under its name."""
    logs = folder.path / "logs" / job.name
    with serving(command, logs / "server.txt", job.model.environment, health) as url:
        check(url, job, delivered, folder, mrrope)
        yield asking([url], job, mrrope)


def check(url: str, job: Job, delivered: Delivered, folder: Folder, mrrope: str) -> None:
    """That the length is read in full and, where that is wanted, that the table is the plan's (docs/probe.md)."""
    model = job.model
    if model.check == "none":
        return
    # Only what was asked for counts: a plan "none" beyond the trained length is a finding, and here it is meant
    words = [mrrope, "probe", url, "--model", model.name, "--length", str(job.target), "--fail-on", "never"]
    if model.check == "table":
        words += ["-m", _gguf(job), "--expect", str(delivered.file)]
    else:
        words += ["--only", "length"]
    run(words, folder.path / "logs" / job.name / "check.txt")


def asking(urls: list[str], job: Job, mrrope: str) -> Words:
    words = ["--endpoint", ",".join(urls), "--model", job.model.name, "--label", job.plan.name]
    words += ["-m", _gguf(job)] if _gguf(job) else []
    words += as_words(job.model.evaluate)
    return lambda kind: [mrrope, "eval", kind, *words]


def _gguf(job: Job) -> str:
    return job.model.vocabulary or (job.model.path if job.model.path.endswith(".gguf") else "")
