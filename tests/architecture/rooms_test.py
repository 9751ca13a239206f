# SPDX-License-Identifier: MIT
"""Rooms are what CMake says they are, includes point along their arrows, and a few headers stay in their rooms.

    rooms_test.py ROOT

A room is a folder of src/ with its mrrope_room(…) in CMake; cli, python and plugin see what is listed here. The compiler
finds most of this, too; here it is found in a second, in every configuration, and in words. docs/architecture.md shows
the same arrows. Prints every violation and exits 1 if there is one.
"""
import pathlib
import re
import sys

# Rooms outside src/, and what they may include. cli includes everything.
OUTSIDE = {
    "plugin": {"base", "files", "theory", "plan", "rotary", "nodes"},
    "python": {"base", "files", "theory", "plan", "formats", "measure", "probe", "targets", "tasks", "runs", "tune"},
    "include": set(),
}

# Headers of others that only some rooms may use.
RESTRICTED = {
    r"llama(-cpp)?\.h": {"llama", "plugin"},
    r"ggml.*\.h": {"llama", "nodes", "plugin"},
    r"immintrin\.h|arm_neon\.h|hwy/.*": {"rotary", "in_process"},
    r"iostream": set(),
    r"CLI/CLI\.hpp": {"cli"},
    r"curl/.*": {"servers"},
    r"nanobind/.*": {"python"},
    r"zlib\.h": {"tasks"},
}

# Rooms that every system compiles: they include C++'s own headers and these of others. In src/files all that knows a system
# is in linux/ and elsewhere/.
PORTABLE = {"base", "theory", "plan", "rotary", "files", "formats"}
PORTABLE_HEADERS = re.compile(r"[a-z_]+|fmt/format(-inl)?\.h|nlohmann/json\.hpp|hwy/[a-z_]+\.h|xxhash\.h")
SYSTEMS = {"linux", "elsewhere"}

ROOM = re.compile(r"^\s*mrrope_room\((\w+)([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
PRINTS = re.compile(r"\b(fmt::print|std::printf|std::fprintf|std::puts|std::abort|std::exit)\b|(?<![\w:])(printf|abort|exit)\s*\(")
# The library names options; the flags of mrrope are for cli/ to spell. Those of others are:
ERROR = re.compile(r'(?:ErrorCode::|refused\(|unsupported\()(?:[^;"]|"(?:[^"\\\n]|\\.)*")*;')
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
FLAG = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
FLAGS_OF_OTHERS = re.compile(r"ulimit -n|in llama\.cpp, so that no table limits its length: start it with -c")


def rooms_of(root):
    """From CMake: room -> (public headers, rooms it needs), in the order of the calls."""
    rooms = {}
    for file in (root / "CMakeLists.txt", root / "cmake/c_api.cmake", root / "cmake/servers.cmake", root / "cmake/llama.cmake"):
        for name, words in ROOM.findall(file.read_text(encoding="utf-8")):
            lists = {"HEADERS": [], "NEEDS": [], "USES": []}
            at = None
            for word in words.split():
                if word in lists:
                    at = lists[word]
                else:
                    at.append(word)
            rooms[name] = (set(lists["HEADERS"]), set(lists["NEEDS"]))
    return rooms


def problems_of_rooms(root, rooms):
    folders = {p.name for p in (root / "src").iterdir() if p.is_dir()}
    for name in sorted(folders ^ set(rooms)):
        yield f"src/{name}: " + ("no room in CMake" if name in folders else "a room in CMake and no folder")
    shown = [header for headers, _ in rooms.values() for header in headers]
    for header in sorted(p.name for p in (root / "include/mrrope").glob("*.h")):
        if header != "mrrope.h" and shown.count(header) != 1:
            yield f"include/mrrope/{header}: the header of {shown.count(header)} rooms"
    for name, (_, needs) in rooms.items():
        for need in sorted(needs):
            if need not in rooms:
                yield f"{name} needs {need}, which is no room"
            elif not rooms[need][1] <= needs:
                yield f"{name} needs {need} and has to name what that needs: {sorted(rooms[need][1] - needs)}"
            elif name in rooms[need][1]:
                yield f"{name} and {need} need each other"
    document = (root / "docs/architecture.md").read_text(encoding="utf-8")
    for name, (headers, needs) in rooms.items():
        row = re.search(rf"^\| `src/{name}` \|.*$", document, re.MULTILINE)
        cells = row[0].split("|") if row else []
        if not row:
            yield f"docs/architecture.md has no row for src/{name}"
        elif set(re.findall(r"`(\w+)`", cells[3])) != direct(name, rooms):
            yield f"docs/architecture.md: src/{name} needs {sorted(direct(name, rooms))}"
        elif set(re.findall(r"`([\w]+\.h)`", cells[4])) != headers:
            yield f"docs/architecture.md: the headers of src/{name} are {sorted(headers)}"


def direct(name, rooms):
    """What a room needs and gets from no other that it needs: the arrows of a drawing."""
    needs = rooms[name][1]
    return {need for need in needs if not any(need in rooms[other][1] for other in needs)}


def room_of(path, root):
    parts = path.relative_to(root).parts
    return parts[1] if parts[0] == "src" else parts[0]


def is_portable(path, root, room):
    return room in PORTABLE and not SYSTEMS & set(path.relative_to(root).parts[2:-1])


def problems_of_file(path, root, rooms, owner):
    room = room_of(path, root)
    allowed = set(rooms) if room == "cli" else rooms[room][1] if room in rooms else OUTSIDE[room]
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path.relative_to(root)}:{number}"
        code = line.split("//")[0]
        if room == "cli" and path.name != "terminal.cpp" and re.search(r"fmt::print|\b(printf|fputs|puts|fwrite)\s*\(", code):
            yield f"{place}: text leaves the program through cli/terminal.h, which shows no control characters: {line.strip()}"
        if room != "cli" and PRINTS.search(code):
            yield f"{place}: only cli/ prints or ends the program: {line.strip()}"
        if re.search(r"\bumask\s*\(", code):
            yield f"{place}: umask() changes that of all threads"
        match = INCLUDE.match(line)
        if not match:
            continue
        style, header = match.groups()
        for pattern, where in RESTRICTED.items():
            if re.fullmatch(pattern, header) and room not in where:
                yield f"{place}: {header} may be used in {sorted(where) or 'no room'} only"
        if is_portable(path, root, room) and style == "<" and not PORTABLE_HEADERS.fullmatch(header):
            yield f"{place}: {room} is compiled on every system, and {header} is not one of PORTABLE_HEADERS; ask src/files"
        in_c = path.name == "c.h" and header in ("stddef.h", "stdint.h")
        if room == "include" and style == "<" and ("/" in header or header.endswith(".h")) and not in_c:
            yield f"{place}: a public header shows the third-party header {header}"
        if style != '"':
            continue
        first, _, rest = header.partition("/")
        if first == "mrrope":
            first = owner.get(rest, room)
            if room == "include":
                mine = owner.get(path.name)
                if mine and first != mine and first not in rooms[mine][1]:
                    yield f"{place}: {path.name} belongs to {mine}, which does not need {first}"
                continue
        if first != room and first not in allowed:
            yield f"{place}: {room} must not include {header}"


def problems_of_errors(path, root):
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    for error in ERROR.findall(re.sub(r'"\s*\n\s*"', "", text)):
        for literal in LITERAL.findall(error):
            if FLAG.search(FLAGS_OF_OTHERS.sub("", literal)):
                yield f"{path.relative_to(root)}: an error of the library has a flag: {literal}"


def main():
    root = pathlib.Path(sys.argv[1])
    rooms = rooms_of(root)
    owner = {header: name for name, (headers, _) in rooms.items() for header in headers}
    files = [p for folder in ("include", "src", "plugin", "cli", "python") for p in sorted((root / folder).rglob("*")) if p.suffix in (".h", ".cpp")]
    problems = list(problems_of_rooms(root, rooms))
    if not problems:
        problems = [problem for path in files for problem in problems_of_file(path, root, rooms, owner)]
        problems += [problem for path in files if root / "src" in path.parents for problem in problems_of_errors(path, root)]
    print("\n".join(problems) or f"{len(rooms)} rooms, {len(files)} files, every include points the right way")
    return 1 if problems or not files or len(rooms) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
