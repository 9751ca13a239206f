# SPDX-License-Identifier: MIT
"""The container image of tools/release, loaded and run once with a folder mounted.

release_parts.py says where it is. Where this system refuses a container its namespaces, what the image holds is run by chroot, and the
reason is printed; anything else that podman says is a failure. .ci/run archives runs this.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import clean_root
from release_parts import VERSION, made

# What its runtime says where a program may not make a container: not root's limits, no namespaces.
REFUSED = re.compile(r"Error: (crun|runc): [^\n]*Operation not permitted: OCI permission denied\s*")


def refused(done):
    """True if the system refused the container, and the image or the program did not fail."""
    return done.returncode == 126 and bool(REFUSED.fullmatch(done.stderr))


@pytest.fixture
def image(tmp_path):
    path = made("image", f"mrrope-{VERSION}-image.tar")
    with tarfile.open(path) as tar:
        tar.extractall(tmp_path / "oci")
    return path, tmp_path


def blob(folder, descriptor):
    return folder / "oci/blobs" / descriptor["digest"].replace(":", "/")


def test_it_is_one_layer_that_begins_with_the_program(image):
    _, folder = image
    (manifest,) = json.loads((folder / "oci/index.json").read_text())["manifests"]
    manifest = json.loads(blob(folder, manifest).read_text())
    config = json.loads(blob(folder, manifest["config"]).read_text())
    assert config["config"]["Entrypoint"] == ["/bin/mrrope"]
    (layer,) = manifest["layers"]
    with tarfile.open(blob(folder, layer)) as tar:
        assert "bin/mrrope" in [name.removeprefix("./") for name in tar.getnames()]


def test_it_reads_a_file_of_a_mounted_folder(image):
    path, folder = image
    (folder / "data").mkdir()
    (folder / "data/model.gguf").write_bytes((clean_root.ROOT / "tests/models/tiny-512.gguf").read_bytes())
    run = tempfile.mkdtemp(prefix="run", dir="/tmp")  # podman takes 50 characters at most
    podman = ["podman", "--root", folder / "root", "--runroot", run, "--storage-driver", "vfs"]
    loaded = subprocess.run([*podman, "load", "-q", "-i", path], capture_output=True, text=True)
    assert loaded.returncode == 0, loaded.stderr
    name = loaded.stdout.split()[-1]
    done = subprocess.run([*podman, "run", "--rm", "--network=none", "--cgroups=disabled", "-v", f"{folder}/data:/data", "-w", "/data", name,
                           "inspect", "model.gguf"], capture_output=True, text=True)
    subprocess.run([*podman, "rmi", "--all", "--force"], capture_output=True)
    shutil.rmtree(run)
    if refused(done):
        print(f"podman: {done.stderr}")
        done = by_chroot(folder)
    assert "trained context   512" in done.stdout, done.stdout + done.stderr


def test_only_a_refusal_of_the_system_is_one():
    def said(status, text):
        return subprocess.CompletedProcess([], status, "", text)

    assert refused(said(126, "Error: crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied\n"))
    assert not refused(said(125, "Error: crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied\n"))
    assert not refused(said(126, "Error: crun: open executable: Permission denied: OCI permission denied\n"))
    assert not refused(said(127, "Error: crun: executable file `/bin/mrrope` not found: No such file or directory: OCI not found\n"))
    assert not refused(said(1, "mrrope: model.gguf: no such file\n"))


def by_chroot(folder):
    (manifest,) = json.loads((folder / "oci/index.json").read_text())["manifests"]
    (layer,) = json.loads(blob(folder, manifest).read_text())["layers"]
    with tarfile.open(blob(folder, layer)) as tar:
        tar.extractall(folder / "image")
    (folder / "data").rename(folder / "image/data")
    return subprocess.run(["/usr/sbin/chroot", folder / "image", "/bin/mrrope", "inspect", "/data/model.gguf"], env={}, capture_output=True, text=True)
