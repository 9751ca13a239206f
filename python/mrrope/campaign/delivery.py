# SPDX-License-Identifier: MIT
"""From a plan that a campaign names to a plan file, once per model: by a method, from a file, or by a search."""

from __future__ import annotations

import dataclasses
import pathlib

from .. import _core
from .. import files as _files
from .. import planning as _planning
from ..errors import Error
from .file import Model, as_folder
from .folder import Folder, write_text_whole
from .programs import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .jobs import Job


@dataclasses.dataclass(frozen=True)
class Delivered:
    """A plan that is ready for engines."""

    plan: _core.Plan
    file: pathlib.Path
    config: str  # the model's files here, as mrrope reads them


def search(job: Job, folder: Folder, mrrope: str) -> None:
    """mrrope tune; a search that was interrupted goes on."""
    words = [mrrope, "tune", _gguf(job.model), "-c", str(job.target), "--minutes", f"{job.plan.minutes:g}"]
    words += [word for text in job.plan.texts for word in ("-f", text)]
    words += ["--trained", str(job.model.trained)] if job.model.trained else []
    words += ["-o", str(_searched(job, folder))]
    _searched(job, folder).parent.mkdir(parents=True, exist_ok=True)
    run(words, folder.path / "logs" / job.name / "tune.txt", job.model.environment)


def is_searched(job: Job, folder: Folder) -> bool:
    return (_searched(job, folder) / "plan.json").is_file()


def deliver(job: Job, folder: Folder) -> Delivered:
    """Shards of a plan do this beside each other: they write the same bytes."""
    config = files_of(job.model)
    if job.plan.method:
        spec = _files.inspect(config, trained=job.model.trained or None).spec
        plan = _planning.plan(spec, job.target, job.plan.method)
    else:
        if job.plan.minutes and not is_searched(job, folder):
            raise Error("the search for its plan has not found one", "invalid argument", job.plan.name)
        source = pathlib.Path(job.plan.file) if job.plan.file else _searched(job, folder) / "plan.json"
        plan = _core.Plan.from_json(source.read_text(encoding="utf-8"))
    if plan.context < job.target:
        said = f"expected a plan for {job.target} tokens, found one for {plan.context}"
        raise Error(said, "invalid argument", job.plan.name)
    file = folder.path / "plans" / job.model.name / f"{as_folder(job.plan.name)}.json"
    write_text_whole(file, plan.to_json())
    return Delivered(plan, file, config)


def files_of(model: Model) -> str:
    """A .gguf or a folder with config.json; of a name on the Hub that is fetched."""
    if pathlib.Path(model.path).exists():
        return model.path
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise Error("a name on the Hub needs huggingface_hub; or give a folder", "unsupported", model.path) from None
    return str(pathlib.Path(hf_hub_download(model.path, "config.json")).parent)


def _searched(job: Job, folder: Folder) -> pathlib.Path:
    return folder.path / "tuned" / job.model.name / as_folder(job.plan.name)


def _gguf(model: Model) -> str:
    return model.path if model.path.endswith(".gguf") else model.vocabulary
