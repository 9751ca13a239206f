# SPDX-License-Identifier: MIT
"""Jobs on a Ray cluster. Ray places them where their GPUs and cores are free and runs them again when a worker or a
node dies; what failed by itself (a server that ended, a disk that was full) is tried again from here.

The driver keeps no more than some hundred jobs in Ray's hands, so that its memory does not grow with their number. All
that matters is in the campaign's folder, which every machine has to see under the same path.
"""

from __future__ import annotations

import collections
import os
import pathlib

from ..errors import Error
from .programs import program
from .work import is_done, is_worth_another, perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from .folder import Folder
    from .jobs import Job
    from .progress import Progress

_IN_FLIGHT = 256  # jobs that Ray knows of
_RUN_AGAIN = 3  # by Ray, after a worker or a node died
_STARTS = 3  # of a Ray of our own


def run_on_cluster(
    jobs: Iterable[Job], retries: int, folder: Folder, mrrope: str, progress: Progress, address: str | None,
    work: Callable[[Job, str, str], float] = perform,
) -> None:  # fmt: skip
    """`address`: of a cluster; None: RAY_ADDRESS, or one that runs here, or one that starts now and ends with this."""
    try:
        import ray
    except ImportError:
        said = "campaigns on a cluster need Ray: pip install 'mrrope[campaign]'; or --local"
        raise Error(said, "unsupported") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _connect(ray, address, progress)
    try:
        _Driver(ray, retries, folder, mrrope, progress, work).run(iter(jobs))
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None, progress: Progress) -> None:
    """Ray gives what it starts 30 s, however busy the machine is: a second start finds its files in memory. Workers
    import from the folder in which it is started: from one that nobody can have prepared."""
    here = os.getcwd()
    for left in reversed(range(_STARTS)):
        os.chdir("/")
        try:
            ray.init(address, include_dashboard=False, log_to_driver=False, logging_level="warning")
            return
        except Exception as error:  # of whatever kind: a node that is late is a plain Exception
            ray.shutdown()
            said = f"Ray does not start or answer: {error}"
            if not left or address not in (None, "local"):
                raise Error(f"{said}; --local does without", "input/output", address or "") from None
            progress.note(f"{said}; trying again")
        finally:
            os.chdir(here)


class _Driver:
    def __init__(
        self, ray: Any, retries: int, folder: Folder, mrrope: str, progress: Progress,
        work: Callable[[Job, str, str], float],
    ) -> None:  # fmt: skip
        self._ray = ray
        self._retries = retries
        self._folder = folder
        self._mrrope = mrrope
        self._progress = progress
        self._there = ray.remote(_there)
        self._work = work
        self._in_flight: dict[Any, tuple[Job, int]] = {}  # by what Ray calls a result; with the attempts that are left
        self._searches: dict[tuple[str, str], bool] = {}  # by model and plan: those not done yet; true: failed
        self._after_search: collections.deque[Job] = collections.deque()
        self._looked_for: set[str] = set()  # models that have a place, or were warned of

    def run(self, jobs: Iterator[Job]) -> None:
        more = True
        while more or self._in_flight or self._after_search:
            while more and len(self._in_flight) < _IN_FLIGHT:
                job = next(jobs, None)
                more = job is not None
                if job is not None:
                    self._take(job)
            self._take_searched()
            self._collect()
            self._progress.tick()

    def _take(self, job: Job) -> None:
        key = (job.model.name, job.plan.name)
        if is_done(job, self._folder):
            self._progress.was_done(job)
            return
        if not job.steps:
            self._searches[key] = False
        elif key in self._searches:
            self._after_search.append(job)
            return
        self._submit(job, self._retries)

    def _take_searched(self) -> None:
        """Jobs whose search has ended meanwhile."""
        for _ in range(len(self._after_search) if len(self._in_flight) < _IN_FLIGHT else 0):
            job = self._after_search.popleft()
            failed = self._searches.get((job.model.name, job.plan.name))
            if failed is None:
                self._submit(job, self._retries)
            elif failed:
                self._progress.failed(job, "the search for its plan failed", 0)
            else:
                self._after_search.append(job)

    def _submit(self, job: Job, left: int) -> None:
        self._warn_of_no_place(job)
        model = job.model
        there = self._there.options(num_cpus=model.cpus, num_gpus=model.gpus, max_retries=_RUN_AGAIN, name=job.name)
        self._in_flight[there.remote(self._work, job, str(self._folder.path), self._mrrope)] = (job, left)

    def _collect(self) -> None:
        """Waits a second at most."""
        known = list(self._in_flight)
        if not known or not self._ray.wait(known, num_returns=1, timeout=1)[0]:
            return
        for one in self._ray.wait(known, num_returns=len(known), timeout=0)[0]:
            job, left = self._in_flight.pop(one)
            key = (job.model.name, job.plan.name)
            try:
                seconds = self._ray.get(one)
            except self._ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None) or error
                left = left if is_worth_another(cause) else 0
                self._progress.failed(job, str(cause).strip() or type(cause).__name__, left)
                if left:
                    self._submit(job, left - 1)
                elif not job.steps:
                    self._searches[key] = True
            else:
                self._progress.done(job, seconds)
                if not job.steps:
                    del self._searches[key]

    def _warn_of_no_place(self, job: Job) -> None:
        """Ray waits in silence for a machine that has so much; one may come, so this is no error. Once per model."""
        if job.model.name in self._looked_for:
            return
        self._looked_for.add(job.model.name)
        wanted = {"CPU": job.model.cpus, "GPU": job.model.gpus}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node.get(kind, 0) >= many for kind, many in wanted.items()) for node in nodes):
            what = f"{wanted['GPU']:g} GPUs and {wanted['CPU']:g} cores"
            self._progress.note(f"{job.model.name}: waiting for a machine with {what}; none of the cluster has them")


def _there(work: Callable[[Job, str, str], float], job: Job, path: str, mrrope: str) -> float:
    """On the worker."""
    if not (pathlib.Path(path) / "campaign.json").exists():
        raise Error("this machine does not see the folder of the campaign: put it where all do", "input/output",
                    f"{os.uname().nodename}: {path}")  # fmt: skip
    return work(job, path, mrrope if os.path.exists(mrrope) else program("mrrope"))
