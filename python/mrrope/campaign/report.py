# SPDX-License-Identifier: MIT
"""Pages of a campaign: one per model, by `mrrope report`, from whatever is there."""

from __future__ import annotations

import json
import pathlib

from ..errors import Error
from .folder import write_whole
from .programs import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .file import Campaign, Model
    from .folder import Folder

_MOST_BYTES = 16 << 20  # of published values; mrrope report takes 10,000


def write_pages(campaign: Campaign, folder: Folder, mrrope: str) -> list[pathlib.Path]:
    pages = []
    for model in campaign.models:
        runs = sorted(path.parent for path in (folder.path / "runs" / model.name).glob("*/*/*/records.jsonl"))
        runs = [path for path in runs if (path / "records.jsonl").stat().st_size > 0]
        if not runs:
            continue
        plans = sorted((folder.path / "plans" / model.name).glob("[!.]*.json"))
        page = folder.path / f"{model.name}.html"
        others = _published(campaign, model, folder)
        words = [mrrope, "report", *map(str, [*runs, *plans, *others]), "-o", str(page)]
        run(words, folder.path / "logs" / "report.txt")
        pages.append(page)
    return pages


def _published(campaign: Campaign, model: Model, folder: Folder) -> list[pathlib.Path]:
    """What others published of this model. The whole file where it has nothing of it: `--scale tiny` runs another one."""
    if not campaign.published:
        return []
    path = pathlib.Path(campaign.published)
    try:
        with path.open(encoding="utf-8") as file:
            document = json.loads(file.read(_MOST_BYTES))
        mine = [value for value in document["values"] if value["model"] == model.name]
    except OSError as error:
        raise Error(error.strerror or "cannot be read", "input/output", str(path)) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        return [path]  # mrrope report says what is wrong with it
    if not mine:
        return [path]
    selected = folder.path / "published" / f"{model.name}.json"
    write_whole(selected, {**document, "values": mine})
    return [selected]
