# SPDX-License-Identifier: MIT
"""The folder of a campaign. Everything that survives a killed driver is here, and every machine has to see it.

    campaign.json             what is measured, in full; a shell that asks for the status needs no other file
    lock                      held by the one driver that runs
    events.jsonl              what happened to jobs, by the driver: for people and for `status`
    running/JOB               jobs at work, by their workers; stale after a crash, and swept by the next driver
    plans/MODEL/PLAN.json     plan files; delivered/… what engines are given of them
    runs/MODEL/MEASUREMENT/PLAN/SHARD/   run folders of mrrope eval, with done.json when a step is complete
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import socket
import time

from ..errors import Error
from .file import MOST_SHARDS, SCHEMA, Campaign, Model, PlanChoice, Size, checked_name
from .measurements import Measurement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from .jobs import Job, Step

_HOLDER = b"process "  # how a lock begins that a driver wrote

class Folder:
    def __init__(self, path: str) -> None:
        self.path = pathlib.Path(path)

    # ---- by the driver

    @contextlib.contextmanager
    def held(self, campaign: Campaign) -> Iterator[None]:
        """For one driver at a time. A kill gives it free, whatever else it leaves behind."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._refuse_another_content(campaign)
        with open(self.path / "lock", "a+b", opener=no_link) as lock:
            if not _locked(lock):
                lock.seek(0)
                who = lock.read(200).decode(errors="replace").strip() or "another process"
                raise Error(f"another driver runs this campaign: {who}", "input/output", str(self.path))
            lock.seek(0)
            if lock.read(len(_HOLDER)) not in (_HOLDER, b""):
                raise Error("is not what mrrope campaign wrote", "invalid argument", str(self.path / "lock"))
            lock.truncate(0)
            lock.write(_HOLDER + f"{os.getpid()} on {socket.gethostname()}\n".encode())
            lock.flush()
            self._take_up(campaign)
            shutil.rmtree(self.path / "running", ignore_errors=True)
            yield

    def _refuse_another_content(self, campaign: Campaign) -> None:
        """Before anything is written: what is replaced and swept here has to be ours."""
        names = os.listdir(self.path)
        first_start = all(name == "lock" or name.startswith(".campaign.json.") for name in names)  # a driver killed in it
        if "campaign.json" not in names and not first_start:
            said = f'expected an empty folder or that of "{campaign.name}", found something else in it'
            raise Error(said, "invalid argument", str(self.path))

    def _take_up(self, campaign: Campaign) -> None:
        before = self.path / "campaign.json"
        if before.exists() and (old := self.campaign()).name != campaign.name:
            said = f'expected an empty folder or that of "{campaign.name}", found "{old.name}"'
            raise Error(said, "invalid argument", str(self.path))
        write_whole(before, {"schema": SCHEMA, **dataclasses.asdict(campaign)})

    def is_held(self) -> bool:
        """Whether a driver runs."""
        try:
            with open(self.path / "lock", "r+b", opener=no_link) as lock:
                return not _locked(lock)
        except OSError:
            return False

    def log(self, event: str, job: Job, **more: object) -> None:
        line = json.dumps({"time": round(time.time(), 3), "event": event, "job": job.name, **more})
        with open(self.path / "events.jsonl", "a", encoding="utf-8", opener=no_link) as file:
            file.write(line + "\n")

    # ---- by workers

    @contextlib.contextmanager
    def at_work(self, job: Job) -> Iterator[None]:
        mark = self.path / "running" / job.name.replace("/", "+")
        mark.parent.mkdir(exist_ok=True)
        with open(mark, "w", encoding="utf-8", opener=no_link) as file:
            file.write(f"{socket.gethostname()} {os.getpid()}\n")
        try:
            yield
        finally:
            mark.unlink(missing_ok=True)

    def is_done(self, step: Step) -> bool:
        """Complete, as it is asked for now: a campaign that asks for more samples goes on."""
        try:
            return bool(json.loads((self.path / step.folder / "done.json").read_text())["asked"] == _asked(step))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False

    def set_done(self, step: Step, seconds: float) -> None:
        write_whole(self.path / step.folder / "done.json", {"asked": _asked(step), "seconds": round(seconds, 3)})

    # ---- by those who look

    def campaign(self) -> Campaign:
        """As it was started last."""
        path = self.path / "campaign.json"
        try:
            return _from_json(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise Error(error.strerror or "cannot be read", "input/output", str(path)) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, Error):
            raise Error("is not what mrrope campaign wrote", "malformed", str(path)) from None

    def running(self) -> list[str]:
        """Names of jobs."""
        if not self.is_held():
            return []
        try:
            return sorted(name.replace("+", "/") for name in os.listdir(self.path / "running"))
        except OSError:
            return []

    def events(self) -> Iterator[dict[str, Any]]:
        """Lines that are complete."""
        path = self.path / "events.jsonl"
        with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                with contextlib.suppress(ValueError, RecursionError):
                    event = json.loads(line)
                    if isinstance(event, dict):
                        yield event


def write_whole(path: pathlib.Path, value: object) -> None:
    """As JSON."""
    write_text_whole(path, json.dumps(value, indent=1) + "\n")


def write_text_whole(path: pathlib.Path, text: str) -> None:
    """Complete or not there, also for those who read it meanwhile and after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")
    with open(aside, "w", encoding="utf-8", opener=no_link) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def _asked(step: Step) -> str:
    return hashlib.sha256("\0".join((step.measurement.kind, *step.words)).encode()).hexdigest()[:32]


def no_link(path: str, flags: int) -> int:
    """A folder may come from anybody: what a link in it leads to is not written."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _locked(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _from_json(value: dict[str, Any]) -> Campaign:
    def tuples(one: Any) -> Any:
        return tuple(map(tuples, one)) if isinstance(one, list) else one

    def measurement(one: dict[str, Any]) -> Measurement:
        values = {key: tuples(value) for key, value in one["values"].items()}
        return Measurement(one["name"], one["kind"], tuple(one["lengths"]), values, tuple(one.get("cache_types", ())))

    value.pop("schema")
    value["models"] = tuple(
        Model(**{**one, "size": Size(**one["size"]), "endpoints": {k: tuple(v) for k, v in one["endpoints"].items()}})
        for one in value["models"]
    )
    value["plans"] = tuple(PlanChoice(**{**one, "texts": tuple(one["texts"])}) for one in value["plans"])
    value["measurements"] = tuple(map(measurement, value["measurements"]))
    campaign = Campaign(**value)
    # A folder may come from anybody: names become those of files, and shards are counted through
    for name in (campaign.name, *(model.name for model in campaign.models)):
        checked_name(name, "name")
    if not 1 <= campaign.shards <= MOST_SHARDS:
        raise ValueError(campaign.shards)
    return campaign
