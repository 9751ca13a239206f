#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs FOLDER, the same bytes each time: names in order, one date (SOURCE_DATE_EPOCH), owner 0.

    packaging/release/archive.py build/release-0.2.0/mrrope-0.2.0-linux-x64        FOLDER.tar.gz; for Windows FOLDER.zip
"""
import gzip
import os
import pathlib
import sys
import tarfile
import time
import zipfile


def entry(info, date):
    info.mtime = date
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    executable = info.isdir() or info.mode & 0o100
    info.mode = 0o755 if executable else 0o644
    return info


def tar_gz(folder, date):
    archive = folder.with_name(folder.name + ".tar.gz")
    with open(archive, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=date) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in [folder, *sorted(folder.rglob("*"))]:
                tar.add(path, path.relative_to(folder.parent), recursive=False, filter=lambda info: entry(info, date))
    return archive


def zipped(folder, date):
    archive = folder.with_name(folder.name + ".zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(str(path.relative_to(folder.parent)), time.gmtime(date)[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, path.read_bytes())
    return archive


FOLDER = pathlib.Path(sys.argv[1])
print((zipped if "-windows-" in FOLDER.name else tar_gz)(FOLDER, int(os.environ["SOURCE_DATE_EPOCH"])))
