# SPDX-License-Identifier: MIT
"""A folder that becomes the root of a program: nothing of this system is in it, and there is no network.

Whoever runs there is nobody, so that what is installed cannot be written; HOME and the locale are not set. Needs root here.
"""
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534


def add_shell(root):
    """/bin/sh and what examples call besides mrrope, in one static file (Debian: busybox-static)."""
    root.chmod(0o755)  # pytest makes folders for one user
    (root / "bin").mkdir(exist_ok=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for name in ("sh", "cat", "head", "sort"):
        (root / "bin" / name).symlink_to("busybox")


def add_work(root):
    """/work with the files that README's examples begin with, of nobody."""
    (root / "proc").mkdir(exist_ok=True)
    work = root / "work"
    (work / "Qwen3-8B").mkdir(parents=True)
    shutil.copy(ROOT / "tests/models/tiny-512.gguf", work / "model.gguf")
    shutil.copy(ROOT / "tests/formats/configs/qwen3-8b.json", work / "Qwen3-8B/config.json")
    for path in (work, *work.rglob("*")):
        shutil.chown(path, NOBODY, NOBODY)


# /proc is mounted for the time of the command: mrrope finds mrrope-eval beside itself by it.
WITH_PROC = 'mount -t proc proc "$1/proc" && exec chroot --userspec="$2" "$1" /bin/sh -c "cd /work && $3"'


def run(root, command, *, path="/bin", env=None, user=NOBODY, status=0):
    """What `sh -c command` says in /work of `root`."""
    words = ["unshare", "--net", "--mount", "/bin/sh", "-c", WITH_PROC, "sh", root, f"{user}:{user}", command]
    done = subprocess.run(words, env={"PATH": f"{path}:/usr/sbin:/sbin:/usr/bin:/bin", **(env or {})}, capture_output=True, text=True,
                          timeout=600, errors="replace")
    assert done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
