# SPDX-License-Identifier: MIT
"""What a campaign will cost, before it runs: jobs, tokens, GPU-hours by the formula of docs/scale.md, disk."""

from __future__ import annotations

from .. import files as _files
from ..errors import Error
from .file import Model, Size
from .jobs import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .file import Campaign

FLOPS = 4e14  # a second: 40 % of what an H100 has in BF16
_RECORD_BYTES = 500
_LOG_BYTES = 20_000  # of a job


def estimate(campaign: Campaign, gpus: int, flops: float) -> list[str]:
    """As lines for people."""
    lines = []
    prompts = sum(many for one in campaign.measurements for _, many in one.tokens()) * len(campaign.plans)
    tokens = sum(length * many for one in campaign.measurements for length, many in one.tokens()) * len(campaign.plans)
    hours = 0.0
    for model in campaign.models:
        size = _size(model)
        spent = sum(gpu_hours(campaign, size, flops)) * len(campaign.plans) if size.parameters else 0.0
        hours += spent
        shown = f"{spent:,.1f} GPU-hours" if size.parameters else "GPU-hours are not known: give its `size`"
        searched = sum(plan.minutes for plan in campaign.plans) / 60
        more = f", and {searched:g} hours of search" if searched else ""
        lines.append(f"{model.name:<20}  {prompts:,} prompts, {tokens:,} tokens, {shown}{more}")
    jobs = count_of(campaign)
    lines.append(f"{len(campaign.models)} models x {len(campaign.plans)} plans x {campaign.shards} shards: {jobs:,} "
                 f"jobs of {len(campaign.measurements)} measurements, {prompts * len(campaign.models):,} prompts, "
                 f"{tokens * len(campaign.models):,} tokens")  # fmt: skip
    lines.append(f"{hours:,.1f} GPU-hours at {flops:.2g} operations a second{_on_all(campaign, gpus, hours)}")
    if missing := list(dict.fromkeys(path for one in campaign.measurements for path in one.missing())):
        lines.append(f"not there yet, each counted as one file: {', '.join(missing)}")
    disk = prompts * len(campaign.models) * _RECORD_BYTES + jobs * _LOG_BYTES
    lines.append(f"{disk / 1e6:,.1f} MB of records and logs in {campaign.output}")
    return lines


def _on_all(campaign: Campaign, gpus: int, hours: float) -> str:
    """A serving is on its own GPUs: what all of them have is as many as can work at a time."""
    served = sum(model.gpus for model in campaign.models) * len(campaign.plans) * campaign.shards
    used = min(gpus, served)
    if not used:
        return ""
    idle = f", of which {used:g} have work: give it more `shards`" if used < gpus else ""
    return f", {hours / used:,.1f} hours on {gpus} GPUs{idle}"


def gpu_hours(campaign: Campaign, size: Size, flops: float) -> list[float]:
    """Of one plan, by length of each measurement. A token at positions to n costs 2 N + 2 layers width n operations."""
    return [
        many * length * (2 * size.parameters + 2 * size.layers * size.width * length) / flops / 3600
        for one in campaign.measurements
        for length, many in one.tokens()
    ]


def _size(model: Model) -> Size:
    """As the file says, else as the model's own files do."""
    if model.size.parameters:
        return model.size
    try:
        found = _files.inspect(model.path)
    except (Error, OSError):
        return Size()
    return Size(found.parameters or 0, found.layers or 0, (found.heads or 0) * (found.head_dim or 0))
