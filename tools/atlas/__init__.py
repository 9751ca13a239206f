# SPDX-License-Identifier: MIT
"""The atlas: docs/results, made from measured runs by one command (tools/atlas.py)."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "results" / "atlas"
FRONT = ROOT / "docs" / "results" / "README.md"

# From the plainest to the newest: how tables list plans. Others, and rows with another type of cache, follow.
PLANS = ("none", "linear", "ntk", "yarn-rotations", "yarn", "mrrope-uni", "mrrope-pro", "tuned")
READING = "ppl"  # the measure that has perplexities; all others have answers


def source_of(text):
    """What a text is a part of: chapters of one book are one witness. The LaTeX of the atlas is one book, the Stacks Project."""
    return "stacks-project.tex" if text.endswith(".tex") else text


def order(plan):
    """Sorts names of plans as tables list them."""
    base, _, cache = plan.partition(":cache=")
    return (PLANS.index(base) if base in PLANS else len(PLANS), base, cache)


def plan_text(plan, factor):
    """As `mrrope compare` calls it."""
    return plan if factor == 1 else f"{plan} x{factor:g}"


def length_text(length):
    return f"{length // 1024}k" if length % 1024 == 0 else str(length)
