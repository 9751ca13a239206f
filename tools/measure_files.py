#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What reading and writing model files costs: the numbers of docs/gguf.md.

    tools/measure_files.py build/release/mrrope MODEL.gguf [FOLDER]

MODEL: any real GGUF. FOLDER: on the disk to measure (default: that of the model). Prints a table:
- inspect and extend --sidecar of a sparse GGUF of 400 GB with 1,000 tensors: seconds and peak memory;
- extend -o against `cp` of the same file, both with sync, taking turns: the ratio of the medians of nine rounds, and the
  quartiles of the ratios of the rounds. Where the file system shares blocks, both sides may do so (cp --reflink=auto).
"""
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROUNDS = 9


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def write_sparse(path, total=400 << 30, count=1000):
    """A llama of `count` F16 tensors whose data is a hole."""
    values = {"block_count": 80, "context_length": 8192, "embedding_length": 8192, "attention.head_count": 64,
              "attention.head_count_kv": 8, "rope.dimension_count": 128}
    header = b"GGUF" + struct.pack("<IQQ", 3, count, len(values) + 2)
    header += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in values.items():
        header += text("llama." + key) + struct.pack("<II", 4, value)
    header += text("llama.rope.freq_base") + struct.pack("<If", 6, 500000.0)
    each = total // count // 32 * 32
    for i in range(count):
        header += text(f"blk.{i}.weight") + struct.pack("<IQIQ", 1, each // 2, 1, i * each)
    header += b"\0" * (-len(header) % 32)
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(len(header) + count * each)


def timed(*command):
    """Seconds and peak megabytes of a program."""
    pid_start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - pid_start
    if status != 0:
        sys.exit(f"{command}: {process.stderr.read().decode()}")
    return seconds, usage.ru_maxrss / 1024


def main():
    program, model = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    disk = sys.argv[3] if len(sys.argv) > 3 else model.parent
    with tempfile.TemporaryDirectory(dir=disk) as name:
        folder = pathlib.Path(name)
        sparse = folder / "sparse.gguf"
        write_sparse(sparse)
        print("| what | seconds | peak memory |\n|---|---|---|")
        for label, arguments in {"inspect, 400 GB": ["inspect", sparse],
                                 "extend --sidecar, 400 GB": ["extend", sparse, "-c", "32k", "--sidecar", "-o", folder / "s", "-f"]}.items():
            runs = [timed(program, *arguments) for _ in range(ROUNDS)]
            print(f"| {label} | {statistics.median(t for t, _ in runs):.3f} (most {max(t for t, _ in runs):.3f}) | {max(m for _, m in runs):.0f} MB |")
        sparse.unlink()

        source = folder / "source.gguf"
        shutil.copyfile(model, source)
        os.sync()
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(timed("sh", "-c", f"cp '{source}' '{folder}/a' && sync '{folder}/a'")[0])
            ours.append(timed(program, "extend", source, "--factor", "4", "-o", folder / "b", "-f")[0])
            for copy in ("a", "b"):
                (folder / copy).unlink()
            os.sync()
        ratios = sorted(a / b for a, b in zip(theirs, ours))
        low, _, high = statistics.quantiles(ratios, n=4)
        size = source.stat().st_size / 1e6
        print(f"\nCopy of {size:.0f} MB: cp and sync {statistics.median(theirs):.3f} s, extend -o (which syncs) {statistics.median(ours):.3f} s; "
              f"speed {statistics.median(theirs) / statistics.median(ours):.2f} of cp (quartiles of {ROUNDS} rounds {low:.2f} to {high:.2f}).")


if __name__ == "__main__":
    main()
