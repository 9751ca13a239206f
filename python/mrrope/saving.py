# SPDX-License-Identifier: MIT
"""A patched model that is saved: its weights as transformers writes them, its config with the plan in it.

Weights that were trained under a plan are worth little under another table, and whoever loads the folder need not know
mrrope. So config.json says what the model ran with, as extend() writes it; config.original.json is what it was.
"""

from __future__ import annotations

import inspect
import os

from . import _core
from .errors import Error
from .files import extend, hf_overrides, undo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .sources import Path


def save(model: Any, plan: _core.Plan, folder: Path, *more: Any, **named: Any) -> None:
    """save_pretrained of the model's class, then the plan into config.json. Arguments are those of transformers."""
    method = type(model).save_pretrained
    given = inspect.signature(method).bind(model, folder, *more, **named).arguments
    if given.get("push_to_hub"):
        message = "the plan goes into config.json when the files are written; save first, then upload the folder"
        raise Error(message, "unsupported", "push_to_hub")
    hf_overrides(plan, model.config)  # a plan that no config can say is refused before anything is written
    writes = given.get("is_main_process", True)  # of several processes one writes the config
    if writes and os.path.exists(os.path.join(os.fsdecode(folder), "config.original.json")):
        undo(folder)  # of what was saved here before
    method(model, folder, *more, **named)
    if writes:
        extend(folder, plan=plan)
