#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs the files of FOLDER, the same bytes each time: names in order, one date (SOURCE_DATE_EPOCH), owner 0. Its folders are not
packed: who unpacks over a prefix that is there, ~/.local or /usr/local, keeps the modes, owners and dates of theirs.

    packaging/release/archive.py build/release-0.2.0/mrrope-0.2.0-linux-x64        FOLDER.tar.gz; for Windows FOLDER.zip
"""
import gzip
import os
import pathlib
import stat
import sys
import tarfile
import time
import zipfile


def entry(info, date):
    info.mtime = date
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mode = mode(info.mode)
    return info


def mode(of_the_file):
    return 0o755 if of_the_file & 0o100 else 0o644


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def tar_gz(folder, date):
    archive = folder.with_name(folder.name + ".tar.gz")
    with open(archive, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=date) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in files(folder):
                tar.add(path, path.relative_to(folder.parent), recursive=False, filter=lambda info: entry(info, date))
    return archive


def zipped(folder, date):
    archive = folder.with_name(folder.name + ".zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in files(folder):
            info = zipfile.ZipInfo(str(path.relative_to(folder.parent)), time.gmtime(date)[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | mode(path.stat().st_mode)) << 16  # for who unpacks it on Linux or WSL
            packed.writestr(info, path.read_bytes())
    return archive


FOLDER = pathlib.Path(sys.argv[1])
print((zipped if "-windows-" in FOLDER.name else tar_gz)(FOLDER, int(os.environ["SOURCE_DATE_EPOCH"])))
