#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one run of a fuzzing program came to, for tools/fuzz.

    tools/fuzz_record.py NAME LOG                    prints a line: executions, seconds, coverage at the start and at the end
    tools/fuzz_record.py NAME LOG --record DOCUMENT  adds it to the document's last table, and renews its sums

Coverage is libFuzzer's: cov, the edges of the control flow that were reached; ft, its features (edges, and how often they
were reached).
"""
import argparse
import datetime
import pathlib
import re

SUMS = re.compile(r"(<!-- sums -->\n).*?(<!-- end -->)", re.DOTALL)
ROW = re.compile(r"^\| (\d{4}-\d\d-\d\d) \| (\w+) \| ([\d,]+) \| ([\d,]+) \| cov (\d+) → (\d+), ft (\d+) → (\d+) \| (\d+) \|$", re.MULTILINE)


def result_of(log):
    """(executions, seconds, [cov, ft] at the start, [cov, ft] at the end, findings) of a log of libFuzzer."""
    status = [(line.split()[1], re.search(r"cov: (\d+) ft: (\d+)", line)) for line in log.splitlines() if re.match(r"#\d+\t", line)]
    points = [(kind, [int(number) for number in found.groups()]) for kind, found in status if found]
    start = next((point for kind, point in points if kind == "INITED"), [0, 0])
    executed = re.search(r"number_of_executed_units: *(\d+)", log)
    done = re.search(r"Done \d+ runs in (\d+) second", log)
    rate = re.search(r"average_exec_per_sec: *(\d+)", log)
    executions = int(executed.group(1)) if executed else 0
    # A program that ends by a finding does not say how long it ran.
    seconds = int(done.group(1)) if done else executions // max(int(rate.group(1)) if rate else 1, 1)
    return executions, seconds, start, points[-1][1] if points else start, 0 if done else 1


def sums(text):
    """The table of sums, of all rows in `text`."""
    totals = {}
    for _, name, executions, seconds, _, cov, _, ft, findings in ROW.findall(text):
        total = totals.setdefault(name, [0, 0, 0, 0, 0])
        total[0] += int(executions.replace(",", ""))
        total[1] += int(seconds.replace(",", ""))
        total[2], total[3] = max(total[2], int(cov)), max(total[3], int(ft))
        total[4] += int(findings)
    lines = ["| fuzzer | executions | hours | cov | ft | findings |", "|---|---:|---:|---:|---:|---:|"]
    lines += [f"| {name} | {t[0]:,} | {t[1] / 3600:.2f} | {t[2]} | {t[3]} | {t[4]} |" for name, t in sorted(totals.items())]
    whole = [sum(total[i] for total in totals.values()) for i in (0, 1, 4)]
    return "\n".join([*lines, f"| **sum** | {whole[0]:,} | {whole[1] / 3600:.2f} | | | {whole[2]} |", ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--record", type=pathlib.Path, metavar="DOCUMENT")
    options = parser.parse_args()
    executions, seconds, start, end, findings = result_of(options.log.read_text(encoding="utf-8", errors="replace"))
    print(f"fuzz_{options.name}: {executions:,} executions in {seconds:,} s, cov {start[0]} -> {end[0]}, ft {start[1]} -> {end[1]}, {findings} findings")
    if not options.record:
        return
    text = options.record.read_text(encoding="utf-8")
    today = datetime.date.today().isoformat()
    text += f"| {today} | {options.name} | {executions:,} | {seconds:,} | cov {start[0]} → {end[0]}, ft {start[1]} → {end[1]} | {findings} |\n"
    options.record.write_text(SUMS.sub(lambda match: match.group(1) + sums(text) + match.group(2), text), encoding="utf-8")


if __name__ == "__main__":
    main()
