#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/gallery from nothing but the program, the small model of the tests and documents of this repository.

    tools/gallery.py build/release/mrrope [FOLDER [RUNS]]       (default: docs/gallery; needs chromium)

Three runs (perplexity, needles, edges of the band), two pages, and pictures of them at 900 and 390 pixels. Some three minutes
of one core. Numbers are the same every time; PNG files are as the browser of the day draws them. RUNS keeps the runs for
another time.
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))
import browser as browsers  # noqa: E402  pylint: disable=wrong-import-position

MODEL = ROOT / "tests" / "models" / "tiny-512.gguf"
TEXTS = [ROOT / "docs" / name for name in ("theory.md", "engines.md", "benchmarks.md", "evaluation.md", "scale.md")]
METHODS = "none,yarn,mrrope-uni,mrrope-pro"
HIGH = (8, 11, 14, 17, 20)  # first pair of 32 that gets the whole factor
PICTURES = {"ppl": "Perplexity by length, with bands", "ppl-paired": "The same in pairs: how plans differ",
            "nll-position": "Where in the text a plan gives way", "needles": "Needles by length and depth",
            "band-high": "The paper's figure 7: perplexity over d_h", "plan-scale": "What plans do to the table"}


def measure(program, folder):
    def evaluate(task, name, *arguments):
        command = [program, "eval", task, "-m", MODEL, "-o", name, "-t", "1", *arguments]
        subprocess.run(list(map(str, command)), check=True, cwd=folder, stdout=subprocess.DEVNULL)

    texts = [word for text in TEXTS for word in ("-f", text)]
    sweep = ",".join(f"{law}:low=6:high={high}" for law in ("mrrope-pro", "yarn") for high in HIGH)
    evaluate("ppl", "ppl", *texts, "--methods", METHODS, "--factor", 4, "--lengths", "512,1k,2k", "--kl", 512)
    evaluate("ppl", "band", *texts[:4], "--methods", "none," + sweep, "--factor", 4, "--lengths", "512,1k")
    evaluate("niah", "niah", "--methods", METHODS, "--factor", 4, "--lengths", "512,1k,2k", "--depths", 5, "--samples", 2)


def draw(program, folder, output):
    for page, runs in (("page", ("ppl", "niah")), ("band", ("band",))):
        subprocess.run([program, "report", *runs, "-o", f"{page}.html"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    with browsers.Browser() as browser:
        wide, band = (browser.open(folder / f"{name}.html", width=900) for name in ("page", "band"))
        for name in PICTURES:
            (band if name.startswith("band") else wide).screenshot(output / f"{name}.png", f"#{name}")
        dark = browser.open(folder / "page.html", width=900, dark=True)
        dark.screenshot(output / "dark.png", "#needles")
        narrow = browser.open(folder / "page.html", width=390)
        narrow.screenshot(output / "phone.png", "#ppl")
        for page in (wide, band, dark, narrow):
            assert not page.errors and not page.requests, (page.errors, page.requests)


def describe(output):
    text = ["# Gallery", "", "Made by `tools/gallery.py build/release/mrrope`: the small model of the tests on documents of this repository, so a",
            "picture of the tools and not of a method. The commands are in that script; the page is `mrrope report ppl niah -o page.html`.", ""]
    for name, words in PICTURES.items():
        text += [f"## {words}", "", f"![{words}]({name}.png)", ""]
    text += ["## Dark, and on a phone", "", "![Needles, dark](dark.png)", "", "![Perplexity at 390 pixels](phone.png)", ""]
    (output / "README.md").write_text("\n".join(text), encoding="utf-8")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    output = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs" / "gallery")
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else name)
        measure(program, folder)
        draw(program, folder, output)
        describe(output)
    large = [path.name for path in output.iterdir() if path.stat().st_size > 100_000]
    if large:
        sys.exit(f"larger than 100 KB: {large}")


if __name__ == "__main__":
    main()
