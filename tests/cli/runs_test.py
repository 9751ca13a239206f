# SPDX-License-Identifier: MIT
"""merge, compare, report and export of runs, and what they draw.

    runs_test.py MRROPE
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
import synthetic  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = sys.argv.pop(1)


def run(*arguments, status=0, **environment):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=60, env=os.environ | environment)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if status else done.stdout


def write_shard(folder, samples, model="aa", cache="f16"):
    """40 samples of two tasks at 4k and 8k, where mrrope-pro is right and yarn at 8k in one of two."""
    folder.mkdir()
    info = {"schema": "mrrope.run/1", "task": "ruler", "model": "m", "model_hash": model, "architecture": "",
            "context_trained": 4096, "engine": "", "served": False, "version": "0.1.0", "machine": "", "started": "",
            "settings": {"cache-type-k": cache}, "command": []}
    (folder / "run.json").write_text(json.dumps(info))
    with open(folder / "records.jsonl", "w", encoding="utf-8") as file:
        for index in samples:
            for method in ("yarn", "mrrope-pro"):
                for task in ("niah_single_1", "vt"):
                    for length in (4096, 8192):
                        score = 0.0 if method == "yarn" and length == 8192 and index % 2 else 1.0
                        name = f"{task} {length} #{index}"
                        answer = {"length": length, "index": index, "depth": -1, "prompt_tokens": length, "new_tokens": 4,
                                  "text": "x", "finish": "stop", "references": ["x"], "score": score}
                        file.write(json.dumps({"schema": "mrrope.record/1", "key": f"{name} {method}", "task": task,
                                               "method": method, "factor": 4, "document": name, "document_hash": name,
                                               "answer": answer, "seconds": 1}) + "\n")
    return folder


def score_records(scores, labels=None, length=2048):
    """One task; `scores` of the same samples by method."""
    for method, list_of in scores.items():
        for index, score in enumerate(list_of):
            answer = {"length": length, "index": index, "depth": -1, "prompt_tokens": length, "new_tokens": 4, "text": "x",
                      "finish": "stop", "references": ["x"], "score": float(score)}
            if labels:
                answer["labels"] = labels[index]
            yield {"schema": "mrrope.record/1", "key": f"{method} {index}", "task": "niah", "method": method,
                   "factor": 1.0 if method == "none" else 4.0, "document": f"#{index}", "document_hash": f"#{index}",
                   "answer": answer, "seconds": 1}


class Runs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.shards = [write_shard(self.folder / f"run-{i}", range(i, 40, 2)) for i in range(2)]
        self.merged = self.folder / "run"

    def test_shards_are_merged_and_compared(self):
        self.assertIn("320 records of 2 runs", run("merge", *self.shards, "-o", self.merged))
        self.assertEqual(json.loads((self.merged / "run.json").read_text())["settings"], {"cache-type-k": "f16"})
        text = run("compare", self.merged)
        self.assertRegex(text, r"mean of 2 tasks +4k +8k +effective +surely")
        # Wilson's of 40: 0.912 to 1, and 0.352 to 0.648; of the mean of two tasks sides that are shorter by the root of two
        self.assertRegex(text, r"yarn x4 +100\.0 \(94–100\) +50\.0 \(40–60\) +4k +4k")
        self.assertRegex(text, r"mrrope-pro x4 +\+0\.0 ± 3\.7 +\+50\.0 ± 1[01]\.\d \*")
        self.assertIn("paired test over 80 samples", text)
        self.assertIn("mrrope-pro x4: +50.0 ± ", text)
        self.assertIn("tied with yarn x4 (+0.0 ± 3.7 points) at 4k", " ".join(text.split()))
        self.assertIn("  niah_single_1", run("compare", self.merged, "--by", "task"))
        data = json.loads(run("compare", self.merged, "--json"))
        self.assertEqual([c["differs"] for c in data["comparisons"]], [False, True])
        self.assertEqual(data["comparisons"][1]["difference"], 50)
        self.assertEqual([c["task"] for c in data["comparisons"]], [None, None])
        self.assertLess(data["scores"][0]["low"], 1)
        self.assertEqual(data["scores"][0]["high"], 1)

    def test_five_samples_are_too_few_and_that_is_said(self):
        """"yarn x4 scores highest: 100 %. none and mrrope-pro are not told apart from it", with none at 0 % and five samples;
        beside it "100.0 ± 0.0"."""
        few = synthetic.write_run(self.folder / "few", "niah", score_records({"none": [0] * 5, "yarn": [1] * 5, "mrrope-pro": [1] * 5}))
        text = run("compare", few)
        self.assertRegex(text, r"yarn x4 +100\.0 \(57–100\)")
        self.assertRegex(text, r"none +0\.0 \(0–43\)")
        self.assertIn("none: too few samples (5) to tell (-100.0 points) at 2k", text)
        self.assertNotIn("± 0.0", text)
        self.assertNotIn("tied", text)
        run("report", few, "-o", self.folder / "few.html", "--specs", self.folder / "specs")
        page = (self.folder / "few.html").read_text(encoding="utf-8")
        self.assertIn("yarn x4 scores highest at 2k: 100.0 % (niah). Too few samples (5) to compare it with none and mrrope-pro x4.", page)

    def test_ties_are_named_and_the_test_decides(self):
        records = score_records({"none": [0] * 40, "yarn": [1] * 35 + [0] * 5, "mrrope-pro": [1] * 40})
        text = " ".join(run("compare", synthetic.write_run(self.folder / "ties", "niah", records)).split())
        self.assertIn("mrrope-pro x4: tied with yarn x4 (+12.5", text)
        self.assertIn("the interval says it is not 0, the test decides: p = 0.062)", text)
        self.assertRegex(text, r"none: -87\.5 (± \d+\.\d points|points \(-\d)")

    def test_caches_are_held_against_the_first_under_the_same_plan(self):
        """What a cache costs is not what a plan costs."""
        scores = {"none": [1] * 40, "none:cache=q4_0": [1] * 20 + [0] * 20, "yarn": [0] * 40, "yarn:cache=q4_0": [0] * 40}
        records = list(score_records(scores))
        for record in records:
            record["factor"] = 1.0 if record["method"].startswith("none") else 4.0
        caches = synthetic.write_run(self.folder / "caches", "niah", records)
        text = " ".join(run("compare", caches).split())
        self.assertIn("q4_0 under none: -50.0 ± ", text)
        self.assertIn("q4_0 under yarn x4: tied with yarn x4", text)
        data = json.loads(run("compare", caches, "--json"))
        self.assertEqual([(c["method"], c["difference"]) for c in data["caches"]], [("none:cache=q4_0", -50), ("yarn:cache=q4_0", 0)])
        self.assertNotIn("caches", json.loads(run("compare", self.shards[0], "--json")))

    def test_an_export_is_of_one_kind_and_parquet_says_what_it_needs(self):
        self.assertIn("--lm-eval or --parquet", run("export", self.shards[0], status=2))
        run("export", self.shards[0], "--lm-eval", self.folder / "a", "--parquet", self.folder / "b", status=2)
        text = run("export", self.shards[0], "--parquet", self.folder / "b", status=1, MRROPE_PYTHON="/nonexistent/python")
        self.assertIn("mrrope[parquet]", text)

    def test_a_run_of_one_method_is_shown_with_the_way_to_another(self):
        """eval proposed compare, which then said there was only one method to look at."""
        command = ["mrrope-eval", "niah", "-m", "my model.gguf", "--methods", "none", "--lengths", "2k", "-o", "run"]
        alone = synthetic.write_run(self.folder / "alone", "niah", score_records({"none": [0, 1] * 10}), command=command)
        text = run("compare", alone)
        self.assertRegex(text, r"none +50\.0 \(30–70\)")
        self.assertIn("next      mrrope eval niah -m 'my model.gguf' --methods yarn,mrrope-pro --lengths 2k -o run --factor 4\n", text)
        self.assertEqual(json.loads(run("compare", alone, "--json"))["baseline"], None)
        plans = (("yarn", 4.0),)
        read = synthetic.write_run(self.folder / "read", "ppl", synthetic.ppl_records(plans=plans),
                                   command=["mrrope-eval", "ppl", "--methods=yarn", "--factor", "4"])
        text = run("compare", read)
        self.assertRegex(text, r"PPL +512 +1k +2k\n +yarn x4 +\d\.\d{3} ")
        self.assertIn("next      mrrope eval ppl --methods=none,mrrope-pro --factor 4\n", text)

    def test_scores_are_shown_by_the_labels_of_the_items(self):
        labels = [{"domain": "Code", "difficulty": "hard"} if i % 4 else {"domain": "History", "difficulty": "easy"} for i in range(40)]
        records = score_records({"none": [0] * 40, "yarn": [int(i % 4 > 0) for i in range(40)]}, labels=labels)
        folder = synthetic.write_run(self.folder / "labels", "longbench2", records)
        text = run("compare", folder, "--by", "domain")
        self.assertRegex(text, r"yarn x4 +75\.0 .*\n +History +0\.0 .*\n +Code +100\.0 ")
        data = json.loads(run("compare", folder, "--by", "difficulty", "--json"))
        found = {str(c["label"]): c["differs"] for c in data["comparisons"]}
        self.assertEqual(found, {"None": True, "{'difficulty': 'easy'}": False, "{'difficulty': 'hard'}": True})
        self.assertIn("(they have: task, difficulty, domain)", run("compare", folder, "--by", "dificulty", status=2))

    def test_what_was_seen_twice_and_what_is_torn_is_said(self):
        with open(self.shards[1] / "records.jsonl", "a", encoding="utf-8") as file:
            file.write('{"schema": "mrro')
        text = run("merge", *self.shards, self.shards[0], "-o", self.merged)
        self.assertIn("repeated  160 left out", text)
        self.assertIn(f"the last line of {self.shards[1]} is damaged", text)
        again = json.loads(run("merge", self.merged, "-o", self.folder / "again", "--json"))
        self.assertEqual((again["records"], again["repeated"], again["torn"]), (320, 0, []))

    def test_a_shard_without_its_records_is_not_taken_for_an_empty_one(self):
        (self.shards[1] / "records.jsonl").unlink()
        self.assertIn("its records are missing", run("merge", *self.shards, "-o", self.merged, status=1))

    def test_mistakes_are_said(self):
        other = write_shard(self.folder / "other", [0], model="bb")
        self.assertIn("holds ruler of m (bb), but", run("merge", self.shards[0], other, "-o", self.merged, status=1))
        self.assertFalse(self.merged.exists())
        self.assertIn("holds ruler of m, but", run("compare", self.shards[0], other, status=1))
        quantised = write_shard(self.folder / "quantised", [0], cache="q8_0")
        for command in (["compare"], ["report", "-o", self.folder / "page.html"], ["merge", "-o", self.merged]):
            text = run(*command, self.shards[0], quantised, status=1)
            self.assertIn(f"quantised: was measured with cache-type-k q8_0, not f16 as {self.shards[0]}", " ".join(text.split()))
        self.assertIn("exists already", run("merge", *self.shards, "-o", self.shards[0], status=1))
        self.assertIn("--output", run("merge", *self.shards, status=2))
        self.assertIn("--lm-eval", run("export", self.shards[0], status=2))
        self.assertIn("no records of", run("compare", *self.shards, "--baseline", "ntk", status=2))

    def test_an_export_names_its_files(self):
        text = run("export", self.shards[0], "--lm-eval", self.folder / "out")
        files = [pathlib.Path(line.split(maxsplit=1)[1]) for line in text.splitlines()]
        self.assertEqual(len(files), 6)
        self.assertEqual({file.parent.name for file in files}, {"m-yarn-x4", "m-mrrope-pro-x4"})
        results = json.loads(next(f for f in files if f.name.startswith("results_") and "yarn" in str(f)).read_text())
        self.assertEqual(results["results"]["vt"]["4096,none"], 1)
        self.assertEqual(results["groups"]["ruler"]["8192,none"], 1)  # this shard has the even samples


class Pictures(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.ppl = synthetic.write_run(self.folder / "ppl", "ppl", synthetic.ppl_records())
        self.niah = synthetic.write_run(self.folder / "niah", "niah", synthetic.needle_records(), command=["--depths", "5"])

    def test_needles_are_drawn_as_wide_as_the_terminal(self):
        for columns in (80, 120):
            text = run("compare", self.niah, COLUMNS=str(columns), LC_ALL="C.UTF-8")
            self.assertLessEqual(max(map(len, text.splitlines())), columns)
            self.assertIn("niah: percent found by length (across) and depth (down); trained for 512", text)
            self.assertRegex(text, r"  100 % █ 100 ")
            self.assertNotIn("\x1b", text)  # no colour in a pipe
        self.assertRegex(run("compare", self.niah, LC_ALL="C"), r"  100 % # 100 ")

    def test_losses_are_drawn_with_the_trained_length(self):
        text = run("compare", self.ppl, COLUMNS="80", LC_ALL="C.UTF-8")
        self.assertIn("Loss by position, nats a token, over 5 texts", text)
        self.assertRegex(text, r"  none +▁+.*█+ 3\.\d\d\d\n")
        self.assertRegex(text, r"\^ trained 512 +2k\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_four_times_the_readings_are_compared_and_drawn_in_four_times_the_time(self):
        """Work for each pair of texts would take sixteen times as long. Processor time depends on the machine and on what else
        it does, their ratio little: the bound is the middle of 4 and 16 on a scale of ratios."""
        line = json.dumps(next(synthetic.ppl_records()) | {"method": "METHOD", "key": "KEY", "document": "TEXT", "document_hash": "TEXT"})
        page = self.folder / "page.html"
        seconds = {"compare": [], "report": []}
        for texts in (5000, 20_000):
            many = synthetic.write_run(self.folder / f"{texts} texts", "ppl", [])
            with open(many / "records.jsonl", "w", encoding="utf-8") as file:
                for text in range(texts):
                    for method in ("none", *(f"yarn:beta_fast={n}" for n in range(32, 39))):
                        file.write(line.replace("TEXT", f"text {text}").replace("METHOD", method).replace("KEY", f"{text} {method}") + "\n")
            for words in (["compare", many], ["report", many, "-o", page]):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                done = subprocess.run([PROGRAM, *words], stdout=subprocess.DEVNULL, check=False,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (120, 120)))
                self.assertEqual(done.returncode, 0)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds[words[0]].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        for command, (few, more) in seconds.items():
            with self.subTest(command=command, seconds=(few, more)):
                self.assertLess(more, 8 * few)
        self.assertIn("and 19000 more", page.read_text(encoding="utf-8"))

    def test_a_number_is_not_torn_from_its_interval(self):
        two = synthetic.write_run(self.folder / "two", "ppl", synthetic.ppl_records(texts=2))
        text = run("compare", two, COLUMNS="80", LC_ALL="C.UTF-8")
        self.assertIn("too few documents (2) to tell", text)
        self.assertNotRegex(text, r"(?m)^ *(%|±)|±$")

    def test_a_report_says_what_it_wrote_and_what_is_wrong(self):
        page = self.folder / "page.html"
        self.assertRegex(run("report", self.ppl, self.niah, "-o", page, "--specs", self.folder / "specs"),
                         r"wrote +\S+page.html \(\d\.\d MB\): 285 records, \d+ pictures?\n")
        self.assertEqual({path.suffix for path in (self.folder / "specs").iterdir()}, {".json", ".csv"})
        self.assertIn("no records of", run("report", self.ppl, "-o", page, "--baseline", "ntk", status=2))
        self.assertIn("--output", run("report", self.ppl, status=2))
        with open(self.ppl / "records.jsonl", "a", encoding="utf-8") as file:
            file.write('{"schema": "mrro')
        run("report", self.ppl, "-o", page)


if __name__ == "__main__":
    unittest.main()
