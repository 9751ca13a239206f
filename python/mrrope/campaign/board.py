# SPDX-License-Identifier: MIT
"""How far a campaign is, as a table of models x plans."""

from __future__ import annotations

import dataclasses

from .file import as_folder
from .jobs import jobs_of
from .work import is_done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .file import Campaign
    from .folder import Folder
    from .jobs import Job


@dataclasses.dataclass
class Cell:
    """Jobs of a model under a plan."""

    jobs: int = 0
    done: int = 0
    running: int = 0
    failed: int = 0
    tokens: int = 0
    tokens_done: int = 0

    def shown(self) -> str:
        words = [f"{self.done}/{self.jobs}"]
        words += [f"{self.running} running"] if self.running else []
        words += [f"{self.failed} failed"] if self.failed else []
        return ", ".join(words)


class Board:
    """Memory is that of the table, whatever the number of jobs."""

    def __init__(self, campaign: Campaign) -> None:
        self.cells = {(model.name, plan.name): Cell() for model in campaign.models for plan in campaign.plans}
        for job in jobs_of(campaign):
            self.cell(job).jobs += 1
            self.cell(job).tokens += job.tokens

    def cell(self, job: Job) -> Cell:
        return self.cells[job.model.name, job.plan.name]

    def add_done(self, job: Job) -> None:
        self.cell(job).done += 1
        self.cell(job).tokens_done += job.tokens

    def set_running(self, names: list[str]) -> None:
        """Names of jobs that are at work now."""
        at_work: dict[str, int] = {}
        for name in names:
            serving = name.rpartition("/")[0]
            at_work[serving] = at_work.get(serving, 0) + 1
        for (model, plan), cell in self.cells.items():
            cell.running = at_work.get(f"{model}/{as_folder(plan)}", 0)

    def total(self) -> Cell:
        values = [dataclasses.astuple(cell) for cell in self.cells.values()]
        return Cell(*map(sum, zip(*values)))

    def lines(self) -> list[str]:
        """Models down, plans across."""
        models = list(dict.fromkeys(model for model, _ in self.cells))
        plans = list(dict.fromkeys(plan for _, plan in self.cells))
        rows = [["", *plans], *([model, *(self.cells[model, plan].shown() for plan in plans)] for model in models)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(plans) + 1)]
        return ["  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in rows]


def board_of(campaign: Campaign, folder: Folder) -> tuple[Board, dict[str, str]]:
    """From the folder alone, for another shell than the driver's; and why jobs failed, by name."""
    board = Board(campaign)
    running = folder.running()
    board.set_running(running)
    failed: dict[str, str] = {}
    for event in folder.events():
        name = str(event.get("job"))
        failed.pop(name, None)
        if event.get("event") == "failed":
            failed[name] = str(event.get("error"))
    for job in jobs_of(campaign):
        if is_done(job, folder):
            board.add_done(job)
            failed.pop(job.name, None)
        elif job.name in running:
            failed.pop(job.name, None)
        elif job.name in failed:
            board.cell(job).failed += 1
    return board, failed
