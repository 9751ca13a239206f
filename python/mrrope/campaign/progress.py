# SPDX-License-Identifier: MIT
"""What a driver says while it works: one table that moves on a terminal, a line per job elsewhere."""

from __future__ import annotations

import shutil
import sys
import time

from .board import Board

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .file import Campaign
    from .folder import Folder
    from .jobs import Job

_REDRAW_SECONDS = 0.5


class Progress:
    """Told by the runner; keeps the events of the folder, too."""

    def __init__(self, campaign: Campaign, folder: Folder) -> None:
        self.board = Board(campaign)
        self._folder = folder
        self._began = time.monotonic()
        self._tokens = 0  # of jobs that were done since
        self._live = sys.stderr.isatty()
        self._drawn = 0  # lines
        self._next = 0.0

    def was_done(self, job: Job) -> None:
        """By an earlier driver."""
        self.board.add_done(job)

    def done(self, job: Job, seconds: float) -> None:
        self.board.add_done(job)
        self._tokens += job.tokens
        self._folder.log("done", job, seconds=round(seconds, 3), tokens=job.tokens)
        if self._live:
            self._draw()
        else:
            print(f"{job.name}: done in {duration(seconds)} ({self.summary()})", file=sys.stderr, flush=True)

    def failed(self, job: Job, error: str, left: int) -> None:
        """`left`: how often it will be tried again."""
        self.board.cell(job).failed += left == 0
        self._folder.log("again" if left else "failed", job, error=error)
        self.note(f"{job.name}: {error}" + ("; trying again" if left else ""))

    def note(self, text: str) -> None:
        """A message that stays."""
        self._wipe()
        print(text, file=sys.stderr, flush=True)
        self._draw(now=True)

    def tick(self) -> None:
        """While nothing happens."""
        self._draw()

    def end(self) -> None:
        """Nobody is at work any more."""
        self._wipe()
        self._live = False
        self.board.set_running([])

    def summary(self) -> str:
        total = self.board.total()
        words = [f"{total.done} of {total.jobs} jobs"]
        words += [f"{total.failed} failed"] if total.failed else []
        passed = time.monotonic() - self._began
        if self._tokens and passed > 0:
            pace = self._tokens / passed
            words.append(f"{pace:,.0f} tokens/s")
            if total.tokens > total.tokens_done and total.done + total.failed < total.jobs:
                words.append(f"{duration((total.tokens - total.tokens_done) / pace)} left")
        return ", ".join(words)

    def _draw(self, now: bool = False) -> None:
        if not self._live or (not now and time.monotonic() < self._next):
            return
        self._wipe()
        self.board.set_running(self._folder.running())
        width, height = shutil.get_terminal_size()
        lines = [line[: width - 1] for line in (*self.board.lines()[: height - 3], self.summary())]
        print("\n".join(lines), file=sys.stderr, flush=True)
        self._drawn = len(lines)
        self._next = time.monotonic() + _REDRAW_SECONDS

    def _wipe(self) -> None:
        if self._drawn:
            print(f"\x1b[{self._drawn}F\x1b[J", end="", file=sys.stderr)
            self._drawn = 0


def duration(seconds: float) -> str:
    for most, unit, size in ((120, "s", 1), (7200, "min", 60), (48 * 3600, "h", 3600)):
        if seconds < most:
            return f"{seconds / size:.{1 if seconds / size < 10 else 0}f} {unit}"
    return f"{seconds / 86400:.1f} days"
