# SPDX-License-Identifier: MIT
"""Includes point one way (docs/architecture.md), and a few headers stay in their rooms.

    check_includes.py ROOT

A room is a folder of src/, or cli, python, plugin, include. Prints every violation and exits 1 if there is one.
"""
import pathlib
import re
import sys

# What each room may include besides itself and the public headers.
ALLOWED = {
    "base": set(),
    "theory": {"base"},
    "plan": {"base", "theory"},
    "rotary": {"base", "theory", "plan"},
    "formats": {"base", "theory", "plan"},
    "targets": {"base", "theory", "plan", "formats"},
    "runtime": {"base", "theory", "plan", "rotary", "formats", "targets"},
    "eval": {"base", "theory", "plan", "rotary", "formats", "targets", "runtime"},
    "tune": {"base", "theory", "plan", "rotary", "formats", "targets", "runtime", "eval"},
    "report": {"base", "theory", "plan", "eval"},
    "include": set(),
}
ALLOWED["cli"] = set(ALLOWED) - {"include"}
ALLOWED["plugin"] = {"base", "theory", "plan", "rotary", "runtime"}
ALLOWED["python"] = {"base", "theory", "plan", "formats", "targets"}

# Public headers a room must not see, because they belong to a room above it.
PUBLIC_ROOM = {
    "result.h": "base", "units.h": "base", "version.h": "base",
    "spectrum.h": "theory", "methods.h": "theory", "radix.h": "theory", "analysis.h": "theory",
    "catalogue.h": "plan", "spec.h": "plan", "plan.h": "plan",
    "rotary.h": "rotary",
    "gguf.h": "formats", "hf_config.h": "formats", "hf_folder.h": "formats",
    "model_file.h": "formats", "provenance.h": "formats",
    "targets.h": "targets", "findings.h": "targets", "extend.h": "targets",
    "runtime.h": "runtime", "servers.h": "runtime",
    "attention.h": "eval", "benchmarks.h": "eval", "export.h": "eval", "merge.h": "eval", "perplexity.h": "eval", "records.h": "eval",
    "scoring.h": "eval", "statistics.h": "eval", "task_files.h": "eval", "tasks.h": "eval",
    "report.h": "report",
    "mrrope.h": "cli",
}

# Headers that only some rooms may use. `None` as a room: nobody.
RESTRICTED = {
    r"llama(-cpp)?\.h|ggml.*\.h": {"runtime", "plugin"},
    r"immintrin\.h|arm_neon\.h|hwy/.*": {"rotary", "eval"},
    r"iostream": set(),
    r"CLI/CLI\.hpp": {"cli"},
    r"curl/.*": {"runtime"},
    r"nanobind/.*": {"python"},
    r"zlib\.h": {"base"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
PRINTS = re.compile(r"\b(fmt::print|std::printf|std::fprintf|std::puts|std::abort|std::exit)\b|(?<![\w:])(printf|abort|exit)\s*\(")


def room_of(path, root):
    parts = path.relative_to(root).parts
    return parts[1] if parts[0] == "src" else parts[0]


def problems_of(path, root):
    room = room_of(path, root)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path.relative_to(root)}:{number}"
        code = line.split("//")[0]
        if room == "cli" and path.name != "terminal.cpp" and re.search(r"fmt::print|\b(printf|fputs|puts|fwrite)\s*\(", code):
            yield f"{place}: text leaves the program through cli/terminal.h, which shows no control characters: {line.strip()}"
        if room != "cli" and PRINTS.search(code):
            yield f"{place}: only cli/ prints or ends the program: {line.strip()}"
        match = INCLUDE.match(line)
        if not match:
            continue
        style, header = match.groups()
        for pattern, rooms in RESTRICTED.items():
            if re.fullmatch(pattern, header) and room not in rooms:
                yield f"{place}: {header} may be used in {sorted(rooms) or 'no room'} only"
        if room == "include" and style == "<" and ("/" in header or header.endswith(".h")):
            yield f"{place}: a public header shows the third-party header {header}"
        if style != '"':
            continue
        first, _, rest = header.partition("/")
        if first == "mrrope":
            owner = PUBLIC_ROOM.get(rest)
            if owner is None:
                yield f"{place}: public header {rest} is in no room; add it to check_includes.py"
            elif room != "include" and owner != room and owner not in ALLOWED[room] and room != "cli":
                yield f"{place}: {room} must not know {header} of {owner}"
        elif first != room and first not in ALLOWED[room]:
            yield f"{place}: {room} must not include {header}"


def main():
    root = pathlib.Path(sys.argv[1])
    files = [p for folder in ("include", "src", "plugin", "cli", "python") for p in sorted((root / folder).rglob("*")) if p.suffix in (".h", ".cpp")]
    problems = [problem for path in files for problem in problems_of(path, root)]
    print("\n".join(problems) or f"{len(files)} files, every include points the right way")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
