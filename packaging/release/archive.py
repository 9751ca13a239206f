#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs FOLDER as FOLDER.tar.gz, the same bytes each time: names in order, one date (SOURCE_DATE_EPOCH), owner 0.

    packaging/release/archive.py build/release-0.1.0/mrrope-0.1.0-linux-x64
"""
import gzip
import os
import pathlib
import sys
import tarfile


def entry(info, date):
    info.mtime = date
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    executable = info.isdir() or info.mode & 0o100
    info.mode = 0o755 if executable else 0o644
    return info


def pack(folder, date):
    archive = folder.with_name(folder.name + ".tar.gz")
    with open(archive, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=date) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in [folder, *sorted(folder.rglob("*"))]:
                tar.add(path, path.relative_to(folder.parent), recursive=False, filter=lambda info: entry(info, date))
    return archive


print(pack(pathlib.Path(sys.argv[1]), int(os.environ["SOURCE_DATE_EPOCH"])))
