# SPDX-License-Identifier: MIT
"""Runs the examples of the documents and compares what they print with what the documents say they print.

    documents_test.py MRROPE ROOT [--write]

Examples run in a folder that holds model.gguf (tests/models/tiny-512.gguf) and Qwen3-8B/config.json. In a ```console block, lines that start with "$ " are commands; the lines up to the next command or the end of the block
are the expected output, where a line "..." stands for any number of lines. A block whose first line starts with "# "
("# build", "# measured …") is not run. --write replaces the expected output by the real one (blocks without "..." only).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def examples(block):
    """[(command, expected lines)] of a block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def matches(expected, actual):
    if "..." not in expected:
        return expected == actual
    cut = expected.index("...")
    if expected[:cut] != actual[:cut]:
        return False
    rest = expected[cut + 1:]
    return any(matches(rest, actual[start:]) for start in range(cut, len(actual) + 1))


def execute(command, program, folder):
    env = dict(os.environ, LC_ALL="C.UTF-8", PATH=f"{pathlib.Path(program).resolve().parent}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    return (done.stdout + done.stderr).rstrip("\n").splitlines()


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    write = "--write" in sys.argv
    failures = ran = 0
    for document in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        text = document.read_text(encoding="utf-8")

        def check(match):
            nonlocal failures, ran
            block = match.group(1)
            if block.startswith("# "):
                return match.group(0)
            new = ""
            for command, expected in examples(block):
                actual = execute(command, program, folder)
                ran += 1
                while expected and not expected[-1]:
                    expected.pop()
                new += f"$ {command}\n" + "".join(line + "\n" for line in actual)
                if not matches(expected, actual):
                    failures += 1
                    print(f"{document.name}: $ {command}\n--- expected\n" + "\n".join(expected) + "\n--- found\n" + "\n".join(actual))
            return match.group(0) if "..." in block.splitlines() else f"```console\n{new}```"

        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(root / "tests/models/tiny-512.gguf", pathlib.Path(folder) / "model.gguf")
            (pathlib.Path(folder) / "Qwen3-8B").mkdir()
            shutil.copy(root / "tests/formats/configs/qwen3-8b.json", pathlib.Path(folder) / "Qwen3-8B" / "config.json")
            updated = BLOCK.sub(check, text)
        if write and updated != text:
            document.write_text(updated, encoding="utf-8")
    print(f"{ran - failures} examples as documented, {failures} not")
    return 1 if failures or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
