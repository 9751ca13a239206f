# SPDX-License-Identifier: MIT
"""The part of a page that a tool writes, between its two marks, and the line that says where it was measured."""
import datetime
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def renewed(text, marks, part):
    """The page with what stands between the marks (each once) replaced."""
    begin, end = marks
    head, rest = text.split(begin)
    return head + begin + part + end + rest.split(end, 1)[1]


def renew(path, marks, part):
    path.write_text(renewed(path.read_text(encoding="utf-8"), marks, part), encoding="utf-8")


def processor():
    info = pathlib.Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text(encoding="utf-8")) if info.exists() else None
    return found.group(1) if found else platform.machine()


def provenance():
    """Processor, commit and day."""
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{processor()}, one thread, mrrope at {commit}, {datetime.date.today()}."
