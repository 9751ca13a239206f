# SPDX-License-Identifier: MIT
"""Campaigns on a real Ray: nodes are lost, workers, servers and drivers are killed, and every record is there once.

    $(tools/engine_env ray) -m pytest -rs tests/campaign        with the package on PYTHONPATH, see .ci/run
"""
import os
import time

import campaigns
import pytest
from campaigns import drive, driving, kill, records, servers_of, wait_for, workers, write

ray = pytest.importorskip("ray", reason="no Ray in this python; see tools/engine_env ray")
os.environ.update(campaigns.QUIET)


@pytest.fixture(name="cluster", scope="module")
def _cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield cluster
    cluster.shutdown()


@pytest.fixture(name="undisturbed", scope="module")
def _undisturbed(tmp_path_factory):
    """What a campaign gives that nobody disturbs, one job after the other."""
    folder = tmp_path_factory.mktemp("undisturbed")
    file = write(folder)
    drive(file, "--local")
    found = records(folder / "c")
    assert len(found) == 3 * (2 * 3 + 2 * 2)
    return found


def test_a_lost_node_and_a_killed_worker_cost_no_record(cluster, undisturbed, tmp_path):
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    file = write(tmp_path)
    with driving(file, "--address", cluster.address) as driver:
        first = wait_for(lambda: workers(tmp_path / "c"))
        kill(next(iter(first.values())))
        wait_for(lambda: set(workers(tmp_path / "c").values()) - set(first.values()))
        lost = nodes.pop()
        cluster.remove_node(lost)
        said = driver.communicate(timeout=300)[0]
        assert driver.returncode == 0, said
    assert records(tmp_path / "c") == undisturbed
    cluster.remove_node(nodes.pop())


def test_a_killed_server_is_started_again(cluster, tmp_path):
    node = cluster.add_node(num_cpus=1)
    model = {"name": "tiny", "path": str(campaigns.TINY), "engine": "llama-server", "program": campaigns.llama_server(),
             "options": {"threads": 1, "parallel": 1, "no-cache-prompt": True}}  # fmt: skip
    file = write(tmp_path, models=[model], plans=["yarn"])
    with driving(file, "--address", cluster.address) as driver:
        (server,) = wait_for(lambda: servers_of(tmp_path / "c"))
        time.sleep(0.5)
        kill(server)
        said = driver.communicate(timeout=300)[0]
        assert driver.returncode == 0, said
    assert "trying again" in said
    assert len(records(tmp_path / "c")) == 2 * 3 + 2 * 2
    assert not servers_of(tmp_path / "c")
    cluster.remove_node(node)


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
