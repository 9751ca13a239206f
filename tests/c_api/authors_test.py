# SPDX-License-Identifier: MIT
"""A program in another language reproduces the 48 tables of the paper's authors through the C API.

    authors_test.py VECTORS PROGRAM                  the program reads a table per line, as authors.c says
    authors_test.py VECTORS authors.rs LIBRARY       compiled first, with rustc; skipped (77) where there is none
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def lines(vectors):
    for v in json.loads((vectors / "authors.json").read_text(encoding="utf-8"))["vectors"]:
        target = v["factor"] * v["context_trained"]
        assert target == int(target), v["model"]
        numbers = [v["attention_scale"], len(v["inv_freq_f32"]), *v["inv_freq_f32"]]
        yield " ".join(map(str, [v["model"], v["method"], v["rotary_dim"], v["base"], v["context_trained"], int(target), *numbers]))


def reproduces(program, vectors):
    given = "\n".join(lines(vectors)) + "\n"
    run = subprocess.run([program], input=given, capture_output=True, text=True, check=False)
    print(run.stdout, run.stderr, end="")
    return run.returncode == 0 and run.stdout == "48 tables\n"


def main():
    vectors, program = map(pathlib.Path, sys.argv[1:3])
    if program.suffix != ".rs":
        return 0 if reproduces(program, vectors) else 1
    if shutil.which("rustc") is None:
        print("skipped: no rustc")
        return 77
    library = pathlib.Path(sys.argv[3]).parent
    with tempfile.TemporaryDirectory() as folder:
        compiled = pathlib.Path(folder) / "authors"
        subprocess.run(["rustc", "--edition=2021", "-D", "warnings", "-o", compiled, program, "-L", f"native={library}",
                        "-C", f"link-arg=-Wl,-rpath,{library}"], check=True)
        return 0 if reproduces(compiled, vectors) else 1


if __name__ == "__main__":
    sys.exit(main())
