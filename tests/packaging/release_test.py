#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tools/release does with the parts that it makes, in a repository of its own whose parts are made in no time."""
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r'MRROPE_VERSION "(.*)"', (ROOT / "include/mrrope/version.h").read_text())[1]
PAGES = {"man/man1/mrrope.1", "bash-completion/completions/mrrope", "zsh/site-functions/_mrrope", "fish/vendor_completions.d/mrrope.fish"}
# As packaging/release/static: macOS has no pages, because its programs do not run, and other things inside.
STATIC = f"""#!/bin/bash
mkdir -p "$2"/bin "$2"/share/doc/mrrope/licenses
touch "$2"/bin/mrrope
echo "of $1" >"$2"/share/doc/mrrope/mrrope.cdx.json
if [[ $1 == *musl ]]; then
  for page in {' '.join(sorted(PAGES))} man/man1/mrrope-eval.1 doc/mrrope/licenses/musl.txt; do
    mkdir -p "$(dirname "$2/share/$page")"
    echo "$page" >"$2/share/$page"
  done
fi
"""


class Release(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("tools/release", "include/mrrope/version.h", "packaging/release/archive.py"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        (self.folder / ".gitignore").write_text("/build/\n")
        for name, text in (("static", STATIC), ("debs", f'#!/bin/bash\ntouch "$1/mrrope_{VERSION}-1_amd64.deb"\n')):
            (self.folder / "packaging/release" / name).write_text(text)
            (self.folder / "packaging/release" / name).chmod(0o755)
        self.git("init", "-q")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *words], cwd=self.folder, check=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a release")

    def release(self, *parts, status=0):
        done = subprocess.run([self.folder / "tools/release", VERSION, *parts], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr

    def files_of(self, system):
        with tarfile.open(self.folder / f"build/release-{VERSION}/mrrope-{VERSION}-{system}.tar.gz") as tar:
            return {m.name.split("/", 1)[1]: tar.extractfile(m).read().decode() for m in tar.getmembers() if m.isfile()}

    def summed(self):
        lines = (self.folder / f"build/release-{VERSION}/SHA256SUMS").read_text().splitlines()
        return {line.split()[1] for line in lines}

    def test_macos_gets_the_pages_of_linux_and_nothing_else_of_it(self):
        self.release("linux-x64", "macos-arm64")
        files = self.files_of("macos-arm64")
        self.assertEqual(files["share/doc/mrrope/mrrope.cdx.json"], "of aarch64-macos\n")
        self.assertEqual(files.keys() - {"bin/mrrope", "share/doc/mrrope/mrrope.cdx.json"}, {f"share/{page}" for page in PAGES})

    def test_a_part_that_takes_files_of_linux_says_so_before_it_begins(self):
        for part in ("macos-arm64", "macos-x64", "image"):
            self.assertIn(f"{part} takes files of linux-x64", self.release("debs", part, status=1))
            self.assertFalse(list(self.folder.glob("build/release-*/*.deb")))
        self.release("linux-x64")
        self.release("macos-x64")

    def test_an_archive_has_files_alone(self):
        """Unpacked over ~/.local, folders of ours opened a private one to everybody and took its date."""
        self.release("linux-x64")
        with tarfile.open(self.folder / f"build/release-{VERSION}/mrrope-{VERSION}-linux-x64.tar.gz") as tar:
            self.assertTrue(tar.getmembers())
            self.assertEqual([m.name for m in tar.getmembers() if not m.isfile()], [])

    def test_checksums_are_of_one_commit(self):
        self.release("linux-x64")
        self.release("debs")
        self.assertEqual(self.summed(), {f"mrrope-{VERSION}-linux-x64.tar.gz", f"mrrope_{VERSION}-1_amd64.deb"})
        self.commit()
        self.release("debs")
        self.assertEqual(self.summed(), {f"mrrope_{VERSION}-1_amd64.deb"})


if __name__ == "__main__":
    unittest.main()
