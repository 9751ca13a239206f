#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a page of a large run costs: seconds, memory and bytes.

    tools/measure_report.py build/release/mrrope [RECORDS [FOLDER]]

RECORDS answers (default 1,000,000) of two plans, 13 tasks and 6 lengths. Exit status 1 beyond 30 seconds of processor or 5 MB.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import measure_runs

MOST_SECONDS, MOST_BYTES = 30, 5_000_000


def main():
    program = pathlib.Path(sys.argv[1]).absolute()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as name:
        folder = pathlib.Path(name)
        measure_runs.write_shards(folder, count)
        runs = [str(folder / f"run-{i}") for i in range(measure_runs.SHARDS)]
        start = time.perf_counter()
        process = subprocess.Popen([program, "report", *runs, "-o", str(folder / "page.html")], stdout=subprocess.PIPE)
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"exit status {os.waitstatus_to_exitcode(status)}")
        seconds, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
        size = (folder / "page.html").stat().st_size
        print(f"{output.strip()}\n{seconds:.1f} s, {processor:.1f} s of processor, {usage.ru_maxrss / 1024:.0f} MB, page {size} bytes")
        return 1 if processor > MOST_SECONDS or size > MOST_BYTES else 0


if __name__ == "__main__":
    sys.exit(main())
