# SPDX-License-Identifier: MIT
"""A campaign cut into jobs: what is placed on a machine, retried and counted.

A job is one serving: a model under a plan, and of every measurement the samples of one shard, one after the other. So a
server is started once, however many measurements there are. A plan that is searched for has a job of its own, before
those that need it.
"""

from __future__ import annotations

import dataclasses

from .file import Campaign, Model, PlanChoice, as_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measurements import Measurement


@dataclasses.dataclass(frozen=True)
class Step:
    """One measurement of a job, with a run folder of its own."""

    measurement: Measurement
    words: tuple[str, ...]  # of `mrrope eval KIND`, after the engine's
    folder: str  # below that of the campaign

    def tokens(self, shards: int) -> int:
        """Of prompts, about."""
        return sum(length * prompts for length, prompts in self.measurement.tokens()) // shards


@dataclasses.dataclass(frozen=True)
class Job:
    model: Model
    plan: PlanChoice
    shard: int
    shards: int
    target: int  # tokens
    steps: tuple[Step, ...]  # none: the search for the plan

    @property
    def name(self) -> str:
        """For people, and for files: "llama3-8b/yarn/0-of-4"."""
        last = f"{self.shard}-of-{self.shards}" if self.steps else "search"
        return f"{self.model.name}/{as_folder(self.plan.name)}/{last}"

    @property
    def tokens(self) -> int:
        return sum(step.tokens(self.shards) for step in self.steps)


def jobs_of(campaign: Campaign) -> Iterator[Job]:
    """Searches first, so that nobody waits long for them; then shard by shard, so that all plans compare early."""
    for plan in campaign.plans:
        if plan.minutes:
            for model in campaign.models:
                yield Job(model, plan, 0, 1, plan.target or campaign.target, ())
    known_first = sorted(campaign.plans, key=lambda plan: plan.minutes > 0)
    for shard in range(campaign.shards):
        for plan in known_first:
            for model in campaign.models:
                yield _job(campaign, model, plan, shard)


def count_of(campaign: Campaign) -> int:
    searches = sum(plan.minutes > 0 for plan in campaign.plans)
    return len(campaign.models) * (searches + len(campaign.plans) * campaign.shards)


def _job(campaign: Campaign, model: Model, plan: PlanChoice, shard: int) -> Job:
    steps = []
    for measurement in campaign.measurements:
        words = measurement.words(shard, campaign.shards)
        if words is not None:
            place = f"runs/{model.name}/{as_folder(measurement.name)}/{as_folder(plan.name)}"
            steps.append(Step(measurement, tuple(words), f"{place}/{shard}-of-{campaign.shards}"))
    return Job(model, plan, shard, campaign.shards, plan.target or campaign.target, tuple(steps))
