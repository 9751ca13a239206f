# SPDX-License-Identifier: MIT
"""Pages of a campaign: one per model, by `mrrope report`, from whatever is there."""

from __future__ import annotations

import pathlib

from .programs import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .file import Campaign
    from .folder import Folder


def write_pages(campaign: Campaign, folder: Folder, mrrope: str) -> list[pathlib.Path]:
    pages = []
    for model in campaign.models:
        runs = sorted(path.parent for path in (folder.path / "runs" / model.name).glob("*/*/*/records.jsonl"))
        runs = [path for path in runs if (path / "records.jsonl").stat().st_size > 0]
        if not runs:
            continue
        plans = sorted((folder.path / "plans" / model.name).glob("[!.]*.json"))
        page = folder.path / f"{model.name}.html"
        run([mrrope, "report", *map(str, runs), *map(str, plans), "-o", str(page)], folder.path / "logs" / "report.txt")
        pages.append(page)
    return pages
