# SPDX-License-Identifier: MIT
"""Specs and plans of whatever a model is given as."""

from __future__ import annotations

from . import _core
from .sources import is_path, method_of, read, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .sources import Source


def spec(model: _core.Spec | Source) -> _core.Spec:
    """What a model says about its rotary embedding.

    model  a .gguf, a Hugging Face folder or its config.json (a path); a config as a dict or an object of transformers;
           words such as "dim=128,base=10000,ctx=4096" (text that starts with "dim="); or a Spec, which is returned
    """
    if isinstance(model, _core.Spec):
        return model
    if isinstance(model, str) and model.startswith("dim="):
        return _core.parse_spec(model)
    return read(model).spec


def plan(
    model: _core.Spec | Source,
    context: int | str,
    method: _core.Method | str | None = None,
    *,
    length: int | str | None = None,
) -> _core.Plan:
    """The plan that takes a model to a longer context.

    model    as in spec()
    context  the length wanted: 32768, "32k", "1M"
    method   "yarn", "mrrope-power:p=2", ... (methods() lists them); None: the recommended one
    length   for methods with a table per length of text (dynamic-*, longrope): that length; None: `context`

    >>> mrrope.plan(mrrope.Spec(dim=128, base=10000, context=4096), "64k")
    <plan mrrope-pro, 4096 -> 65536 tokens, factor 16, attention scale 1.27726>
    """
    source = shown(model) if is_path(model) else ""  # type: ignore[arg-type]
    return _core.make_plan(spec(model), context, method_of(method), length, source)


def ladder(
    model: _core.Spec | Source,
    context: int | str | Sequence[int | str],
    method: _core.Method | str | None = None,
    *,
    reserve: int | None = None,
) -> _core.Ladder:
    """Several plans of one model: each text goes to the lowest rung that holds it, and short ones pay nothing.

    model    as in spec()
    context  the length of the last rung, 32768 or "32k": those below it are chosen; or all lengths, ["8k", "16k"]
    method   of rungs beyond the trained length, as in plan(); rungs within it keep the model's own table
    reserve  tokens kept for an answer that names no length; None: an eighth of the first rung, 1024 at most

    >>> mrrope.ladder(mrrope.Spec(dim=128, base=10000, context=4096), ["4k", "16k"])
    <ladder 4k none, 16k mrrope-pro>
    """
    source = shown(model) if is_path(model) else ""  # type: ignore[arg-type]
    lengths: int | str | list[int | str] = context if isinstance(context, (int, str)) else list(context)
    return _core.make_ladder(spec(model), lengths, method_of(method), reserve, source)
