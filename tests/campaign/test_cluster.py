# SPDX-License-Identifier: MIT
"""Campaigns on a real Ray: nodes are lost, workers, servers and drivers are killed, and every record is there once.

    $(tools/engine_env ray) -m pytest -rs tests/campaign        with the package on PYTHONPATH, see .ci/run
"""
import os

import campaigns
import pytest
from campaigns import LONG, cluster_of, disturb, drive, driving, records, servers_of, wait_for, workers, write

pytest.importorskip("ray", reason="no Ray in this python; see tools/engine_env ray")
os.environ.update(campaigns.QUIET)

@pytest.fixture(name="undisturbed", scope="module")
def _undisturbed(tmp_path_factory):
    """What a campaign gives that nobody disturbs, one job after the other."""
    folder = tmp_path_factory.mktemp("undisturbed")
    file = write(folder)
    drive(file, "--local")
    found = records(folder / "c")
    assert len(found) == 3 * (2 * 3 + 2 * 2)
    return found


def test_two_workers_a_server_and_a_node_are_lost_and_no_record_is(tmp_path):
    """Greedy answers of one slot without a cache are the same every time, so whole records are compared."""
    models = [campaigns.llama_server_model()]
    drive(write(tmp_path, "undisturbed", models=models, measurements=LONG), "--local")
    expected = records(tmp_path / "undisturbed")
    assert len(expected) == 3 * (2 * 10 + 2 * 10)
    file = write(tmp_path, models=models, measurements=LONG)
    with cluster_of(3) as cluster, driving(file, "--address", cluster.address) as driver:
        disturb(cluster, driver, tmp_path / "c")
        said = driver.communicate(timeout=300)[0]
        assert driver.returncode == 0, said
    assert "the server ended" in said and "trying again" in said
    assert records(tmp_path / "c") == expected
    assert not servers_of(tmp_path / "c")


def test_workers_import_nothing_from_the_folder_of_the_driver(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("mrrope", "importlib", "json", "platform", "psutil", "shlex", "yaml"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    with cluster_of(1) as cluster:
        drive(write(tmp_path), "--address", cluster.address, folder=here)
    assert not (tmp_path / "ran").exists()
    assert len(records(tmp_path / "c")) == 3 * (2 * 3 + 2 * 2)


def test_a_driver_that_is_killed_goes_on_where_it_was(undisturbed, tmp_path):
    file = write(tmp_path)
    for _ in range(2):
        before = len(records(tmp_path / "c"))
        with driving(file, "--local"):
            wait_for(lambda many=before: len(records(tmp_path / "c")) > many)
    drive(file, "--local")
    assert records(tmp_path / "c") == undisturbed


def test_a_second_driver_is_refused(tmp_path):
    file = write(tmp_path)
    with driving(file, "--local"):
        wait_for(lambda: workers(tmp_path / "c"))
        assert "another driver runs this campaign: process" in drive(file, "--local", status=1)
    drive("status", tmp_path / "c")
