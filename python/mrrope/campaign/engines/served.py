# SPDX-License-Identifier: MIT
"""What all servers share: started, asked whether they do what they were told, measured by mrrope eval --endpoint."""

from __future__ import annotations

import contextlib

from ..programs import Server, run, serving
from .options import as_words
from .running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..delivery import Delivered
    from ..folder import Folder
    from ..jobs import Job
    from .running import Ready

    Command = Callable[[Job, Delivered, Folder], list[str]]

_REACHED = 0.95  # of a length that is counted by estimate, as probe says itself


def by(command: Command) -> Ready:
    """Servers that `command` starts under the model's name, with the campaign's options behind."""

    @contextlib.contextmanager
    def ready(job: Job, delivered: Delivered | None, folder: Folder, mrrope: str) -> Iterator[Running]:
        assert delivered is not None
        words = [*command(job, delivered, folder), *as_words(job.model.options)]
        with serving(words, folder.path / "logs" / job.name / "server.txt", job.model.environment) as server:
            check(server, job, delivered, folder, mrrope)
            yield asking([server.url], job, mrrope, server)

    return ready


def check(server: Server, job: Job, delivered: Delivered, folder: Folder, mrrope: str) -> None:
    """That the length is read in full and, where that is wanted, that the table is the plan's (docs/probe.md)."""
    model = job.model
    if model.check == "none":
        return
    # Only what was asked for counts: a plan "none" beyond the trained length is a finding, and here it is meant
    words = [mrrope, "probe", server.url, "--model", model.name, "--fail-on", "never"]
    if _gguf(job):
        words += ["-m", _gguf(job), "--length", str(job.target)]
    else:  # without a vocabulary probe comes within some tokens of a length
        words += ["--length", str(int(_REACHED * job.target))]
    words += ["--expect", str(delivered.file)] if model.check == "table" else ["--only", "length"]
    run(words, folder.path / "logs" / job.name / "check.txt", server=server)


def asking(urls: list[str], job: Job, mrrope: str, server: Server | None = None) -> Running:
    words = ["--endpoint", ",".join(urls), "--model", job.model.name, "--label", job.plan.name]
    words += ["-m", _gguf(job)] if _gguf(job) else []
    words += as_words(job.model.evaluate)
    return Running(lambda kind: [mrrope, "eval", kind, *words], server)


def _gguf(job: Job) -> str:
    return job.model.vocabulary or (job.model.path if job.model.path.endswith(".gguf") else "")
