# SPDX-License-Identifier: MIT
"""Pages of `mrrope report` in a real browser: they draw, they ask for nothing, no text in them runs, and their numbers are those
of the records.

    report_test.py MRROPE      skips without chromium, unless MRROPE_REQUIRE_BROWSER is set
"""
import csv
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser as browsers  # noqa: E402  pylint: disable=wrong-import-position
import synthetic  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = sys.argv.pop(1)
LIMIT_BYTES = 5_000_000


def report(*arguments):
    done = subprocess.run([PROGRAM, "report", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@unittest.skipUnless(browsers.chromium() or os.environ.get("MRROPE_REQUIRE_BROWSER"), "no chromium")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        cls.browser = browsers.Browser().__enter__()
        command = ["eval", "niah", "--depths", "5"]
        cls.ppl = synthetic.write_run(cls.folder / "ppl", "ppl", synthetic.ppl_records(), command=["eval", "ppl"])
        cls.niah = synthetic.write_run(cls.folder / "niah", "niah", synthetic.needle_records(), command=command)
        report(cls.ppl, cls.niah, "-o", cls.folder / "page.html", "--specs", cls.folder / "specs")

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.place.cleanup()

    def sheet(self, name):
        with open(self.folder / "specs" / f"{name}.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_a_page_draws_everything_quietly_and_alone(self):
        for width, dark in ((1280, False), (390, False), (1280, True)):
            page = self.browser.open(self.folder / "page.html", width=width, dark=dark)
            self.assertEqual(page.errors, [])
            self.assertEqual([url for url in page.requests if not url.startswith(("data:", "blob:"))], [])
            pictures = page.value("document.querySelectorAll('.picture').length")
            self.assertGreater(pictures, 8)
            self.assertEqual(page.value("document.querySelectorAll('.picture svg.marks').length"), pictures)
            self.assertEqual(page.value("document.querySelectorAll('.picture svg.marks path').length > 100"), True)
            # Wide things scroll in their own boxes
            self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)

    def test_every_picture_has_a_conclusion_a_caption_and_a_table(self):
        page = self.browser.open(self.folder / "page.html")
        missing = page.value("""[...document.querySelectorAll('.picture')].map(p => p.closest('figure')).filter(f =>
            !(f.querySelector('.conclusion')?.textContent.length > 20) || !(f.querySelector('figcaption')?.textContent.length > 20) ||
            !f.querySelector('details table tbody tr') || !f.querySelector('a[download$=".csv"]')).map(f => f.id)""")
        self.assertEqual(missing, [])

    def test_no_text_of_a_record_becomes_code(self):
        hostile = synthetic.HOSTILE
        plans = [("none", 1.0), (hostile, 4.0)]
        ppl = synthetic.write_run(self.folder / "hostile-ppl", "ppl", synthetic.ppl_records(name=hostile, plans=plans),
                                  model=hostile, command=["eval", hostile], settings={hostile: hostile})
        needles = synthetic.write_run(self.folder / "hostile-niah", hostile, synthetic.needle_records(task=hostile, text=hostile, plans=plans),
                                      model=hostile, command=["eval", "niah", "--depths", hostile])
        tune = synthetic.tune_file(found=hostile, label=hostile)
        (ppl / "tune.json").write_text(json.dumps(tune))
        report(ppl, needles, "-o", self.folder / "hostile.html")
        page = self.browser.open(self.folder / "hostile.html")
        # Tooltips show texts, too
        page.value("""document.querySelectorAll('.picture svg.marks path').forEach(p =>
            ['pointerover', 'pointermove', 'mousemove', 'mouseover'].forEach(t => p.dispatchEvent(
                new PointerEvent(t, {bubbles: true, clientX: p.getBoundingClientRect().x, clientY: p.getBoundingClientRect().y}))))""")
        time.sleep(0.5)
        self.assertEqual(page.value("typeof window.pwned"), "undefined")
        self.assertEqual(page.errors, [])
        self.assertEqual([url for url in page.requests if not url.startswith(("data:", "blob:"))], [])
        self.assertEqual(page.value("document.querySelectorAll('img').length"), 0)
        self.assertEqual(page.value("document.querySelectorAll('script').length"), 3)
        self.assertTrue(page.value("document.querySelector('h1').textContent").startswith("</script><script>"))
        # And if one did slip through, the policy would stop it
        page.value("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.pwned = 4'}))")
        page.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned = 5\">')")
        time.sleep(0.3)
        self.assertEqual(page.value("typeof window.pwned"), "undefined")

    def test_the_search_of_tune_is_drawn_and_says_what_its_file_says(self):
        tune = synthetic.tune_file()
        plans = [("none", 1.0), ("mrrope-pro", 4.0), ("tuned-0a53", 4.0)]
        tuned = synthetic.write_run(self.folder / "tuned", "tune", synthetic.ppl_records(plans=plans), command=["tune"])
        (tuned / "tune.json").write_text(json.dumps(tune))
        report(tuned, "-o", self.folder / "tuned.html")
        for width, dark in ((1280, False), (390, False), (1280, True)):
            page = self.browser.open(self.folder / "tuned.html", width=width, dark=dark)
            self.assertEqual(page.errors, [])
            for figure in ("tune-search", "tune-front"):
                marks = page.value(f"document.querySelectorAll('#{figure} svg.marks .mark-symbol path').length")
                self.assertGreaterEqual(marks, len(tune["search"]))
            self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)
        # The picture, back from pixels: the order from top to bottom is that of the losses
        heights = page.value("""[...document.querySelectorAll('#tune-search .mark-symbol.role-mark path')].map(
            p => -p.getBoundingClientRect().y - p.getBoundingClientRect().height / 2)""")
        losses = [table["objective"] for table in tune["search"]]
        self.assertEqual(len(heights), len(losses))
        self.assertEqual(sorted(range(len(losses)), key=losses.__getitem__), sorted(range(len(heights)), key=heights.__getitem__))
        low = {table["method"]: table["objective"] for table in tune["search"]}
        percent = -100 * math.expm1(low[tune["tuned"]] - low[tune["best_fixed"]])
        self.assertIn(f"{percent:.1f} % below {tune['best_fixed']}", page.value("document.querySelector('#tune-search .conclusion').textContent"))
        self.assertIn("tuned-0a53", page.value("document.querySelector('#verdict li').textContent"))
        self.assertEqual(page.value("document.querySelectorAll('#tune-verdict tbody tr').length"), 3)
        self.assertIn("tuned-0a53 x4", page.value("document.querySelector('#plan-lambda').textContent"))

    def test_perplexities_are_those_of_the_records(self):
        records = list(synthetic.ppl_records())
        rows = {(r["plan"], int(r["length"])): r for r in self.sheet("ppl")}
        self.assertEqual(len(rows), 9)
        mean = {}
        for method, factor in synthetic.PLANS:
            name = method if method == "none" else f"{method} x{factor:g}"
            for i, length in enumerate(synthetic.LENGTHS):
                losses = [r["points"][i]["nll"] / r["points"][i]["predicted"] for r in records if r["method"] == method]
                mean[name, length] = losses
                ppl = math.exp(statistics.fmean(losses))
                self.assertAlmostEqual(float(rows[name, length]["ppl"]), ppl, delta=1e-6 * ppl)
        for (name, length), row in rows.items():  # the band: of the difference to yarn, text by text
            self.assertEqual(row["low"] == "", name == "yarn x4")
            if row["low"]:
                difference = [a - b for a, b in zip(mean[name, length], mean["yarn x4", length])]
                half = 2.776 * statistics.stdev(difference) / math.sqrt(5)  # Student's t of four degrees of freedom
                self.assertAlmostEqual(float(row["low"]) / float(row["ppl"]), math.exp(-half), places=5)
                self.assertAlmostEqual(float(row["high"]) / float(row["ppl"]), math.exp(half), places=5)
        for row in self.sheet("ppl-paired"):  # against yarn, text by text
            difference = [a - b for a, b in zip(mean[row["plan"], int(row["length"])], mean["yarn x4", int(row["length"])])]
            self.assertAlmostEqual(float(row["percent"]), 100 * math.expm1(statistics.fmean(difference)), places=4)
            self.assertLess(float(row["low"]), float(row["high"]))
        for row in self.sheet("nll-position"):
            name, end = row["plan"], int(row["position"])
            losses = [r["bucket_nll"][end // 256 - 1] for r in records if name.startswith(r["method"])]
            tokens = 5 * (255 if end == 256 else 256)
            self.assertAlmostEqual(float(row["nll"]), math.fsum(losses) / tokens, places=5)

    def test_scores_are_those_of_the_records(self):
        records = list(synthetic.needle_records())
        for row in self.sheet("scores"):
            scores = [r["answer"]["score"] for r in records
                      if row["plan"].startswith(r["method"]) and r["answer"]["length"] == int(row["length"])]
            self.assertEqual(len(scores), 30)
            self.assertAlmostEqual(float(row["score"]), 100 * statistics.fmean(scores), places=4)
        cells = self.sheet("needles")
        self.assertEqual(len(cells), 3 * 3 * 5)
        lengths = {"512": 512, "1k": 1024, "2k": 2048}
        for row in cells:
            depth = round(float(row["depth"].split()[0]) / 25)
            scores = [r["answer"]["score"] for r in records if row["plan"].startswith(r["method"]) and
                      r["answer"]["length"] == lengths[row["length"]] and r["answer"]["index"] // 6 == depth]
            self.assertEqual(int(row["samples"]), 6)
            self.assertAlmostEqual(float(row["score"]), 100 * statistics.fmean(scores), places=4)

    def test_the_same_records_give_the_same_bytes(self):
        report(self.ppl, self.niah, "-o", self.folder / "again.html")
        self.assertEqual((self.folder / "again.html").read_bytes(), (self.folder / "page.html").read_bytes())
        self.assertLess((self.folder / "page.html").stat().st_size, LIMIT_BYTES)

    def test_what_page_and_table_say_is_what_compare_says(self):
        words = subprocess.run([PROGRAM, "compare", str(self.ppl)], capture_output=True, text=True, check=True).stdout
        page = self.browser.open(self.folder / "page.html")
        cell = page.value("document.querySelector('#ppl-paired tbody tr:last-child td:last-child').textContent")
        self.assertRegex(words, r"\n  mrrope-pro x4 .* " + re.escape(cell) + "\n")
        said = page.value("document.querySelector('#ppl-paired .conclusion').textContent")
        verdict = re.search(r"mrrope-pro x4: (.*) at 2k;", words).group(1)
        self.assertIn(f"mrrope-pro x4 {verdict}", said)


if __name__ == "__main__":
    unittest.main()
