# SPDX-License-Identifier: MIT
"""What people hand us as a model: a path, a config, a model that was read. Nothing here is public."""

from __future__ import annotations

import os
from collections.abc import Mapping

from . import _core
from .errors import Error

TYPE_CHECKING = False  # typing, like json below, would take longer to import than all of ours
if TYPE_CHECKING:
    from typing import Any, Protocol, Union

    class Config(Protocol):
        """A config of transformers."""

        def to_dict(self) -> dict[str, Any]: ...

    Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
    Source = Union[_core.Model, Path, Mapping[str, Any], Config]


def path_bytes(path: Path) -> bytes:
    """A path as the system sees it. C++ would end a name at its first zero byte, and open another file."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise Error("a path has no zero bytes", "invalid argument", "path")
    return encoded


def shown(path: Path) -> str:
    """A path for people and for plan files, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "replace")


def is_path(source: object) -> bool:
    return isinstance(source, (str, bytes, os.PathLike))


def read(source: Source, trained: int | str | None = None) -> _core.Model:
    """The model of a path, a dict or a config of transformers; a model that was read is itself.

    trained  corrects what the file of a path says of its trained length
    """
    if trained is not None and not is_path(source):
        raise Error("corrects what a file says; give a path", "invalid argument", "trained")
    if isinstance(source, _core.Model):
        return source
    if is_path(source):
        return _core.read_model(path_bytes(source), trained)  # type: ignore[arg-type]
    if not isinstance(source, Mapping):
        to_dict = getattr(source, "to_dict", None)
        if to_dict is None:
            raise TypeError(f"expected a path, a config or a dict, found {type(source).__name__}")
        source = to_dict()
    import json

    try:
        text = json.dumps(source)
    except (TypeError, ValueError, RecursionError) as error:
        raise Error(f"the config is no JSON: {error}", "malformed") from error
    return _core.read_config(text)


def method_of(method: _core.Method | str | None) -> _core.Method | None:
    return _core.Method(method) if isinstance(method, str) else method
