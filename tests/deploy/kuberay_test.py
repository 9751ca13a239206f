# SPDX-License-Identifier: MIT
"""deploy/kuberay-campaign.yaml as KubeRay would read it: no cluster is started.

    $(tools/engine_env schemas) tests/deploy/kuberay_test.py CHECKOUT

The RayJob is held against its CRD (rayjob.schema.json says which), strictly; its pods against Kubernetes 1.37, strictly.
"""
import json
import pathlib
import re
import sys
import unittest

import jsonschema
import kubernetes_validate
import yaml

CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()
SETTINGS = {"NAME": "table-2", "IMAGE": "mrrope:0.1.0", "CLAIM": "runs", "FILE": "/runs/my table.yaml", "WORKERS": "8",
            "GPUS": "2", "CPUS": "8", "MEMORY": "64Gi"}  # fmt: skip
SCHEMA = json.loads((CHECKOUT / "tests/deploy/rayjob.schema.json").read_text())


def job():
    text = (CHECKOUT / "deploy/kuberay-campaign.yaml").read_text()
    return yaml.safe_load(re.sub(r"\$\{(\w+)\}", lambda m: SETTINGS[m[1]], text))


def problems(document):
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)]


def pods(document):
    cluster = document["spec"]["rayClusterSpec"]
    return [group["template"]["spec"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]


class KubeRayJob(unittest.TestCase):
    def test_it_is_a_rayjob_of_the_crd(self):
        self.assertEqual(problems(job()), [])

    def test_the_schema_refuses_what_the_crd_does_not_have(self):
        wrong = job()
        wrong["spec"]["rayClusterSpec"]["headGroupSpec"]["raystartparams"] = {}
        self.assertTrue(problems(wrong))
        wrong = job()
        wrong["spec"]["backoffLimit"] = "5"
        self.assertTrue(problems(wrong))

    def test_its_pods_are_pods(self):
        for spec in pods(job()):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
            kubernetes_validate.validate(pod, "1.37", strict=True)

    def test_volumes_that_are_mounted_are_there_and_all_see_the_same_runs(self):
        for spec in pods(job()):
            names = {volume["name"] for volume in spec["volumes"]}
            mounts = {mount["name"]: mount["mountPath"] for box in spec["containers"] for mount in box["volumeMounts"]}
            self.assertEqual(mounts.keys() - names, set())
            self.assertEqual(mounts["runs"], "/runs")

    def test_a_file_with_a_space_in_its_name_stays_one_word(self):
        self.assertEqual(job()["spec"]["entrypoint"], 'mrrope campaign "/runs/my table.yaml"')


if __name__ == "__main__":
    unittest.main()
