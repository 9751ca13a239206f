# SPDX-License-Identifier: MIT
"""The container image of tools/release, loaded and run once with a folder mounted.

MRROPE_RELEASE names the folder, build/release-VERSION. Where namespaces of a container are refused, what the image holds is run by
chroot; the reason is printed. .ci/run archives runs this.
"""
import json
import os
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

RELEASE = pathlib.Path(os.environ["MRROPE_RELEASE"]).resolve()
VERSION = re.search(r'MRROPE_VERSION "(.*)"', (clean_root.ROOT / "include/mrrope/version.h").read_text())[1]


@pytest.fixture
def image(tmp_path):
    path = RELEASE / f"mrrope-{VERSION}-image.tar"
    if not path.exists():
        pytest.skip(f"{path.name} was not made")
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
    name = loaded.stdout.split()[-1] if loaded.returncode == 0 else "mrrope"
    done = subprocess.run([*podman, "run", "--rm", "--network=none", "--cgroups=disabled", "-v", f"{folder}/data:/data", "-w", "/data", name,
                           "inspect", "model.gguf"], capture_output=True, text=True)
    subprocess.run([*podman, "rmi", "--all", "--force"], capture_output=True)
    shutil.rmtree(run)
    if done.returncode != 0:
        print(f"podman: {loaded.stderr}{done.stderr}")
        done = by_chroot(folder)
    assert "trained context   512" in done.stdout, done.stdout + done.stderr


def by_chroot(folder):
    (manifest,) = json.loads((folder / "oci/index.json").read_text())["manifests"]
    (layer,) = json.loads(blob(folder, manifest).read_text())["layers"]
    with tarfile.open(blob(folder, layer)) as tar:
        tar.extractall(folder / "image")
    (folder / "data").rename(folder / "image/data")
    return subprocess.run(["/usr/sbin/chroot", folder / "image", "/bin/mrrope", "inspect", "/data/model.gguf"], env={}, capture_output=True, text=True)
