# SPDX-License-Identifier: MIT
"""The atlas: what is in the tree is what its tool derives from runs, and can be measured again.

    atlas_test.py [MRROPE]    with the program also: verdicts are those of `mrrope compare` on the runs themselves
"""
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""

from made import ROOT, answer, copy_of_tree, reading, runs, write_run  # noqa: E402

from atlas import archive, compare, items, records, rerun  # noqa: E402

PRO, YARN, OLD = "mrrope-pro", "yarn", "yarn-rotations"


class Temporary(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def tool(self, root, *words, program="/no/mrrope"):
        env = {**os.environ, "MRROPE_BIN": program, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, root / "tools/atlas.py", *words], capture_output=True, text=True, check=False, env=env)

    def collected(self, path):
        models = {}
        for folder in records.folders_of([path]):
            records.add_run(models, folder, "/no/data")
        return models


class Tree(Temporary):
    def test_pages_are_what_check_derives(self):
        done = self.tool(ROOT, "--check", program=PROGRAM or "/no/mrrope")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_figures_of_the_readme_are_those_of_the_pages(self):
        page = (ROOT / "docs/results/atlas/tiny-512/README.md").read_text().split("### ppl x16")[1]
        none, pro = ([float(cell.split()[0]) for cell in re.search(rf"\| {plan} \|(.*)\|", page)[1].split("|")] for plan in ("none", PRO))
        readme = " ".join((ROOT / "README.md").read_text().split())
        self.assertIn(f"a perplexity of {none[4]:.1f} at 8k tokens without a plan, and of {pro[4]:.2f} under", readme)
        self.assertIn(f"raises perplexity at 512 tokens by {100 * (pro[0] / none[0] - 1):.0f} %", readme)

    def test_a_changed_number_makes_check_fail(self):
        root = copy_of_tree(self.folder)
        self.assertEqual(self.tool(root, "--check").returncode, 0)
        file = sorted(root.glob("docs/results/atlas/*/verdicts.jsonl"))[0]
        text = file.read_text()
        line = next(line for line in text.splitlines() if '"against":"yarn"' in line)
        changed = json.loads(line)
        changed["differences"][-1][2] += 0.5
        file.write_text(text.replace(line, json.dumps(changed)))
        done = self.tool(root, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("README.md is not what the records say", done.stderr)

    def test_a_page_that_somebody_typed_into_makes_check_fail(self):
        root = copy_of_tree(self.folder)
        page = root / "docs/results/README.md"
        page.write_text(page.read_text().replace("does not hold", "holds", 1) + "\n")
        self.assertEqual(self.tool(root, "--check").returncode, 1)

    @unittest.skipUnless(PROGRAM, "no mrrope")
    def test_an_item_that_somebody_changed_makes_check_fail_by_its_verdict(self):
        root = copy_of_tree(self.folder)
        file = sorted(root.glob("docs/results/atlas/*/items.jsonl"))[0]
        lines = file.read_text().splitlines()
        changed = json.loads(lines[0])
        changed["nll"][0][1] *= 1.01
        file.write_text("\n".join([json.dumps(changed), *lines[1:]]) + "\n")
        done = self.tool(root, "--check", program=PROGRAM)
        self.assertEqual(done.returncode, 1)
        self.assertIn("verdicts.jsonl is not what the records say", done.stderr)

    def test_nothing_of_a_machine_is_in_the_data(self):
        for file in ROOT.glob("docs/results/atlas/*/*"):
            self.assertIsNone(re.search(r'"/\w', file.read_text(encoding="utf-8")), file)

    def test_links_of_the_front_page_lead_to_headings(self):
        front = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")
        for file, anchor in re.findall(r"\]\(([^)#]*)(?:#([\w-]+))?\)", front):
            path = ROOT / "docs/results" / file
            self.assertTrue(path.exists(), file)
            if anchor:
                headings = [line.lstrip("# ").replace(" ", "-") for line in path.read_text().splitlines() if line.startswith("#")]
                self.assertIn(anchor, headings, file)


class Items(Temporary):
    def test_what_is_written_is_read_again(self):
        model = self.collected(runs(self.folder))["made"]
        model.write(self.folder / "atlas")
        again = items.Model.read(self.folder / "atlas")
        self.assertEqual((again.facts, again.readings, again.answers), (model.facts, model.readings, model.answers))
        runs_of = [sorted(json.dumps(run, sort_keys=True) for run in one.runs) for one in (again, model)]
        self.assertEqual(*runs_of)
        self.assertEqual(len((self.folder / "atlas/runs.jsonl").read_text().splitlines()), 2)  # of eight, which are two commands

    def test_samples_that_one_plan_lacks_stay_missing(self):
        place = self.folder / "c" / "runs" / "made" / "needles"
        write_run(place / YARN / "0-of-1", [answer(YARN, sample, 1, 0.2) for sample in range(3)], "niah")
        write_run(place / OLD / "0-of-1", [answer(OLD, sample, 1, 0.2) for sample in (1, 2)], "niah")
        write_run(place / PRO / "0-of-1", [answer(PRO, sample, 0.25, 0.2) for sample in (0, 2)], "niah")
        model = self.collected(self.folder / "c")["made"]
        model.write(self.folder / "atlas")
        again = items.Model.read(self.folder / "atlas")
        self.assertEqual([len(again.answers["needles", "niah", 2048, plan, 4]) for plan in (YARN, OLD, PRO)], [3, 2, 2])
        self.assertEqual(again.answers, model.answers)

    def test_a_cell_with_two_results_is_refused(self):
        place = self.folder / "c" / "runs" / "made" / "needles" / YARN
        write_run(place / "0-of-2", [answer(YARN, 1, 1, 0.2)], "niah")
        write_run(place / "1-of-2", [answer(YARN, 1, 0, 0.2)], "niah")
        with self.assertRaises(items.Contradiction):
            self.collected(self.folder / "c")

    def test_a_path_that_others_do_not_have_is_refused(self):
        place = self.folder / "c" / "runs" / "made" / "ppl" / YARN / "0-of-1"
        write_run(place, [reading(YARN, 1)], "ppl", "-f", "/home/somebody/text.txt")
        with self.assertRaises(records.Unusable):
            self.collected(self.folder / "c")

    def test_chapters_of_one_book_are_one_text_the_mean_of_those_that_all_plans_have_read(self):
        place = self.folder / "c" / "runs" / "made" / "ppl"
        for method, texts in ((YARN, range(4)), (PRO, (0, 1, 3))):
            found = [reading(method, text) for text in texts]
            for record in found[:-1]:
                record["document"] = record["document"].replace(".txt", ".tex")
            write_run(place / method / "0-of-1", found, "ppl")
        made = list(compare.reading_records(self.collected(self.folder / "c")["made"], {(YARN, 4), (PRO, 4)}))
        losses = {(one["method"], one["document"]): one["points"][-1]["nll"] / 2047 for one in made}
        self.assertEqual(len(losses), 4)
        self.assertAlmostEqual(losses[YARN, "stacks-project.tex"], 3.0 + (0 + 0.103) / 2, places=5)  # of texts 0 and 1
        self.assertAlmostEqual(losses[PRO, "stacks-project.tex"], 2.9 + (0 + 0.103) / 2, places=5)
        self.assertAlmostEqual(losses[YARN, "text-3.txt"], 3.3, places=5)

    def test_the_plain_model_is_shown_on_what_the_extension_was_measured_on(self):
        place = self.folder / "c" / "runs" / "made"
        for method, texts in (("none", 4), (YARN, 2)):
            write_run(place / "ppl" / method / "0-of-1", [reading(method, text) for text in range(texts)], "ppl")
            write_run(place / "needles" / method / "0-of-1", [answer(method, sample, 1, 0.2) for sample in range(texts)], "niah")
        model, plans = self.collected(self.folder / "c")["made"], {("none", 1), (YARN, 4)}
        self.assertEqual(len(list(compare.reading_records(model, plans))), 4)
        self.assertEqual(len(list(compare.answer_records(model, "needles", plans))), 4)


@unittest.skipUnless(PROGRAM, "no mrrope")
class Compared(Temporary):
    def test_verdicts_are_those_of_compare_on_the_runs_themselves(self):
        path = runs(self.folder)
        lines = list(compare.verdicts(self.collected(path)["made"], PROGRAM))
        for measure in ("ppl", "needles"):
            folders = sorted(path.glob(f"runs/made/{measure}/*/*"))
            said = compare.compared(PROGRAM, folders[0], *folders[1:], "--baseline", "yarn")
            wanted = {one["plan"].split(" ")[0]: one for one in said["comparisons"] if one["length"] == 2048}
            for plan in (PRO, OLD):
                pair = [line for line in lines if line["measure"] == measure and line["task"] is None
                        and {line["plan"], line.get("against")} == {plan, YARN}]  # fmt: skip
                self.assertEqual(len(pair), 1)
                row = next(row for row in pair[0]["differences"] if row[0] == 2048)
                value = wanted[plan]["ratio" if measure == "ppl" else "difference"]
                if pair[0]["plan"] == YARN:  # the other way round
                    value = 1 / value if measure == "ppl" else -value
                self.assertAlmostEqual(row[2], value, delta=1e-4 * abs(value))
                self.assertEqual(row[5], wanted[plan]["differs"])


@unittest.skipUnless(PROGRAM, "no mrrope")
class Few(Temporary):
    def test_a_single_text_or_prompt_becomes_a_page(self):
        place = self.folder / "c" / "runs" / "made"
        for method in ("none", YARN, PRO):
            write_run(place / "ppl" / method / "0-of-1", [reading(method, 0)], "ppl")
            write_run(place / "needles" / method / "0-of-1", [answer(method, 0, 1, 0.2)], "niah")
        root, model = copy_of_tree(self.folder / "tree"), self.collected(self.folder / "c")["made"]
        model.write(root / "docs/results/atlas/made")
        items.write_lines(root / "docs/results/atlas/made/verdicts.jsonl", compare.verdicts(model, PROGRAM))
        (root / "docs/results/atlas/made/theory.json").write_text("{}")
        done = self.tool(root, "pages")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("n = 1", (root / "docs/results/atlas/made/README.md").read_text())


class Rerun(Temporary):
    def fake(self, change):
        """A program that writes the run that it is asked for, after `change` of its records."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        path, program = runs(folder), folder / "mrrope"
        program.write_text(f"""#!{sys.executable}
import json, pathlib, shutil, sys
words = sys.argv[1:]
method, out = words[words.index("--methods") + 1], words[words.index("-o") + 1]
measure = "needles" if words[1] == "niah" else "ppl"
source = pathlib.Path({str(path)!r}) / "runs/made" / measure / method / "0-of-1"
shutil.copy(source / "run.json", out)
records = [json.loads(line) for line in open(source / "records.jsonl")]
for record in records:
    {change}
open(out + "/records.jsonl", "w").write("".join(json.dumps(record) + "\\n" for record in records))
""")
        program.chmod(0o755)
        return str(program), self.collected(path)["made"]

    def said(self, change, measure, same=True):
        program, model = self.fake(change)
        cell = next(cell for cell in rerun.all_cells(model) if cell[0] == measure and cell[3] == YARN)
        again, here = rerun.measured_again(program, model, cell, "/no/data")
        self.assertTrue(here)
        return rerun.disagreement(model, cell, again, same)

    def test_the_same_numbers_agree(self):
        for measure in ("ppl", "needles"):
            with self.subTest(measure):
                self.assertEqual(self.said("pass", measure), "")

    def test_sums_in_another_order_agree_and_other_sums_do_not(self):
        self.assertEqual(self.said('for point in record["points"]: point["nll"] += 0.0004', "ppl"), "")
        self.assertIn("text-", self.said('for point in record["points"]: point["nll"] += 0.01', "ppl"))

    def test_an_answer_that_fell_to_the_other_side_is_seen(self):
        change = 'if record["answer"]["index"] == 3: record["answer"]["score"] = 1 - record["answer"]["score"]'
        self.assertEqual(self.said(change, "needles"), "1 of 20 answers are not the same")

    def test_elsewhere_a_near_thing_may_fall_to_the_other_side_and_two_of_twenty_may_not(self):
        change = 'if record["answer"]["index"] in {}: record["answer"]["score"] = 1 - record["answer"]["score"]'
        self.assertEqual(self.said(change.format((3,)), "needles", same=False), "")
        self.assertEqual(self.said(change.format((3, 9)), "needles", same=False), "2 of 20 answers fell to the other side")

    def test_stretches_are_compared_as_well(self):
        self.assertIn("stretch 0", self.said('record["bucket_nll"][0] += 1', "ppl"))
        self.assertIn("1 stretches, now 0", self.said('record["bucket_nll"] = []', "ppl"))

    def test_other_prompts_are_seen(self):
        self.assertIn("prompts are not the same", self.said('record["document_hash"] = "f" + record["document_hash"][1:]', "needles"))

    def test_only_runs_of_the_length_are_run_again(self):
        place = self.folder / "c" / "runs" / "made" / "needles" / "none"
        for shard, lengths in enumerate(("1024,2k", "1k")):
            words = ("niah", "--methods", "none", "--lengths", lengths)
            write_run(place / f"{shard}-of-2", [answer("none", shard, 1, 0.2, length=2048 >> shard)], *words)
        model = self.collected(self.folder / "c")["made"]
        counts = [len(rerun.runs_of(model, ("needles", "niah", length, "none", 1))) for length in (1024, 2048, 4096)]
        self.assertEqual(counts, [2, 1, 0])

    def test_a_seed_picks_the_same_cells(self):
        model = self.collected(runs(self.folder))["made"]
        picks = [rerun.picked([model], 4, seed) for seed in (1, 1, 2)]
        self.assertEqual(picks[0], picks[1])
        self.assertNotEqual(picks[0], picks[2])
        self.assertEqual(len(set(map(str, picks[0]))), 4)


class Archive(Temporary):
    def test_the_same_runs_give_the_same_bytes_without_this_machine(self):
        path = runs(self.folder)
        archive.write(self.folder / "one.tar.gz", [path], "/no/data")
        for file in path.rglob("*"):
            os.utime(file, (1, 1))
        archive.write(self.folder / "two.tar.gz", [path], "/no/data")
        first, second = ((self.folder / name).read_bytes() for name in ("one.tar.gz", "two.tar.gz"))
        self.assertEqual(first, second)
        self.assertEqual(first[4:8], bytes(4))  # gzip's time of packing
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(first))) as tar:
            names = tar.getnames()
            info = tar.extractfile("mrrope-atlas/runs/made-x4/made/ppl/yarn/0-of-1/run.json").read().decode()
        self.assertIn("mrrope-atlas/docs/results/README.md", names)
        self.assertNotIn(str(self.folder), info)
        self.assertIn("./tests/models/tiny-512.gguf", info)


if __name__ == "__main__":
    unittest.main()
