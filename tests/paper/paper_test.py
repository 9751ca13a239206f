# SPDX-License-Identifier: MIT
"""The campaigns of the paper: what they publish is what the paper prints, and each says what a tiny run replaces.

    paper_test.py ROOT

tests/vectors/paper_tables.json has the rows of the paper's tables as they are printed. The campaigns are also read by
the package and run at tiny scale in tests/campaign/test_paper.py; here nothing but PyYAML is needed. Ends with status
77, for ctest a skipped test, without it.
"""
import json
import pathlib
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: no yaml in this Python (Debian: python3-yaml)")
    sys.exit(77)

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDER = ROOT / "campaigns" / "paper"
CAMPAIGNS = sorted(FOLDER.glob("*.yaml"))
TABLES = json.loads((ROOT / "tests/vectors/paper_tables.json").read_text(encoding="utf-8"))["tables"]
METHODS = {"NTK": "ntk", "YaRN": "yarn", "MrRoPE-Uni": "mrrope-uni", "MrRoPE-Pro": "mrrope-pro"}
K = 1024
SUBSETS = ["kv_retrieval", "passkey", "number_string", "code_debug", "math_find", "longdialogue_qa_eng", None]
DOMAINS = ["Single-Document QA", "Long-dialogue History Understanding", "Multi-Document QA", "Long In-context Learning",
           "Long Structured Data Understanding", "Code Repository Understanding"]
MODELS = {"LLaMA3-8B": "llama3-8b", "GPT-4": "gpt-4", "Yi-34B-200K": "yi-34b-200k", "Kimi-Chat": "kimi-chat"}


def number(text):
    """(value, whether it is only a bound from below) of a printed cell."""
    text = text.rstrip("%")
    return (float(text.lstrip(">")), text.startswith(">"))


def printed(label):
    """{(model, method, length, task, domain): (value, bound)} of a table of the paper."""
    found = {}

    def row(model, method, lengths, cells, task=None, domain=None):
        for length, cell in zip(lengths, cells, strict=True):
            found[model, METHODS.get(method, "none"), length, task, domain] = number(cell)

    long, short = [8 * K, 16 * K, 32 * K, 64 * K, 128 * K], [4 * K, 8 * K, 16 * K, 32 * K, 64 * K]
    for at, cells in enumerate(TABLES[label]):
        if label == "tab:ppl":
            row("llama3-8b", cells[2], long, cells[3:8])
            row("qwen2.5-3b", cells[10], long, cells[11:16])
        elif label == "tab:ruler":
            row("llama3-8b", cells[1], long, cells[2:7])
            row("qwen2.5-3b", cells[8], long, cells[9:14])
        elif label == "tab:infinite":
            for task, cell in zip(SUBSETS, cells[2:], strict=True):
                row(MODELS[cells[0]], cells[1], [128 * K], [cell], task=task)
        elif label == "tab:ppl-llama2":
            row("llama2-7b", cells[2], short, cells[3:8])
        else:
            for domain, cell in zip(DOMAINS, cells[3:9], strict=True):
                # (a) is headed LLaMA2-7B: docs/paper-notes.md, "Which Llama?"
                model = "llama3-8b" if at < 2 else "qwen2.5-3b"
                row(model, cells[2], [128 * K], [cell], task="longbench2", domain=domain)
    return found


def published(name):
    file = json.loads((FOLDER / "published" / name).read_text(encoding="utf-8"))
    assert set(file) == {"schema", "source", "values"} and file["schema"] == "mrrope.published/1", name
    found = {}
    for value in file["values"]:
        assert ("value" in value) != ("above" in value), value
        assert value["place"] and value["metric"] in ("ppl", "score"), value
        allowed = {"model", "method", "length", "metric", "task", "labels", "value", "above", "place"}
        assert set(value) <= allowed, value
        domain = value.get("labels", {}).get("domain")
        key = (value["model"], value["method"], value["length"], value.get("task"), domain)
        assert key not in found, f"{key} stands twice"
        found[key] = (value.get("value", value.get("above")), "above" in value)
    return found


class Paper(unittest.TestCase):
    def test_published_values_are_those_the_paper_prints(self):
        labels = {"table-1": "tab:ppl", "table-2": "tab:ruler", "table-3": "tab:infinite",
                  "table-4": "tab:ppl-llama2", "table-5": "tab:lbv"}
        for name, label in labels.items():
            with self.subTest(name):
                self.assertEqual(published(f"{name}.json"), printed(label))

    def test_the_averages_of_table_3_are_those_of_its_columns(self):
        values = published("table-3.json")
        for model, method in {key[:2] for key in values}:
            scores = {key[3]: value for key, (value, _) in values.items() if key[:2] == (model, method)}
            mean = sum(value for task, value in scores.items() if task) / 6
            self.assertAlmostEqual(scores[None], mean, delta=0.051)

    def test_every_campaign_has_its_published_values_and_its_tiny_files(self):
        names = ["figure-4", "figure-7", "figure-8", "table-1", "table-2", "table-3", "table-4", "table-5a", "table-5b"]
        self.assertEqual([path.stem for path in CAMPAIGNS], names)
        for path in CAMPAIGNS:
            with self.subTest(path.name):
                campaign = yaml.safe_load(path.read_text(encoding="utf-8"))
                self.assertEqual((campaign["schema"], campaign["name"]), ("mrrope.campaign/1", path.stem))
                self.assertIn("mrrope-pro", campaign["plans"])
                names = {model["name"] for model in campaign["models"]}
                if path.stem.startswith("table"):
                    models = {key[0] for key in published(pathlib.Path(campaign["published"]).name)}
                    self.assertTrue(names <= models, f"{names} have no published values")
                tiny = campaign["tiny"]
                files = [model["path"] for model in tiny["models"]]
                for key in ("texts", "items", "haystack", "questions"):
                    value = tiny["measurements"].get(key, [])
                    files += value if isinstance(value, list) else [value]
                for file in files:
                    self.assertTrue((FOLDER / file).is_file(), file)
                # What a tiny run does not replace has to be there, too: no file of the whole campaign may be left in it
                for measurement in campaign["measurements"]:
                    for key in ("texts", "items", "haystack", "questions", "words"):
                        if key in measurement and key not in tiny["measurements"]:
                            self.fail(f"{key} of {measurement['kind']}")

    def test_lengths_of_published_values_are_measured(self):
        for path in CAMPAIGNS:
            campaign = yaml.safe_load(path.read_text(encoding="utf-8"))
            if "published" not in campaign:
                continue
            lengths = {int(length[:-1]) * K for length in campaign["lengths"]}
            names = {model["name"] for model in campaign["models"]}
            wanted = {key[2] for key in published(pathlib.Path(campaign["published"]).name) if key[0] in names}
            self.assertTrue(wanted <= lengths, (path.name, wanted - lengths))


if __name__ == "__main__":
    unittest.main()
