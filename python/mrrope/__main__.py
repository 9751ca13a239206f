# SPDX-License-Identifier: MIT
"""python -m mrrope: the program of this package, wherever pip has put it."""

import importlib.metadata
import os
import sys

_NAMES = ("mrrope", "mrrope.exe")


def program() -> str:
    """The path of the program that was installed with this package; empty: it came without one."""
    try:
        files = importlib.metadata.files("mrrope") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    # Beside the package is a folder of the same name, hence the folder that programs are in.
    found = [file for file in files if file.name in _NAMES and file.parent.name in ("bin", "Scripts")]
    return str(found[0].locate()) if found else ""


def main() -> int:
    path = program()
    if not path:
        print("error: this mrrope was installed without its program", file=sys.stderr)
        return 1
    os.environ.setdefault("MRROPE_PYTHON", sys.executable)
    os.execv(path, ["mrrope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
