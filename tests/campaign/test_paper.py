# SPDX-License-Identifier: MIT
"""Each campaign of the paper, run from its own file with the small model. tests/paper looks at published values."""
import os
import re

import campaigns
import pytest
from campaigns import ROOT, drive, records
from mrrope.campaign import costs
from mrrope.campaign.file import read_campaign
from mrrope.campaign.reading import document

os.environ.update(campaigns.QUIET)
PAPER = sorted((ROOT / "campaigns/paper").glob("*.yaml"))


@pytest.mark.parametrize("file", PAPER, ids=[file.stem for file in PAPER])
def test_a_campaign_of_the_paper_runs_at_tiny_scale(file, tmp_path):
    asked = document(file)
    said = drive(file, "--scale", "tiny", "--local", "-o", tmp_path / "c")
    plans = {plan if isinstance(plan, str) else plan["name"] for plan in asked["tiny"].get("plans", asked["plans"])}
    measured = {(measurement, plan) for measurement, plan, _ in records(tmp_path / "c")}
    assert len(measured) == len(plans) * len(asked["measurements"]), said
    page = (tmp_path / "c/tiny.html").read_text(encoding="utf-8")
    assert ("Published and measured" in page) == ("published" in asked)


@pytest.mark.parametrize("file", PAPER, ids=[file.stem for file in PAPER])
def test_a_campaign_of_the_paper_costs_what_the_document_says(file):
    """Without its data."""
    campaign = read_campaign(str(file), data=False)
    hours = [sum(costs.gpu_hours(campaign, model.size, costs.FLOPS)) * len(campaign.plans) for model in campaign.models]
    (row,) = [line for line in (ROOT / "docs/reproduce.md").read_text().splitlines() if line[0:1] == "|" and file.name in line]
    said = re.findall(r"[\d.]+", row.split("|")[-2])
    for one in hours:
        assert any(f"{one:.{len(text.partition('.')[2])}f}" == text for text in said), (one, row)
