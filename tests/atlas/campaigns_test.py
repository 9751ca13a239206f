# SPDX-License-Identifier: MIT
"""The campaigns of the atlas: what the schema allows, and what its pages expect of them. Nothing is run.

    campaigns_test.py ROOT

Ends with status 77, for ctest a skipped test, without PyYAML and jsonschema.
"""
import json
import pathlib
import re
import sys
import unittest

try:
    import jsonschema
    import yaml
except ImportError:
    print("skipped: no yaml or jsonschema in this Python (Debian: python3-yaml, python3-jsonschema)")
    sys.exit(77)

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
FILES = sorted((ROOT / "campaigns" / "atlas").glob("*.yaml"))
TRAINED = {"tiny-512": 512, "lab-1024": 1024, "smollm2-135m": 8192, "gemma3-270m": 32768}
PLANS = {"none", "ntk", "yarn", "yarn-rotations", "mrrope-uni", "mrrope-pro"}


def tokens(length):
    return int(length[:-1]) * 1024 if isinstance(length, str) else length


class Campaigns(unittest.TestCase):
    def test_every_file_is_what_the_schema_allows(self):
        schema = json.loads((ROOT / "docs/schemas/mrrope.campaign-1.json").read_text(encoding="utf-8"))
        self.assertTrue(FILES)
        for file in FILES:
            with self.subTest(file.name):
                jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema)

    def test_a_file_is_called_by_its_model_and_its_longest_length(self):
        for file in FILES:
            with self.subTest(file.name):
                campaign = yaml.safe_load(file.read_text(encoding="utf-8"))
                name, factor = re.fullmatch(r"(.+)-x(\d+)(?:-tuned)?", file.stem).groups()
                self.assertEqual((campaign["name"], pathlib.Path(campaign["output"]).name), (file.stem, file.stem))
                self.assertEqual([model["name"] for model in campaign["models"]], [name])
                lengths = [tokens(length) for length in campaign["lengths"]]
                self.assertEqual(lengths[-1], int(factor) * TRAINED[name])
                self.assertIn(TRAINED[name], lengths)  # the cost at short lengths
                for measurement in campaign["measurements"]:
                    self.assertLessEqual(max(map(tokens, measurement.get("lengths", [0]))), lengths[-1])

    def test_all_plans_are_measured_and_a_tuned_one_by_the_same_measurements(self):
        for file in FILES:
            with self.subTest(file.name):
                campaign = yaml.safe_load(file.read_text(encoding="utf-8"))
                if not file.stem.endswith("-tuned"):
                    self.assertEqual(set(campaign["plans"]), PLANS)
                    continue
                beside = yaml.safe_load(file.with_name(file.name.replace("-tuned", "")).read_text(encoding="utf-8"))
                for key in ("models", "lengths", "measurements", "shards"):
                    self.assertEqual(campaign[key], beside[key], key)
                read = set(campaign["plans"][0]["tune"]["texts"])
                asked = {measurement.get("haystack") for measurement in campaign["measurements"]}
                asked |= {text for measurement in campaign["measurements"] for text in measurement.get("texts", ())}
                self.assertFalse(read & asked, "a search may not read what its plan is measured on")


if __name__ == "__main__":
    unittest.main()
