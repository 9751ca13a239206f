# SPDX-License-Identifier: MIT
"""Each campaign of the paper, run from its own file at the scale of the small model. tests/paper compares its values."""
import os

import campaigns
import pytest
import yaml
from campaigns import ROOT, drive, records

os.environ.update(campaigns.QUIET)
PAPER = sorted((ROOT / "campaigns/paper").glob("*.yaml"))


@pytest.mark.parametrize("file", PAPER, ids=[file.stem for file in PAPER])
def test_a_campaign_of_the_paper_runs_at_tiny_scale(file, tmp_path):
    asked = yaml.safe_load(file.read_text(encoding="utf-8"))
    said = drive(file, "--scale", "tiny", "--local", "-o", tmp_path / "c")
    plans = {plan if isinstance(plan, str) else plan["name"] for plan in asked["tiny"].get("plans", asked["plans"])}
    measured = {(measurement, plan) for measurement, plan, _ in records(tmp_path / "c")}
    assert len(measured) == len(plans) * len(asked["measurements"]), said
    page = (tmp_path / "c/tiny.html").read_text(encoding="utf-8")
    assert ("Published and measured" in page) == ("published" in asked)
