#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes engine_pins/locks/NAME.txt: what tools/engine_env installs, every package with its version and SHA-256.

    tools/engine_lock.py gguf rouge     some environments
    tools/engine_lock.py                all of them, parents first

Asks pip what it would install (--dry-run) and downloads little. The checksums are those that the index states today:
from then on another file under the same name is refused. For the interpreter that runs this, which has to be the one
that tools/engine_env checks for.
"""
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
PINS = HERE / "engine_pins"
NAMES = ("torch transformers5 transformers4 vllm vllm_server sglang lmdeploy exllamav3 mlx_lm onnxruntime_genai openvino mistralrs gguf "
         "lm_eval litellm ray rouge train wheel plot search zig schemas packaging site").split()


def describe(name):
    done = subprocess.run([HERE / "engine_env", "--describe", name], capture_output=True, text=True, check=True)
    requirements, beside, parent, wishes = done.stdout.split("\0")[:4]
    return requirements.split(), beside.split(), parent, wishes


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def asked(python, arguments):
    """{name: (version, sha256)} of what pip would install into an empty environment."""
    command = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--dry-run",
               "--report", "-", "--only-binary", ":all:", *arguments]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    found = {}
    for item in report["install"]:
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        found[canonical(item["metadata"]["name"])] = (item["metadata"]["version"], digest)
    return found


def inherited(parent):
    """The same of the parents, which an environment sees and does not install again."""
    if not parent:
        return {}
    packages = {}
    for line in (PINS / "locks" / f"{parent}.txt").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(\S+)==(\S+) --hash=sha256:(\w+)$", line):
            packages[match[1]] = (match[2], match[3])
    return inherited(describe(parent)[2]) | packages


def lock(name, python):
    requirements, beside, parent, wishes = describe(name)
    options = [word for word in requirements if word.startswith("-")]
    if beside:  # the main one without its requirements
        packages = asked(python, ["--no-deps", *requirements])
        if beside != ["--no-deps"]:
            packages |= asked(python, beside)
    else:
        above = inherited(parent)
        fixed = [f"{package}=={version}" for package, (version, _) in above.items()]
        packages = {package: found for package, found in asked(python, [*requirements, *fixed]).items() if package not in above}
    text = f"# tools/engine_lock.py {name}: CPython 3.11 on x86-64, wishes {wishes}\n"
    text += "".join(option.replace("=", " ") + "\n" for option in options)
    text += "".join(f"{package}=={version} --hash=sha256:{digest}\n" for package, (version, digest) in sorted(packages.items()))
    (PINS / "locks").mkdir(exist_ok=True)
    (PINS / "locks" / f"{name}.txt").write_text(text, encoding="utf-8")
    print(f"{name}: {len(packages)} packages")


def main():
    if (sys.version_info[:2], sys.platform, platform.machine()) != ((3, 11), "linux", "x86_64"):
        sys.exit("engine_lock.py: expected CPython 3.11 on x86-64 Linux, for which tools/engine_env reads the files")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        for name in sys.argv[1:] or NAMES:
            lock(name, pathlib.Path(folder) / "bin" / "python")


if __name__ == "__main__":
    main()
