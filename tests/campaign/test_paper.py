# SPDX-License-Identifier: MIT
"""Each campaign of the paper, run from its own file with the small model. tests/paper looks at published values."""
import json
import os

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
def test_a_campaign_of_the_paper_is_read_and_costed_in_full(file, tmp_path):
    """But for its data, which is not here: in its place stands that of the tiny run."""
    asked = document(file)
    tiny = asked.pop("tiny")["measurements"]
    for measurement in asked["measurements"]:
        for key in ("texts", "items", "haystack", "questions"):
            if key in measurement:
                files = tiny[key] if isinstance(tiny[key], list) else [tiny[key]]
                paths = [str(file.parent / one) for one in files]
                measurement[key] = paths if key == "texts" else paths[0]
    asked.pop("published", None)
    (tmp_path / "c.yaml").write_text(json.dumps(asked))
    campaign = read_campaign(str(tmp_path / "c.yaml"))
    assert all(model.size.parameters > 1e9 for model in campaign.models)
    assert "not known" not in "".join(costs.estimate(campaign, 8, costs.FLOPS))
