# SPDX-License-Identifier: MIT
"""The commands that change models, on file systems of several kinds: in folders of all kinds of names, read-only, and full.

    file_systems_test.py MRROPE

Needs root and mounts in a mount namespace of its own, which go with the process. Says which file systems it could not try,
and why.
"""
import errno
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
import faults_everywhere as commands  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = os.path.abspath(sys.argv.pop(1))
INSIDE = "--inside"  # the namespace
os.environ.update(LC_ALL="C", PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")  # where mkfs is
# Of folders and of models in them. The last is no UTF-8, and some file systems take only that.
NAMES = [b"plain", b"two words", b"new\nline", "umlaut \u00e4 \u65e5".encode(), b"-o", b"quote'\"$HOME`", b"x" * 200, b"\xff\xfe"]
LOOPS = {"ext4": (["mkfs.ext4", "-q"], 24), "xfs": (["mkfs.xfs", "-q"], 304), "btrfs": (["mkfs.btrfs", "-q"], 112), "vfat": (["mkfs.vfat"], 24)}
KINDS = ["tmpfs", *LOOPS, "overlay on tmpfs", "overlay on ext4"]
MISSING = {}  # kinds that could not be tried, and why
NO_LINKS = ["vfat"]
INSERTS_RANGES = ["ext4", "xfs", "overlay on ext4"]  # and so lets headers grow in place


class Unavailable(Exception):
    """This machine does not have that file system."""


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{words[0]}: {done.stderr.strip().splitlines()[0] if done.stderr.strip() else done.returncode}")


def mount(kind, place, stock):
    """A folder in a new file system with the files that `stock` makes; of an overlay they are in the lower layer."""
    root = place / "root"
    root.mkdir(parents=True)
    if kind.startswith("overlay"):
        layers = mount(kind.split()[-1], place / "layers", lambda folder: None)
        for name in ("lower", "upper", "work"):
            (layers / name).mkdir()
        stock(layers / "lower")
        call("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work", root)
        return root
    if kind == "tmpfs":
        call("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", root)
    else:
        make, megabytes = LOOPS[kind]
        if not shutil.which(make[0]):
            raise Unavailable(f"{make[0]} is not installed")
        image = place / "image"
        with open(image, "wb") as file:
            file.truncate(megabytes << 20)
        call(*make, image)
        call("mount", "-t", kind, "-o", "loop", image, root)
    stock(root)
    return root


def run(folder, *words):
    return subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, check=False, timeout=60)


def contents(folder):
    """Every name below with the hash of its bytes; folders have none."""
    found = {}
    for top, folders, files in os.walk(os.fsencode(folder)):
        found.update({os.path.join(top, name): None for name in folders})
        for name in files:
            with open(os.path.join(top, name), "rb") as file:
                found[os.path.join(top, name)] = hashlib.sha256(file.read()).hexdigest()
    return found


def make_model(path):
    commands.tiny_gguf.write(path, "llama", {}, factors={"blk.0.attn_q.weight": [0.5] * 4000})


def make_config(folder):
    os.mkdir(folder)
    with open(os.path.join(folder, b"config.json"), "w", encoding="utf-8") as file:
        json.dump(commands.CONFIG, file, indent=2)


def fill(path):
    """A file that takes all there is."""
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 512, 1):
            try:
                while file.write(b"b" * size):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


class FileSystems(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        call("mount", "-t", "tmpfs", "tmpfs", self.place)  # loop files in memory: quick to sync
        self.addCleanup(call, "umount", "--recursive", self.place)

    def on_each(self, stock, check):
        """check(kind, folder) on every file system there is."""
        for kind in KINDS:
            with self.subTest(kind):
                try:
                    root = mount(kind, self.place / kind.replace(" ", "-"), stock)
                except Unavailable as why:
                    MISSING[kind] = str(why)
                    continue
                check(kind, root)

    def succeeds(self, folder, *words):
        done = run(folder, *words)
        self.assertEqual(done.returncode, 0, (words, done.stderr))

    def refused(self, folder, *words, saying):
        before = contents(folder)
        done = run(folder, *words)
        self.assertEqual(done.returncode, 1, (words, done.stdout))
        self.assertIn(saying, b" ".join(done.stderr.split()))
        self.assertEqual(contents(folder), before, words)

    def links(self, kind, folder, made, *words):
        """A command that makes a folder with links; removed afterwards."""
        if kind in NO_LINKS:
            self.refused(folder, *words, saying=b"Operation not permitted")
            return
        before = contents(folder)
        self.succeeds(folder, *words)
        made = os.path.join(os.fsencode(folder), made)
        self.assertTrue(all(path == made or path.startswith(made + b"/") for path in set(contents(folder)) - set(before)))
        shutil.rmtree(made)

    def change_and_take_back(self, kind, folder, name):
        """Every way to extend the model NAME.gguf and the folder NAME in `folder`, and back."""
        before = contents(folder)
        model, longer, config = b"./" + name + b".gguf", b"./" + name + b" longer.gguf", b"./" + name
        self.succeeds(folder, "extend", model, "--factor", "4", "-o", longer)
        self.succeeds(folder, "inspect", longer)
        self.succeeds(folder, "extend", longer, "--undo", "-o", b"back.gguf")
        after = contents(folder)
        root = os.fsencode(folder)
        self.assertEqual(after[os.path.join(root, b"back.gguf")], before[os.path.join(root, name + b".gguf")])
        for path in (longer, b"back.gguf"):
            os.unlink(os.path.join(root, path))
        self.links(kind, folder, b"side", "extend", model, "--factor", "4", "--sidecar", "-o", b"side")
        self.links(kind, folder, b"second", "extend", config, "--factor", "4", "-o", b"second")
        if kind in INSERTS_RANGES:
            self.succeeds(folder, "extend", model, "--factor", "4", "--in-place")
            self.assertNotEqual(contents(folder), before)
            self.succeeds(folder, "extend", model, "--undo", "--in-place")
        else:
            self.refused(folder, "extend", model, "--factor", "4", "--in-place", saying=b"the file system cannot insert a range")
        self.succeeds(folder, "extend", config, "--factor", "4")
        self.succeeds(folder, "extend", config, "--undo")
        os.unlink(os.path.join(root, name, b"config.extended.json"))
        self.assertEqual(contents(folder), before)

    def test_models_and_folders_of_all_names_are_extended_and_taken_back(self):
        def stock(root):
            for i, name in enumerate(NAMES):
                folder = os.path.join(os.fsencode(root), b"%d" % i)
                os.mkdir(folder)
                try:
                    make_model(os.path.join(folder, name + b".gguf"))
                    make_config(os.path.join(folder, name))
                except OSError as error:  # a name that is none here
                    self.assertIn(error.errno, (errno.EILSEQ, errno.EINVAL), name)

        def check(kind, root):
            self.assertTrue((root / "0/plain").is_dir())
            for i, name in enumerate(NAMES[:1] if kind.startswith("overlay") else NAMES):  # names are the layers' business
                if os.path.exists(os.path.join(os.fsencode(root), b"%d" % i, name)):
                    with self.subTest(kind, name=name):
                        self.change_and_take_back(kind, root / str(i), name)

        self.on_each(stock, check)

    def stock_one(self, root):
        make_model(root / "m.gguf")
        for name in ("hf", "extended"):
            make_config(os.fsencode(root / name))
        self.succeeds(root, "extend", "extended", "--factor", "4")

    WRITERS = [["extend", "m.gguf", "--factor", "4", "-o", "longer.gguf"], ["extend", "m.gguf", "--factor", "4", "--in-place"],
               ["extend", "m.gguf", "--factor", "4", "--sidecar", "-o", "side"], ["extend", "hf", "--factor", "4"],
               ["extend", "hf", "--factor", "4", "-o", "second"], ["extend", "extended", "--undo"]]

    def test_a_read_only_file_system_is_read_and_refused(self):
        def check(_, root):
            call("mount", "-o", "remount,ro", root)
            for words in self.WRITERS:
                self.refused(root, *words, saying=b"Read-only file system")
            for words in (["inspect", "m.gguf"], ["inspect", "hf"], ["extend", "m.gguf", "--factor", "4", "--dry-run"], ["extend", "hf", "--factor", "4", "--dry-run"]):
                self.succeeds(root, *words)

        self.on_each(self.stock_one, check)

    def test_a_full_disk_costs_nothing_and_what_fitted_is_complete(self):
        def check(_, root):
            fill(root / "ballast")
            refusals = 0
            for words in self.WRITERS:
                before = contents(root)
                done = run(root, *words)
                if done.returncode:
                    refusals += 1
                    self.assertRegex(b" ".join(done.stderr.split()), b"No space left on device|the file system cannot insert a range")
                    self.assertEqual(contents(root), before, words)
            self.assertGreater(refusals, 0)
            (root / "ballast").unlink()
            self.succeeds(root, "extend", "m.gguf", "--factor", "8", "-o", "after.gguf", "-f")

        self.on_each(self.stock_one, check)


def main():
    if sys.argv[1:2] != [INSIDE]:
        namespace = ["unshare", "--mount", "--propagation", "private"]
        probe = [*namespace, "mount", "-t", "tmpfs", "tmpfs", tempfile.gettempdir()]
        may = subprocess.run(probe, capture_output=True, text=True, check=False) if shutil.which("unshare") else None
        if not may or may.returncode:
            print("skipped: this user may not mount file systems here:", may.stderr if may else "there is no unshare")
            return 0
        return subprocess.run([*namespace, sys.executable, __file__, PROGRAM, INSIDE, *sys.argv[1:]], check=False).returncode
    sys.argv.pop(1)
    done = unittest.main(exit=False)
    sys.stderr.flush()
    tried = [kind for kind in KINDS if kind not in MISSING]
    print("tried: " + ", ".join(tried))
    for kind, why in MISSING.items():
        print(f"not tried: {kind}: {why}")
    return 0 if done.result.wasSuccessful() and tried else 1


if __name__ == "__main__":
    sys.exit(main())
