# SPDX-License-Identifier: MIT
"""The command line of campaigns. `mrrope campaign` starts this."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys

from .. import __version__
from ..errors import Error, printable
from . import costs, report
from .board import board_of
from .file import read_campaign
from .folder import Folder
from .jobs import jobs_of
from .local import run_here
from .programs import program
from .progress import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .file import Campaign

_HELP = """models x plans x measurements from one file, on one machine or a Ray cluster

  mrrope campaign campaign.yaml --dry-run        what it would do, and cost
  mrrope campaign campaign.yaml                  does it; the same command goes on
  mrrope campaign status runs/table-2            from another shell
  mrrope campaign report runs/table-2            a page per model, at any time
"""


def main(words: list[str]) -> int:
    try:
        if words[:1] == ["status"]:
            return _status(words[1:])
        if words[:1] == ["report"]:
            return _report(words[1:])
        return _run(words)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # of the driver's own files: a full disk, a folder that is not ours
        print(f"error: {error.filename or 'campaign'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: what was measured is kept, the same command goes on", file=sys.stderr)
        return 130


def _parser(usage: str, text: str) -> argparse.ArgumentParser:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(f"mrrope campaign{usage}", description=text, formatter_class=form)
    parser.add_argument("--version", action="version", version=f"mrrope {__version__}")
    return parser


def _run(words: list[str]) -> int:
    parser = _parser("", _HELP)
    parser.add_argument("file", metavar="FILE", help="a .yaml or .toml (docs/campaigns.md); or: status, report")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="in the place of the file's own")
    parser.add_argument("--scale", choices=("full", "tiny"), default="full", help="tiny: with what its `tiny` replaces")
    parser.add_argument("--local", action="store_true", help="without Ray: one job after the other")
    parser.add_argument("--address", metavar="HOST:PORT",
                        help="of a Ray cluster (default: RAY_ADDRESS, else one that starts here)")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="jobs, tokens, GPU-hours and disk; nothing is run")
    parser.add_argument("--gpus", type=int, default=0, metavar="N", help="with --dry-run: how many there are")
    parser.add_argument("--flops", type=float, default=costs.FLOPS, metavar="F",
                        help="with --dry-run: operations a second of one GPU (4e14, docs/scale.md)")  # fmt: skip
    asked = parser.parse_args(words)
    campaign = read_campaign(asked.file, asked.scale == "tiny", not asked.dry_run)
    if asked.output:
        campaign = dataclasses.replace(campaign, output=os.path.abspath(asked.output))
    if asked.dry_run:
        print("\n".join(costs.estimate(campaign, asked.gpus, asked.flops)))
        return 0
    folder = Folder(campaign.output)
    with folder.held(campaign):
        return _drive(campaign, folder, asked.local, asked.address)


def _drive(campaign: Campaign, folder: Folder, local: bool, address: str | None) -> int:
    mrrope = program("mrrope", "MRROPE_BIN")
    progress = Progress(campaign, folder)
    try:
        if local:
            run_here(jobs_of(campaign), campaign.retries, folder, mrrope, progress)
        else:
            from .cluster import run_on_cluster

            run_on_cluster(jobs_of(campaign), campaign.retries, folder, mrrope, progress, address)
    finally:
        progress.end()
    print("\n".join(progress.board.lines()))
    total = progress.board.total()
    if total.failed:
        print(f"{total.failed} jobs failed; the same command tries them again", file=sys.stderr)
    for page in report.write_pages(campaign, folder, mrrope):
        print(f"report    {page}")
    return 1 if total.failed else 0


def _status(words: list[str]) -> int:
    parser = _parser(" status", "how far a campaign is")
    parser.add_argument("folder", metavar="FOLDER", help="its output")
    parser.add_argument("--json", action="store_true", help="as JSON")
    asked = parser.parse_args(words)
    folder = Folder(asked.folder)
    campaign = folder.campaign()
    board, failed = board_of(campaign, folder)
    if asked.json:
        shown = {
            "schema": "mrrope.campaign-status/1",
            "name": campaign.name,
            "driver": folder.is_held(),
            "cells": [{"model": m, "plan": p, **dataclasses.asdict(cell)} for (m, p), cell in board.cells.items()],
            "failures": [{"job": job, "error": error} for job, error in failed.items()],
        }
        print(json.dumps(shown, indent=2))
        return 0
    print("\n".join(board.lines()))
    for job, error in list(failed.items())[:10]:
        print(printable(f"failed    {job}: {error}"))
    total = board.total()
    state = "running" if folder.is_held() else "complete" if total.done == total.jobs else "no driver runs"
    print(f"{campaign.name}: {total.done} of {total.jobs} jobs, {state}")
    return 0


def _report(words: list[str]) -> int:
    parser = _parser(" report", "a page per model from what is there")
    parser.add_argument("folder", metavar="FOLDER", help="of a campaign")
    asked = parser.parse_args(words)
    folder = Folder(asked.folder)
    pages = report.write_pages(folder.campaign(), folder, program("mrrope", "MRROPE_BIN"))
    for page in pages:
        print(page)
    if not pages:
        raise Error("nothing was measured yet", "input/output", asked.folder)
    return 0
