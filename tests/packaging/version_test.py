#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One version: include/mrrope/version.h says it, and whoever else spells it says the same.

    version_test.py [--tag vX.Y.Z]    --tag: of a release, whose tag and CHANGELOG.md have it, too

CMake and pyproject.toml read the header. What is listed here are texts for people, in which a number is an example that would
be wrong after a release. Versions inside test data are those of the program that made the data, and stay.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPELLED = {  # file: what stands before the version
    "CITATION.cff": r"(?m)^version: ",
    "deploy/kubernetes-probe.yaml": r"mrrope:",
    "deploy/kubernetes-indexed-job.yaml": r"mrrope:",
    "deploy/kuberay-campaign.yaml": r"mrrope-campaign:",
    "docs/install.md": r"mrrope\d?(?:-[a-z]+)?[_-]",
    "docs/plan-file.md": r'"tool": "mrrope ',
    "include/mrrope/c.h": r'/\* "',
    ".github/ISSUE_TEMPLATE/bug.yml": r"placeholder: mrrope ",
}
# What stands before a version of ours: "mrrope 0.2.0", "mrrope-llama==0.2.0", "libmrrope0_0.2.0-1_amd64.deb", "mrrope-0.2.0-linux-x64"
OURS = r"mrrope\d?(?:-[a-z]+)?[ :=_-]+"


def version_of_header():
    header = (ROOT / "include/mrrope/version.h").read_text()
    (version,) = re.findall(r'define MRROPE_VERSION "(.*)"', header)
    parts = [re.findall(rf"define MRROPE_VERSION_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH")]
    return version, ".".join(number for (number,) in parts)


def problems(tag):
    version, parts = version_of_header()
    if parts != version:
        yield f"version.h: MRROPE_VERSION is {version}, its parts are {parts}"
    for name, before in SPELLED.items():
        found = re.findall(before + r"(\d+\.\d+\.\d+)", (ROOT / name).read_text(encoding="utf-8"))
        if not found:
            yield f"{name}: no version after {before!r}"
        for other in set(found) - {version}:
            yield f"{name}: {other}, but version.h has {version}"
    for name, reader in (("CMakeLists.txt", "include/mrrope/version.h"), ("pyproject.toml", "include/mrrope/version.h")):
        text = (ROOT / name).read_text(encoding="utf-8")
        if reader not in text or re.search(r'^version *= *"', text, re.MULTILINE):
            yield f"{name}: does not read {reader}"
    # Any other text for people that has the number as mrrope's
    known = {ROOT / name for name in SPELLED}
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/*")]:
        if path.name == "CHANGELOG.md" or path in known or not path.is_file():
            continue
        for other in re.findall(OURS + r"v?(\d+\.\d+\.\d+)", path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}: {other}; list it in {pathlib.Path(__file__).name}"
    if tag:
        if tag != f"v{version}":
            yield f"the tag is {tag}, version.h has {version}"
        log, citation = ((ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
        section = re.search(rf"^## \[{re.escape(version)}\] - (\S+)", log, re.MULTILINE)
        if not section:
            yield f"CHANGELOG.md has no section [{version}] with a day"
        elif f"\ndate-released: {section[1]}\n" not in citation:
            yield f"CITATION.cff: date-released is not {section[1]}, as CHANGELOG.md says"


def main():
    tag = sys.argv[2] if sys.argv[1:2] == ["--tag"] else ""
    found = list(problems(tag))
    print("\n".join(found) if found else f"one version: {version_of_header()[0]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
